"""The session table: a line for each record, and for each session without one."""

from __future__ import annotations

from collections.abc import Iterable

from chatsquash.core.options import Options
from chatsquash.core.text import printable_json
from chatsquash.dataset.reports import Report, ReportLine, TakenSession
from chatsquash.dataset.session_table import SESSIONS, RecordOutcome, line_of

FILES = (SESSIONS,)
WHOLE, PLACES = False, True


class SessionTable(Report):
    """Writes sessions as they come."""

    def add(self, taken: TakenSession) -> Iterable[ReportLine]:
        """What became of a session."""
        log, outcome = taken.log, taken.outcome
        if not taken.places:
            line = line_of(log, outcome, None, taken.turns, RecordOutcome(filtered=taken.filtered))
            return [(SESSIONS, printable_json(line))]
        return [
            (SESSIONS, printable_json(line_of(log, outcome, record, taken.turns, RecordOutcome(place, number))))
            for number, (record, place) in enumerate(zip(outcome.records, taken.places, strict=True), 1)
        ]


def report(options: Options) -> SessionTable:
    """Every run writes it."""
    del options
    return SessionTable()
