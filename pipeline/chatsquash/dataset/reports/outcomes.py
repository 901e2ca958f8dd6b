"""The outcomes of sessions, so that this result can be merged with others."""

from __future__ import annotations

from collections.abc import Iterable

from msgspec.structs import replace

from chatsquash.core.model import Finding
from chatsquash.core.options import Options
from chatsquash.dataset.reports import Report, ReportLine, TakenSession
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
    """Writes outcomes as they come."""

    def add(self, taken: TakenSession) -> Iterable[ReportLine]:
        """The outcome of a session."""
        chosen = taken.chosen
        stored = StoredSession(
            replace(StoredLog.of(taken.log), size=0),  # which run.json says
            without_contents(chosen.outcome),
            taken.places,
            chosen.made,
            chosen.turns,
            chosen.filtered,
            chosen.duplicates,
            taken.kept_lines,
        )
        return [(OUTCOMES, encode(StoredLine(stored)))]

    def note(self, finding: Finding) -> Iterable[ReportLine]:
        """A finding about a file; those about the dataset are made again."""
        return [(OUTCOMES, encode(StoredLine(finding=finding)))] if finding.file else ()


def report(options: Options) -> Outcomes:
    """Every run writes it."""
    del options
    return Outcomes()
