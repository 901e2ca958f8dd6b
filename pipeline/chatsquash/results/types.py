"""The types of ``run.json`` and of the lines of reports in a finished output."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

import msgspec

from chatsquash.core.model import Severity

Count = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
"""A nonnegative count."""
Line = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]


class _Sessions(msgspec.Struct):
    seen: Count
    written: Count
    left_out: dict[str, Count]
    filtered: dict[str, Count] = {}
    duplicates: Count = 0
    joined: Count = 0


class _Conversations(msgspec.Struct):
    written: Count


class _ReplyTallies(msgspec.Struct):
    logged: Count
    carried: Count
    rewritten: Count
    lost: dict[str, Count]


class _Reasoning(msgspec.Struct):
    logged: Count
    carried: Count


class _Secrets(msgspec.Struct):
    found: Count
    records: Count
    replaced: Count


class Counts(msgspec.Struct):
    """The counts of ``run.json`` that pages show."""

    sessions: _Sessions
    conversations: _Conversations
    lines: dict[str, Count]
    replies: _ReplyTallies
    reasoning: _Reasoning
    pairs: dict[str, Count]
    findings: dict[Severity, dict[str, Count]]
    filtered_findings: dict[Severity, dict[str, Count]]
    other_files: dict[str, Count]
    secrets: _Secrets
    addresses: Count


class Input(msgspec.Struct):
    """The entry of a log in ``run.json``."""

    path: str
    size: int
    xxh3_128: str = ""
    path_digest: str = ""


class FindingRow(TypedDict):
    """A line of ``reports/findings.jsonl``."""

    code: str
    severity: Severity
    session: str | None
    file: str | None
    line: Line | None
    record: str | None
    message: Line | None
    text: str


class ReplyRow(TypedDict):
    """A line of ``reports/replies.jsonl``."""

    file: str
    line: Line | None
    status: Literal["carried", "rewritten", "lost"]
    why: str | None
    record: str | None


class RejectedRow(TypedDict):
    """A line of ``reports/rejected.jsonl``."""

    file: str
    line: Line | None
    reason: str


class _ReplyCounts(TypedDict):
    logged: Count
    carried: Count
    rewritten: Count
    lost: dict[str, Count]


class _Usage(TypedDict):
    prompt_tokens: Count | None
    completion_tokens: Count | None


class SessionRow(TypedDict):
    """A line of ``reports/sessions.jsonl``, with the members that pages show."""

    file: str | None
    row: Line | None
    offset: Line | None
    record: Line | None
    log: str
    line: Line | None
    session: str
    format: str | None
    start: str | None
    end: str | None
    model: str | None
    turns: Count | None
    findings: dict[Severity, Count]
    left_out: str | None
    filtered: str | None
    conversation: str | None
    kind: str | None
    sample: Line | None
    tokens: Count | None
    replies: _ReplyCounts
    usage: _Usage
    exit: int | None
    reward: float | None
    finish: str | None
    truncated: bool | None
    last_user: str | None
