"""What was found in records that is private, and how often; never the values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from chatsquash.options import Options
from chatsquash.outcome import Redaction
from chatsquash.report.files import Report, ReportLine, TakenSession
from chatsquash.report.files.tool_usage import table
from chatsquash.text import printable

REDACTIONS = "reports/redactions.csv"
FILES = (REDACTIONS,)
WHOLE, PLACES = True, False
COLUMNS = ("kind", "rule", "fingerprint", "count", "first")


class Redactions(Report):
    """Adds up what was found, value by value."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, str, str], int] = {}
        self._first: dict[tuple[str, str, str], str] = {}

    def add(self, taken: TakenSession) -> Iterable[ReportLine]:
        """Count what was found in the records of a session that are written."""
        chosen = taken.outcome.chosen
        for record in taken.outcome.records:
            made = record.chosen or chosen
            for found in record.redactions:
                self._add(found, taken.log.at(made.line if made else None))
        return ()

    def _add(self, found: Redaction, place: tuple[str, int | None]) -> None:
        key = found.kind, found.rule, found.fingerprint
        self._counts[key] = self._counts.get(key, 0) + found.count
        if key not in self._first:
            file, line = place
            self._first[key] = printable(file) + (f":{line}" if line is not None else "")

    def render(self) -> Iterator[ReportLine]:
        """The table, a row for each value, sorted."""
        rows = [(*key, count, self._first[key]) for key, count in sorted(self._counts.items())]
        yield REDACTIONS, table(COLUMNS, rows)


def report(options: Options) -> Redactions:
    """Every run writes it."""
    del options
    return Redactions()
