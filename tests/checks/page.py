"""The generated regions of ``docs/checks.md``: every rule by kind and severity, and when it is reported."""

from typing import get_args

from chatsquash.checks import rules
from chatsquash.checks.registry import Kind, Rule
from chatsquash.core.model import Severity

START = "Reported when "


def regions() -> dict[str, str]:
    """Return a table per severity for each kind of rules."""
    return {kind: _tables(kind) for kind in get_args(Kind)}


def _tables(kind: str) -> str:
    selected = [rule for rule in rules().values() if rule.kind == kind]
    groups = {severity: [rule for rule in selected if rule.severity == severity] for severity in get_args(Severity)}
    return "\n\n".join(_table(severity, group) for severity, group in groups.items() if group)


def _table(severity: str, group: list[Rule]) -> str:
    rows = [f"| `{rule.code}` | {_summary(rule.doc)} |" for rule in group]
    return "\n".join([f"| {severity} | reported when |", "|---|---|", *rows])


def _summary(doc: str) -> str:
    """Return the first sentence of a rule's docstring as a table cell."""
    sentence = doc.partition("\n")[0].strip()
    return sentence.removeprefix(START).removesuffix(".").replace("|", "\\|")
