"""The lines that could not be read: a JSON object each."""

from __future__ import annotations

from collections.abc import Iterator

from chatsquash.core.options import Options
from chatsquash.core.text import printable, printable_json
from chatsquash.dataset.reports import Report, ReportLine, TakenSession

REJECTED = "reports/rejected.jsonl"
FILES = (REJECTED,)
WHOLE = PLACES = False


class RejectedLines(Report):
    """Writes rejected lines as they come."""

    def add(self, taken: TakenSession) -> Iterator[ReportLine]:
        """Where the lines of a session stand, and why they could not be read."""
        for rejected in taken.outcome.report.rejected:
            file, line, offset = taken.log.place(rejected.line, rejected.offset)
            yield (
                REJECTED,
                printable_json({"file": printable(file), **rejected._asdict(), "line": line, "offset": offset}),
            )


def report(options: Options) -> RejectedLines:
    """Every run writes it."""
    del options
    return RejectedLines()
