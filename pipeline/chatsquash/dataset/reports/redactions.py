"""What was found in records that is private, and how often; never the values."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from chatsquash.core.options import Options
from chatsquash.core.outcome import Record, Redaction
from chatsquash.core.text import printable
from chatsquash.dataset.reports import Report, ReportLine, TakenSession
from chatsquash.dataset.reports.tool_usage import table

REDACTIONS = "reports/redactions.csv"
FILES = (REDACTIONS,)
WHOLE, PLACES = True, False
COLUMNS = ("kind", "rule", "fingerprint", "count", "first")


class Table:
    """Adds up what was found, value by value."""

    def __init__(self) -> None:
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._first: dict[tuple[str, str, str], str] = {}

    def add(self, redaction: Redaction, place: str) -> None:
        """Count what was found at a place."""
        key = redaction.kind, redaction.rule, redaction.fingerprint
        self._counts[key] += redaction.count
        self._first.setdefault(key, place)

    def csv(self, shown: Callable[[str], str] = str) -> bytes:
        """A row for each value, sorted; ``shown`` says how the place where it was found first is told."""
        rows = [(*key, count, shown(self._first[key])) for key, count in sorted(self._counts.items())]
        return table(COLUMNS, rows)


class Redactions(Report):
    """Adds up what was found in the records that are written."""

    def __init__(self) -> None:
        self._table = Table()

    def add(self, taken: TakenSession) -> Iterable[ReportLine]:
        """Count what was found in the records of a session that are written."""
        for record in filter(_has_some, taken.outcome.records):
            made = record.entry or taken.outcome.output.entry
            file, line = taken.log.at(made.line if made else None)
            for redaction in record.redactions:
                self._table.add(redaction, printable(file) + (f":{line}" if line is not None else ""))
        return ()

    def render(self) -> Iterator[ReportLine]:
        """The whole table."""
        yield REDACTIONS, self._table.csv()


def _has_some(record: Record) -> bool:
    return bool(record.redactions)


def report(options: Options) -> Redactions:
    """Every run writes it."""
    del options
    return Redactions()
