"""A session as programs see it that choose what is written."""

from __future__ import annotations

from typing import Any, NamedTuple

from chatsquash import jsonio
from chatsquash.log import Log
from chatsquash.model import Finding
from chatsquash.outcome import Outcome
from chatsquash.report.session_table import Written, line_of


class Session(NamedTuple):
    """A session of a log, as the function of ``convert`` gets it that chooses sessions."""

    records: list[dict[str, Any]]
    """Its records, each ``{"messages": [...], "tools": [...]}``; none where it was left out or is not wanted."""
    findings: list[Finding]
    """What was found of it: code, severity, file, line, message and text."""
    facts: dict[str, Any]
    """What is known of it, as ``reports/sessions.jsonl`` has it: log, format, model, times, tokens, replies."""
    refused: str | None
    """The code of the finding for which it has no record; ``None`` where it has one."""


def session_of(log: Log, outcome: Outcome) -> Session:
    """A session as programs see it."""
    first = outcome.records[0] if outcome.records else None
    turns = first.usage.assistant_turns if first else None
    records = [jsonio.loads(record.line) for record in outcome.records]
    return Session(records, outcome.findings, line_of(log, outcome, first, turns, Written()), outcome.left_out)
