"""The generated regions of ``docs/checks.md``: every rule by kind, with its severity and when it is reported."""

from typing import get_args

from chatsquash.checks import rules
from chatsquash.checks.registry import Kind

START = "Reported when "


def regions() -> dict[str, str]:
    """Return a table for each kind of rules."""
    return {kind: _table(kind) for kind in get_args(Kind)}


def _table(kind: str) -> str:
    head = ["| code | severity | reported when |", "|---|---|---|"]
    selected = [rule for rule in rules().values() if rule.kind == kind]
    rows = [f"| `{rule.code}` | {', '.join(rule.severities)} | {_summary(rule.doc)} |" for rule in selected]
    return "\n".join([*head, *rows])


def _summary(doc: str) -> str:
    """Return the first sentence of a rule's docstring as a table cell."""
    sentence = doc.partition("\n")[0].strip()
    return sentence.removeprefix(START).removesuffix(".").replace("|", "\\|")
