"""The generated regions of ``docs/checks.md``: every rule with its severity and its documentation, by when it runs."""

from typing import get_args

from chatsquash.checks import rules
from chatsquash.checks.registry import Kind


def regions() -> dict[str, str]:
    """A table for each kind of rules, by its name."""
    return {kind: _table(kind) for kind in get_args(Kind)}


def _table(kind: str) -> str:
    head = ["| code | severity | when |", "|---|---|---|"]
    of_kind = [rule for rule in rules().values() if rule.kind == kind]
    rows = [f"| `{rule.code}` | {', '.join(rule.severities)} | {_line(rule.doc)} |" for rule in of_kind]
    return "\n".join([*head, *rows])


def _line(doc: str) -> str:
    return " ".join(doc.split()).replace("|", "\\|")
