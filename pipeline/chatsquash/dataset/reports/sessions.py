"""The session table: a line for each record, and for each session without one."""

from __future__ import annotations

from collections.abc import Iterable

from chatsquash.core.options import Options
from chatsquash.dataset.reports import ProcessedSession, Report, ReportLine
from chatsquash.dataset.session_table import SESSIONS, RecordOutcome, line_of

FILES = (SESSIONS,)
WHOLE, PLACES = False, True


class SessionTable(Report):
    """Writes sessions in order."""

    def add(self, session: ProcessedSession) -> Iterable[ReportLine]:
        """Return the lines of a session."""
        log, outcome = session.log, session.outcome
        if not session.places:
            line = line_of(log, outcome, None, session.turns, RecordOutcome(filtered=session.filtered))
            return [(SESSIONS, line.encode())]
        return [
            (SESSIONS, line_of(log, outcome, record, session.turns, RecordOutcome(place, number)).encode())
            for number, (record, place) in enumerate(zip(outcome.records, session.places, strict=True), 1)
        ]


def report(options: Options) -> SessionTable:
    """Return the report, which every run writes."""
    del options
    return SessionTable()
