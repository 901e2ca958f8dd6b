"""The report of session outcomes, which is used to merge results."""

from __future__ import annotations

from collections.abc import Iterable

from chatsquash.core.model import Finding
from chatsquash.core.options import Options
from chatsquash.dataset.reports import ProcessedSession, Report, ReportLine
from chatsquash.dataset.stored_sessions import (
    OUTCOMES,
    StoredLine,
    StoredLog,
    StoredSession,
    encode,
    without_contents,
)

FILES = (OUTCOMES,)
WHOLE, PLACES = False, True


class Outcomes(Report):
    """Writes outcomes in the order of sessions."""

    def add(self, session: ProcessedSession) -> Iterable[ReportLine]:
        """Return the outcome of a session."""
        selection = session.selection
        stored_session = StoredSession(
            StoredLog.of(session.log, size=0),
            without_contents(selection.outcome),
            session.places,
            selection.record_count,
            selection.turns,
            selection.filtered,
            selection.duplicates,
            session.kept_lines,
        )
        return [(OUTCOMES, encode(StoredLine(stored_session)))]

    def note(self, finding: Finding) -> Iterable[ReportLine]:
        """Return a finding about a file; findings about the dataset are recomputed by a merge."""
        return [(OUTCOMES, encode(StoredLine(finding=finding)))] if finding.file else ()


def report(options: Options) -> Outcomes:
    """Return the report, which every run writes."""
    del options
    return Outcomes()
