"""The reports of tool usage in a dataset, by group and by tool."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Iterable, Iterator

from chatsquash.core.accounting import Usage
from chatsquash.core.options import Options
from chatsquash.core.text import escape
from chatsquash.dataset.reports import ProcessedSession, Report, ReportLine
from chatsquash.session.record_filters import ToolTotals

USAGE, TOOLS = "reports/tool-usage.csv", "reports/tools.csv"
FILES = USAGE, TOOLS
WHOLE, PLACES = True, False
COLUMNS = (
    "date",
    "scenario",
    "session_count",
    "tool_call_count",
    "tool_definition_count",
    "client_turns",
    "assistant_turns",
    "assistant_turns_with_tools",
)


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
        return table(COLUMNS, rows)


def report(options: Options) -> ToolUsage | None:
    """Return the report unless it is disabled."""
    return ToolUsage(options.group_by) if options.tool_report else None


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
