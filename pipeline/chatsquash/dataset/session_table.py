"""The columns of the session table and their values for a session and its record."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, get_args

from msgspec import Struct, to_builtins
from msgspec.structs import astuple

from chatsquash.core.accounting import STEP_FACTS
from chatsquash.core.log import Log
from chatsquash.core.model import ConversationKind, Finding, Severity
from chatsquash.core.outcome import Ending, LastUser, Outcome, Place, Record, SelectedEntry
from chatsquash.core.text import printable, printable_struct

SESSIONS = "reports/sessions.jsonl"
_SEVERITIES: tuple[Severity, ...] = get_args(Severity)
_UNKNOWN = SelectedEntry(None, None, None, None, None)
_Conversation = tuple[str | None, str | None, ConversationKind | None, int | None, int | None, int | None]
_NO_PLACE = (None, None, None)
_NO_CONVERSATION: _Conversation = (None, None, None, None, None, None)
_NO_ENDING = (None,) * len(Ending.__struct_fields__)
Kind = Literal["text", "int", "float", "bool"]


class TableColumn(Struct, frozen=True):
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
    "scores": "LIKE '%\"thumbs\":true%'",
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
    yield from (TableColumn(name, ending_kinds.get(name, "text")) for name in Ending.__struct_fields__)
    yield from (TableColumn(f"steps_{kind}", "int") for kind in STEP_FACTS)


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


class FindingCounts(Struct, frozen=True, gc=False):
    """The number of findings of each severity."""

    error: int = 0
    warning: int = 0
    info: int = 0


class ReplyCounts(Struct, frozen=True):
    """The number of logged replies by outcome."""

    logged: int
    carried: int
    rewritten: int
    lost: dict[str, int]


class ReasoningCounts(Struct, frozen=True, gc=False):
    """The number of replies with reasoning."""

    logged: int
    carried: int
    withheld: int


class TokenCounts(Struct, frozen=True, gc=False):
    """The token counts of a session as logged."""

    prompt_tokens: int | None
    completion_tokens: int | None


class SessionLine(Struct, frozen=True):
    """The line of a record, or of a session without records; its members are in the order of the file."""

    file: str | None
    row: int | None
    offset: int | None
    record: int | None
    log: str
    line: int | None
    session: str
    format: str | None
    start: str | None
    end: str | None
    model: str | None
    entries: int | None
    turns: int | None
    findings: FindingCounts
    left_out: str | None
    filtered: str | None
    conversation: str | None
    parent: str | None
    kind: ConversationKind | None
    sample: int | None
    samples: int | None
    tokens: int | None
    conversations: int
    replies: ReplyCounts
    reasoning: ReasoningCounts
    usage: TokenCounts
    # The members of ``Ending``, which are ``None`` without a record.
    exit: int | None
    exit_evidence: str | None
    reward: float | None
    reward_evidence: str | None
    finish: str | None
    finish_evidence: str | None
    truncated: bool | None
    truncated_evidence: str | None
    failed_results: int | None
    failed_results_evidence: str | None
    scores: str | None
    scores_evidence: str | None
    last_user: LastUser | None
    last_user_evidence: str | None
    steps: dict[str, int] | None
    """The number of replies with each step fact, if an option needs them."""

    def as_dict(self) -> dict[str, Any]:
        """Return the line as JSON values."""
        values: dict[str, Any] = to_builtins(self)
        return values

    def encode(self) -> bytes:
        """Return the line as JSON, without a line feed."""
        return printable_struct(self, has_fraction=self.reward is not None)


_NO_FINDINGS = FindingCounts()


def counts(findings: list[Finding]) -> FindingCounts:
    """Return the number of findings of each severity."""
    if not findings:
        return _NO_FINDINGS
    numbers = dict.fromkeys(_SEVERITIES, 0)
    for finding in findings:
        numbers[finding.severity] += 1
    return FindingCounts(*numbers.values())


class RecordOutcome(Struct, frozen=True):
    """The values that are known after a record is written or removed."""

    place: Place | None = None
    number: int | None = None
    """The 1-based number of the record in its session."""
    filtered: str | None = None


def line_of(
    log: Log, outcome: Outcome, record: Record | None, turns: int | None, record_outcome: RecordOutcome
) -> SessionLine:
    """Return the line of a record, or of a session without records."""
    replies = outcome.replies
    totals = replies.coverage
    place = record_outcome.place
    entry = (record and record.entry) or outcome.output.entry or _UNKNOWN
    file, line = log.at(entry.line)
    # Positional, since keywords take longer.
    members: list[Any] = [
        *(astuple(place) if place else _NO_PLACE),
        record_outcome.number,
        printable(file),
        line,
        printable(outcome.session),
        outcome.account.format,
        entry.started_at,
        entry.ended_at,
        printable(entry.model) if entry.model else None,
        entry.entries,
        record.usage.assistant_turns if record else turns,
        counts(outcome.findings),
        outcome.left_out,
        record_outcome.filtered,
        *(_conversation(record) if record else _NO_CONVERSATION),
        totals.conversations,
        ReplyCounts(totals.total, totals.carried, totals.rewritten, totals.lost),
        ReasoningCounts(totals.reasoned, totals.with_reasoning, totals.withheld),
        TokenCounts(*replies.tokens),
        *(astuple(record.ending) if record else _NO_ENDING),
        record.steps if record else None,
    ]
    return SessionLine(*members)


def _conversation(record: Record) -> _Conversation:
    """Return the members about the conversation of a record and its samples."""
    name = record.conversation or None
    return (
        name,
        record.parent,
        record.kind if name else None,
        record.sample or None,
        record.samples or None,
        record.tokens,
    )


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
