"""What can be wrong with a session; a rule's name is its code, its docstring is its documentation.

Rules over a record are generators marked ``@check``; rules that the reader or a stage finds on its way are plain
functions marked ``@rule`` that make the finding.  Both are found by looking in this folder.
"""

from __future__ import annotations

import importlib
from functools import cache
from typing import TYPE_CHECKING

from chatsquash.checks.registry import RULES, Rule
from chatsquash.model import Found
from chatsquash.registry import modules

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatsquash.checks.registry import Kind, View

_INTRODUCTION = """\
# Checks

Findings never stop a record from being written, except where the text says that the session is left out.
This page is made from the documentation of the rules in `pipeline/chatsquash/checks`; a test holds the two together.
"""
_TITLES: dict[Kind, str] = {
    "log": "While a log is read and converted",
    "record": "On every record",
    "tools": "On the tool definitions of a record",
    "native": "On a record whose calls are native, also before they are inlined",
    "inlined": "On a record whose calls stand in the text",
    "template": "On what a chat template makes of a record, by `chatsquash check --template`",
}
_WORDS = """\
## Words

- **Error**: the record is wrong to train on as it stands, or something was left out. **Warning**: somebody should look
  at it. **Info**: it explains the output. A code has one severity. The exceptions are `timestamp-order` and
  `session-id-mismatch`, errors that are warnings where the user asked for the session all the same.
- **Block**: an assistant message with calls and what follows up to the next assistant message. A result answers the
  call of its own block whose `id` is its `tool_call_id`; where calls of a block share an id, in order.
- **Failed**: the log marks the result as an error (`is_error`, or a refusal of the user), or the result is
  - a JSON object with `success: false`, or an `exit_code`, `exitCode` or `returncode` other than 0, or `timeout`,
    `missing` or `incomplete` that is `true`, at the top or in an object below it, but not in a list, which are rows;
    or, at the top alone, with an `error` that is `true`, an object with members, or a text other than `none` and
    `null`, with `ok: false`, `isError: true`, a `status` that is `error`, `failure` or a code of HTTP from 400 to 599,
    or with `errors` and `null` for `data`. Keys and words count in any case;
  - a text that begins or ends with a Python traceback;
  - a text whose first lines or last lines say that a program ended with another exit code than 0 or for want of time,
    whose first line begins like an error message (`Error: ...`, `fatal: ...`, `KeyError: ...`, `Failed to ...`,
    `cat: a.txt: No such file or directory`), or whose last line does so as compilers, `git` and `make` write it.

  In the tests stand more than 700 results, labelled by what the tool did; of those that this takes for failures 98 in
  100 are some, and of the failures it finds 95 in 100, of those without a mark 93. It misses sentences without such
  words ("the file is locked by another user"), JSON that tells of a failure by a member of one service (`cod`,
  `severity`), pages of gateways, and tracebacks whose message has several lines. It takes for a failure what reads like
  one and was asked for: a log that ends with a traceback, the state of a job that failed, texts under a key `error`, a
  report that begins with "Cannot".
- **Retried**: another call of the same tool in the block or in the next one has a result that neither failed nor is
  empty.
"""


@cache
def rules() -> dict[str, Rule]:
    """Every rule by its code, in the order of the modules and of the functions in them."""
    for module in modules(__path__):
        importlib.import_module(f"{__name__}.{module}")
    return {rule.code: rule for rule in sorted(RULES, key=lambda rule: (rule.module, rule.place))}


def examine(view: View, *kinds: Kind) -> Iterator[Found]:
    """What is wrong with a record, by the rules of the kinds named."""
    for rule in _of(*kinds):
        for fact in rule.function(view):
            yield rule.found(fact)


@cache
def _of(*kinds: Kind) -> list[Rule]:
    """The rules of some kinds, in order."""
    return [rule for rule in rules().values() if rule.kind in kinds]


def table() -> str:
    """The text of ``docs/checks.md``: every rule with its severity and its documentation, by the time it runs."""
    sections = [f"## {title}\n\n{_rows(kind)}" for kind, title in _TITLES.items()]
    return "\n".join([_INTRODUCTION, *sections, _WORDS])


def _rows(kind: str) -> str:
    head = "| code | severity | when |\n|---|---|---|\n"
    lines = (
        f"| `{rule.code}` | {', '.join(rule.severities)} | {_line(rule.doc)} |\n"
        for rule in rules().values()
        if rule.kind == kind
    )
    return head + "".join(lines)


def _line(doc: str) -> str:
    return " ".join(doc.split()).replace("|", "\\|")
