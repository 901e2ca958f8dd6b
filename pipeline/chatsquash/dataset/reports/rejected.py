"""The report of malformed lines, one JSON object each."""

from __future__ import annotations

from msgspec.structs import asdict

from chatsquash.core.log import Log
from chatsquash.core.model import RejectedLine
from chatsquash.core.options import Options
from chatsquash.core.text import printable, printable_json
from chatsquash.dataset.claim import REJECTED
from chatsquash.dataset.reports import ProcessedSession, Report, ReportLine

FILES = (REJECTED,)
WHOLE = PLACES = False


class RejectedLines(Report):
    """Writes rejected lines in the order of sessions."""

    def add(self, session: ProcessedSession) -> list[ReportLine]:
        """Return the locations of the malformed lines of a session, with the reasons."""
        return [(REJECTED, _row(session.log, rejected)) for rejected in session.outcome.report.rejected]


def _row(log: Log, rejected: RejectedLine) -> bytes:
    file, line, offset = log.place(rejected.line, rejected.offset)
    return printable_json({"file": printable(file), **asdict(rejected), "line": line, "offset": offset})


def report(options: Options) -> RejectedLines:
    """Return the report, which every run writes."""
    del options
    return RejectedLines()
