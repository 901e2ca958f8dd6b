"""A session as programs see it that choose what is written."""

from __future__ import annotations

from typing import Any, NamedTuple

from chatsquash.core import jsonio
from chatsquash.core.log import Log
from chatsquash.core.model import Finding
from chatsquash.dataset.choice import SessionChoice
from chatsquash.dataset.session_table import RecordOutcome, line_of


class Session(NamedTuple):
    """A session of a log, as ``read`` gives it, and ``convert`` to its ``filter``.

    records: each ``{"messages": [...], "tools": [...]}``, or as the preset shapes it; none where it was left out.
    findings: what was found of it; each has ``code``, ``severity``, ``file``, ``line``, ``message`` and ``text``.
    facts: its line of ``reports/sessions.jsonl``; ``docs/output.md`` lists the columns.
    refused: the code of the finding for which it has no record; ``None`` where it has one.
    """

    records: list[dict[str, Any]]
    findings: list[Finding]
    facts: dict[str, Any]
    refused: str | None


def session_of(log: Log, chosen: SessionChoice) -> Session:
    """A session as programs see it."""
    outcome = chosen.outcome
    first = outcome.records[0] if outcome.records else None
    facts = line_of(log, outcome, first, chosen.turns, RecordOutcome(filtered=chosen.why))
    return Session([jsonio.loads(record.line) for record in outcome.records], outcome.findings, facts, outcome.left_out)
