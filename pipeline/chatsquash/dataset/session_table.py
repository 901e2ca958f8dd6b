"""The columns of the session table and their values for a session and its record."""

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
    """A column, by its name when the table is read as rows."""

    name: str
    kind: Kind
    known_late: bool = False
    """Whether its values are only known after a record is written or removed."""

    @property
    def values(self) -> str:
        """A description of its values."""
        return _VALUES.get(self.name, _VALUES[self.kind])

    @property
    def example(self) -> str:
        """An example of a condition on the column."""
        name = '"end"' if self.name == "end" else self.name  # a keyword of SQL
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
"""Examples of conditions for columns, if the one for their kind does not fit."""


_VALUES = {
    "text": "text",
    "int": "integers",
    "float": "numbers",
    "bool": "true or false",
    "start": "times, such as '2026-01-13T10:00:00Z'",
    "end": "times, such as '2026-01-13T10:00:00Z'",
    "kind": ", ".join(map(repr, get_args(ConversationKind))),
    "last_user": ", ".join(map(repr, get_args(LastUser))),
}
"""Descriptions of values, by kind and by column; those by column take precedence."""


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
    ending_kinds: dict[str, Kind] = {"exit": "int", "reward": "float", "truncated": "bool", "failed_results": "int"}
    yield from (TableColumn(name, ending_kinds.get(name, "text")) for name in Ending._fields)


COLUMNS = tuple(_columns())
EXAMPLE = "turns >= 2 AND exit = 0"
"""A condition on several columns."""


def columns_by_kind(*, include_late: bool) -> str:
    """List the columns that a condition can use, by kind, in one line.

    Args:
        include_late: Whether to include columns that are only known after records are written.
    """
    known = [column for column in COLUMNS if include_late or not column.known_late]
    return "; ".join(f"{kind}: {', '.join(each.name for each in known if each.kind == kind)}" for kind in _USUAL)


def counts(findings: list[Finding]) -> dict[Severity, int]:
    """Return the number of findings of each severity."""
    numbers = dict.fromkeys(_SEVERITIES, 0)
    for finding in findings:
        numbers[finding.severity] += 1
    return numbers


class RecordOutcome(NamedTuple):
    """The values that are known after a record is written or removed."""

    place: Place | None = None
    number: int | None = None
    """The 1-based number of the record in its session."""
    filtered: str | None = None


def line_of(
    log: Log, outcome: Outcome, record: Record | None, turns: int | None, record_outcome: RecordOutcome
) -> dict[str, Any]:
    """Return the line of a record, or of a session without records."""
    replies = outcome.replies
    totals, tokens, place = replies.coverage, replies.tokens, record_outcome.place
    entry = (record.entry if record else None) or outcome.output.entry or _UNKNOWN
    file, line = log.at(entry.line)
    return {
        "file": place.file if place else None,
        "row": place.row if place else None,
        "offset": place.offset if place else None,
        "record": record_outcome.number,
        "log": printable(file),
        "line": line,
        "session": printable(outcome.session),
        "format": outcome.account.format,
        "start": entry.started_at,
        "end": entry.ended_at,
        "model": printable(entry.model) if entry.model else None,
        "entries": entry.entries,
        "turns": record.usage.assistant_turns if record else turns,
        "findings": counts(outcome.findings),
        "left_out": outcome.left_out,
        "filtered": record_outcome.filtered,
        "conversation": record.conversation or None if record else None,
        "parent": record.parent if record else None,
        "kind": record.kind if record and record.conversation else None,
        "sample": (record.sample or None) if record else None,
        "samples": (record.samples or None) if record else None,
        "tokens": record.tokens if record else None,
        "conversations": totals.conversations,
        "replies": {
            "logged": totals.total,
            "carried": totals.carried,
            "rewritten": totals.rewritten,
            "lost": totals.lost,
        },
        "reasoning": {"logged": totals.reasoned, "carried": totals.with_reasoning, "withheld": totals.withheld},
        "usage": {
            "prompt_tokens": tokens.prompt,
            "completion_tokens": tokens.completion,
        },
        **(record.ending._asdict() if record else dict.fromkeys(Ending._fields)),
    }


def row_of(line: dict[str, Any]) -> dict[str, Any]:
    """Return a line as a row: members of nested objects become columns with both names joined."""
    row: dict[str, Any] = {}
    for name, value in line.items():
        if not isinstance(value, dict):
            row[name] = value
            continue
        for inner, member in value.items():
            row[f"{name}_{inner}"] = sum(member.values()) if isinstance(member, dict) else member
    return row
