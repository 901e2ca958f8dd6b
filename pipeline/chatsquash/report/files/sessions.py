"""The session table: a line for each record, and for each session without one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from chatsquash.model import Severity
from chatsquash.options import Options
from chatsquash.outcome import Chosen, Place
from chatsquash.report.files import Report, ReportLine, TakenSession
from chatsquash.text import printable, shown

SESSIONS = "reports/sessions.jsonl"
FILES = (SESSIONS,)
WHOLE, PLACES = False, True
_SEVERITIES: tuple[Severity, ...] = get_args(Severity)
_UNKNOWN = Chosen(None, None, None, None, None)


class SessionTable(Report):
    """Writes sessions as they come."""

    def add(self, taken: TakenSession) -> Iterable[ReportLine]:
        """What became of a session."""
        counts = dict.fromkeys(_SEVERITIES, 0)
        for finding in taken.outcome.findings:
            counts[finding.severity] += 1
        return [(SESSIONS, _line(taken, place, number, counts)) for number, place in enumerate(taken.places or [None])]


def report(options: Options) -> SessionTable:
    """Every run writes it."""
    del options
    return SessionTable()


def _line(taken: TakenSession, place: Place | None, number: int, counts: dict[Severity, int]) -> bytes:
    outcome = taken.outcome
    record = outcome.records[number] if place else None
    covered = outcome.coverage
    chosen = (record.chosen if record else None) or outcome.chosen or _UNKNOWN
    file, line = taken.log.at(chosen.line)
    return shown(
        {
            "file": place.file if place else None,
            "row": place.row if place else None,
            "log": printable(file),
            "line": line,
            "session": printable(outcome.session),
            "start": chosen.started,
            "end": chosen.ended,
            "model": printable(chosen.model) if chosen.model else None,
            "entries": chosen.entries,
            "turns": record.usage.assistant_turns if record else taken.turns,
            "findings": counts,
            "left_out": outcome.left_out,
            "filtered": taken.filtered,
            "conversation": record.conversation or None if record else None,
            "parent": record.parent if record else None,
            "kind": record.kind if record and record.conversation else None,
            "sample": (record.sample or None) if record else None,
            "samples": (record.samples or None) if record else None,
            "tokens": record.tokens if record else None,
            "conversations": covered.conversations,
            "replies": {
                "logged": covered.logged,
                "carried": covered.carried,
                "rewritten": covered.rewritten,
                "lost": covered.lost,
            },
            "reasoning": {
                "logged": covered.reasoned,
                "carried": covered.with_reasoning,
                "withheld": covered.withheld,
            },
        }
    )
