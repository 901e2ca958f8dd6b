"""The report of private values in records: their kinds and counts, never the values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from chatsquash.core.options import Options
from chatsquash.core.outcome import Redaction
from chatsquash.core.text import printable
from chatsquash.dataset.reports import ProcessedSession, Report, ReportLine
from chatsquash.dataset.reports.tool_usage import table

REDACTIONS = "reports/redactions.csv"
FILES = (REDACTIONS,)
WHOLE, PLACES = True, False
COLUMNS = ("kind", "rule", "fingerprint", "count", "first")


class Table:
    """Counts of redactions by value."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._first: dict[tuple[str, str, str], str] = {}

    def add(self, redaction: Redaction, place: str) -> None:
        """Count a redaction at a place."""
        key = redaction.kind, redaction.rule, redaction.fingerprint
        self._counts[key] += redaction.count
        self._first.setdefault(key, place)

    def csv(self, show_place: Callable[[str], str] = str) -> bytes:
        """Return a sorted row for each value; ``show_place`` formats the place of its first occurrence."""
        rows = [(*key, count, show_place(self._first[key])) for key, count in sorted(self._counts.items())]
        return table(COLUMNS, rows)


class Redactions(Report):
    """Counts the redactions in written records."""

    def __init__(self) -> None:
        self._table = Table()

    def add(self, session: ProcessedSession) -> Iterable[ReportLine]:
        """Count the redactions in the written records of a session."""
        for record in session.outcome.records:
            if not record.redactions:
                continue
            entry = record.entry or session.outcome.output.entry
            file, line = session.log.at(entry.line if entry else None)
            for redaction in record.redactions:
                self._table.add(redaction, printable(file) + (f":{line}" if line is not None else ""))
        return ()

    def render(self) -> Iterator[ReportLine]:
        """Return the complete table."""
        yield REDACTIONS, self._table.csv()


def report(options: Options) -> Redactions:
    """Return the report, which every run writes."""
    del options
    return Redactions()
