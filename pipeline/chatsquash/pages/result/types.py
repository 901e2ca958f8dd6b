"""What the page reads of a result, with the types that a run gives it: a folder may hold anything."""

from __future__ import annotations

from typing import Annotated, Literal, TypedDict

import msgspec

from chatsquash.core.model import Severity
from chatsquash.dataset.commit import RUN
from chatsquash.results.output import ResultFolder
from chatsquash.results.reports import damaged

Count = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]
"""How many there are of something."""
Line = Annotated[int, msgspec.Meta(ge=0, le=(1 << 63) - 1)]


class _Sessions(msgspec.Struct):
    seen: Count
    written: Count
    left_out: dict[str, Count] = {}
    filtered: dict[str, Count] = {}
    duplicates: Count = 0
    joined: Count = 0


class _Conversations(msgspec.Struct):
    written: Count


class _Replies(msgspec.Struct):
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
    """The counts of ``run.json``, as far as the page shows them."""

    sessions: _Sessions
    conversations: _Conversations
    lines: dict[str, Count]
    replies: _Replies
    reasoning: _Reasoning
    findings: dict[Severity, dict[str, Count]]
    secrets: _Secrets
    addresses: Count


class Finding(TypedDict):
    """A line of ``reports/findings.jsonl``."""

    code: str
    severity: Severity
    session: str | None
    file: str | None
    line: Line | None
    record: str | None
    message: Line | None
    text: str


class Reply(TypedDict):
    """A line of ``reports/replies.jsonl``."""

    file: str
    line: Line | None
    status: Literal["carried", "rewritten", "lost"]
    why: str | None
    record: str | None


class RejectedLine(TypedDict):
    """A line of ``reports/rejected.jsonl``."""

    file: str
    line: Line | None
    reason: str


class _Covered(TypedDict):
    logged: Count
    carried: Count
    rewritten: Count
    lost: dict[str, Count]


class _Usage(TypedDict):
    prompt_tokens: Count | None
    completion_tokens: Count | None


class Session(TypedDict):
    """A line of ``reports/sessions.jsonl``, as far as the page shows it."""

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
    replies: _Covered
    usage: _Usage
    finish: str | None


def counts(result: ResultFolder) -> Counts:
    """The counts of a result; raises ``UsageError`` for those that no run makes."""
    try:
        found = msgspec.convert(result.counts, Counts)
    except ValueError:
        raise damaged(result.folder, RUN) from None
    if "seen" not in found.lines:
        raise damaged(result.folder, RUN)
    return found
