"""What can be wrong with a session; a rule's name is its code, its docstring is its documentation.

Rules over a record are generators marked ``@check``; rules that the reader or a stage finds on its way are plain
functions marked ``@rule`` that make the finding.  Both are found by looking in this folder.
"""

from __future__ import annotations

import importlib
from functools import cache
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Any

from pipeline.checks.registry import RULES, Rule
from pipeline.model import Found
from pipeline.modules import modules

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pipeline.checks.registry import Kind, View

_INTRODUCTION = """\
# Checks

Findings never stop a record from being written, except where the text says that the session is left out.
This page is made from the documentation of the rules in `pipeline/checks`; a test holds the two together.
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
    for given, group in _by_given(*kinds):
        if given is None or view.once(given):
            for rule in group:
                for fact in rule.function(view):
                    yield rule.found(fact)


@cache
def _by_given(*kinds: Kind) -> list[tuple[Callable[[View], Any] | None, list[Rule]]]:
    """The rules of some kinds in order, with what neighbours go by."""
    of_kinds = (rule for rule in rules().values() if rule.kind in kinds)
    return [(given, list(group)) for given, group in groupby(of_kinds, key=attrgetter("given"))]


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
