"""The reports that are tables of totals: the use of tools, and the private values in records."""

from __future__ import annotations

import csv
import io
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator

from chatsquash.core.accounting import Usage
from chatsquash.core.outcome import Redaction
from chatsquash.core.text import escape, printable
from chatsquash.dataset.reports import ProcessedSession, Report, ReportDeclaration, ReportLine
from chatsquash.session.record_measures import ToolTotals

USAGE, TOOLS, REDACTIONS = "reports/tool-usage.csv", "reports/tools.csv", "reports/redactions.csv"
USAGE_COLUMNS = (
    "date",
    "scenario",
    "session_count",
    "tool_call_count",
    "tool_definition_count",
    "client_turns",
    "assistant_turns",
    "assistant_turns_with_tools",
)
REDACTION_COLUMNS = ("kind", "rule", "fingerprint", "count", "first")


class ToolUsage(Report):
    """Counts the use of tools in records."""

    def __init__(self, group_by: str) -> None:
        self._group_by = group_by
        self._groups: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0, 0])
        self._names: dict[str, set[str]] = defaultdict(set)
        self._tools = ToolTotals()

    def add(self, session: ProcessedSession) -> Iterable[ReportLine]:
        """Count the records of a session."""
        for usage in session.usages:
            self.count(session.group, usage)
        return ()

    def count(self, group: str, usage: Usage) -> None:
        """Count a record of a group."""
        sums = self._groups[group]
        sums[0] += 1
        sums[1] += usage.calls
        sums[2] += usage.client_turns
        sums[3] += usage.assistant_turns
        sums[4] += usage.assistant_turns_with_tools
        self._names[group].update(usage.tool_names)
        self._tools.add(usage)

    def render(self) -> Iterator[ReportLine]:
        """Return both tables."""
        yield USAGE, self.csv()
        rows = [(name, *counts) for name, counts in self._tools.by_name()]
        yield TOOLS, table(("tool", "sessions", "calls", "failed", "unanswered"), rows)

    def csv(self) -> bytes:
        """Return one row per group; dates and scenarios have separate columns, one of which is empty."""
        rows = []
        for group, (sessions, calls, client, assistant, with_tools) in sorted(self._groups.items()):
            label = {"date": (group, ""), "scenario": ("", group)}.get(self._group_by, ("", ""))
            rows.append((*label, sessions, calls, len(self._names[group]), client, assistant, with_tools))
        return table(USAGE_COLUMNS, rows)


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
        return table(REDACTION_COLUMNS, rows)


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


def table(header: Iterable[str], rows: Iterable[Iterable[object]]) -> bytes:
    """Return a CSV file, with unprintable characters escaped and an apostrophe before cells that look like formulas."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([_cell(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return file.getvalue().encode()


def _cell(text: str) -> str:
    escaped = escape(text)
    return f"'{escaped}" if escaped.startswith(("=", "+", "-", "@")) else escaped


REPORTS = (
    ReportDeclaration((REDACTIONS,), lambda _: Redactions(), is_complete=True),
    ReportDeclaration(
        (USAGE, TOOLS), lambda options: ToolUsage(options.group_by) if options.tool_report else None, is_complete=True
    ),
)
