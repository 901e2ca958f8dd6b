"""The columns of the session table, and what they hold of a session and its record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple, get_args

from chatsquash.core.log import Log
from chatsquash.core.model import ConversationKind, Finding, Severity
from chatsquash.core.outcome import Ending, LastUser, Outcome, Place, Record, SelectedEntry
from chatsquash.core.text import printable

SESSIONS = "reports/sessions.jsonl"
_SEVERITIES: tuple[Severity, ...] = get_args(Severity)
_UNKNOWN = SelectedEntry(None, None, None, None, None)
Kind = Literal["text", "int", "float", "bool"]


class TableColumn(NamedTuple):
    """A column, as it is called where the table is read as one."""

    name: str
    kind: Kind
    known_late: bool = False
    """Whether it is known only once a record is written, or left out."""

    @property
    def values(self) -> str:
        """The values that it has, in words."""
        return _VALUES.get(self.name, _VALUES[self.kind])

    @property
    def example(self) -> str:
        """A condition over it."""
        name = '"end"' if self.name == "end" else self.name  # a word of SQL
        return f"{name} {_EXAMPLES.get(self.name, _USUAL[self.kind])}"


_USUAL: dict[Kind, str] = {"text": "IS NOT NULL", "int": ">= 1", "float": ">= 0.5", "bool": "= false"}
_EXAMPLES = {
    "file": "= '2026-01-13.jsonl'",
    "log": "LIKE '%/2026-01-13/%'",
    "session": "LIKE '9f3c%'",
    "format": "= 'claude_code'",
    "start": ">= '2026-01-13'",
    "end": "< '2026-02-01'",
    "model": "LIKE 'claude-%'",
    "turns": ">= 2",
    "findings_error": "= 0",
    "left_out": "= 'duplicate-record'",
    "filtered": "= '--where'",
    "kind": "= 'subagent'",
    "tokens": "<= 8192",
    "replies_lost": "= 0",
    "exit": "= 0",
    "finish": "= 'stop'",
    "failed_results": "= 0",
    "last_user": "<> 'complaint'",
}
"""What conditions say of columns, if not what is usual of their kind."""


_VALUES = {
    "text": "texts",
    "int": "whole numbers",
    "float": "numbers",
    "bool": "true and false",
    "start": "times, such as '2026-01-13T10:00:00Z'",
    "end": "times, such as '2026-01-13T10:00:00Z'",
    "kind": ", ".join(map(repr, get_args(ConversationKind))),
    "last_user": ", ".join(map(repr, get_args(LastUser))),
}
"""What values columns have: those of a name, else those of a type."""


def _columns() -> Iterator[TableColumn]:
    for name in ("file", "row", "offset", "record"):
        yield TableColumn(name, "text" if name == "file" else "int", known_late=True)
    kinds: dict[str, Kind] = {"line": "int", "entries": "int", "turns": "int"}
    for name in ("log", "line", "session", "format", "start", "end", "model", "entries", "turns"):
        yield TableColumn(name, kinds.get(name, "text"))
    yield from (TableColumn(f"findings_{severity}", "int") for severity in _SEVERITIES)
    yield from (TableColumn(name, "text", known_late=True) for name in ("left_out", "filtered"))
    yield from (TableColumn(name, "text") for name in ("conversation", "parent", "kind"))
    yield from (TableColumn(name, "int") for name in ("sample", "samples", "tokens", "conversations"))
    for name in ("logged", "carried", "rewritten", "lost"):
        yield TableColumn(f"replies_{name}", "int")
    for name in ("logged", "carried", "withheld"):
        yield TableColumn(f"reasoning_{name}", "int")
    for name in ("prompt_tokens", "completion_tokens"):
        yield TableColumn(f"usage_{name}", "int")
    ended: dict[str, Kind] = {"exit": "int", "reward": "float", "truncated": "bool", "failed_results": "int"}
    yield from (TableColumn(name, ended.get(name, "text")) for name in Ending._fields)


COLUMNS = tuple(_columns())
EXAMPLE = "turns >= 2 AND exit = 0"
"""A condition over several columns."""


def columns_by_kind(*, written: bool) -> str:
    """The columns that a condition may name, by kind, in a line; all of them where records are ``written``."""
    known = [column for column in COLUMNS if written or not column.known_late]
    return "; ".join(f"{kind}: {', '.join(each.name for each in known if each.kind == kind)}" for kind in _USUAL)


def counts(findings: list[Finding]) -> dict[Severity, int]:
    """How many findings are of each severity."""
    numbers = dict.fromkeys(_SEVERITIES, 0)
    for finding in findings:
        numbers[finding.severity] += 1
    return numbers


class RecordOutcome(NamedTuple):
    """What is known once a record is written, or left out."""

    place: Place | None = None
    number: int | None = None
    """Which of its session's records it is, from 1."""
    filtered: str | None = None


def line_of(
    log: Log, outcome: Outcome, record: Record | None, turns: int | None, written: RecordOutcome
) -> dict[str, Any]:
    """The line of the table on a record, or on a session without one."""
    covered, place = outcome.replies.coverage, written.place
    chosen = (record.entry if record else None) or outcome.output.entry or _UNKNOWN
    file, line = log.at(chosen.line)
    return {
        "file": place.file if place else None,
        "row": place.row if place else None,
        "offset": place.offset if place else None,
        "record": written.number,
        "log": printable(file),
        "line": line,
        "session": printable(outcome.session),
        "format": outcome.account.format,
        "start": chosen.started_at,
        "end": chosen.ended_at,
        "model": printable(chosen.model) if chosen.model else None,
        "entries": chosen.entries,
        "turns": record.usage.assistant_turns if record else turns,
        "findings": counts(outcome.findings),
        "left_out": outcome.left_out,
        "filtered": written.filtered,
        "conversation": record.conversation or None if record else None,
        "parent": record.parent if record else None,
        "kind": record.kind if record and record.conversation else None,
        "sample": (record.sample or None) if record else None,
        "samples": (record.samples or None) if record else None,
        "tokens": record.tokens if record else None,
        "conversations": covered.conversations,
        "replies": {
            "logged": covered.total,
            "carried": covered.carried,
            "rewritten": covered.rewritten,
            "lost": covered.lost,
        },
        "reasoning": {"logged": covered.reasoned, "carried": covered.with_reasoning, "withheld": covered.withheld},
        "usage": {
            "prompt_tokens": outcome.replies.tokens.prompt,
            "completion_tokens": outcome.replies.tokens.completion,
        },
        **(record.ending._asdict() if record else dict.fromkeys(Ending._fields)),
    }


def row_of(line: dict[str, Any]) -> dict[str, Any]:
    """A line of the table with its columns: what stands in objects under their names and those of the members."""
    row: dict[str, Any] = {}
    for name, value in line.items():
        if not isinstance(value, dict):
            row[name] = value
            continue
        for inner, member in value.items():
            row[f"{name}_{inner}"] = sum(member.values()) if isinstance(member, dict) else member
    return row
