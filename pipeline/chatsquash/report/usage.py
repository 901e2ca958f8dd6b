"""How much a dataset uses its tools."""

from __future__ import annotations

import csv
import io
from collections import defaultdict
from collections.abc import Iterable

from msgspec import Struct, field

from chatsquash.model import Usage
from chatsquash.text import escaped

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


class Totals(Struct):
    """Usage added up over the sessions of a run."""

    groups: dict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0, 0, 0, 0]))
    names: dict[str, set[str]] = field(default_factory=lambda: defaultdict(set))
    tools: dict[str, list[int]] = field(default_factory=lambda: defaultdict(lambda: [0, 0, 0, 0]))

    def add(self, group: str, usage: Usage) -> None:
        """One session more in a group."""
        counts = (1, usage.calls, usage.client_turns, usage.assistant_turns, usage.assistant_turns_with_tools)
        _add(self.groups[group], counts)
        self.names[group].update(usage.tool_names)
        for name in {*usage.tool_names, *[tool.name for tool in usage.tools]}:
            self.tools[name][0] += 1
        for name, *use in usage.tools:
            _add(self.tools[name], (0, *use))

    def usage_csv(self, group_by: str) -> bytes:
        """One row per group; groups of one kind leave the other kind's column empty."""
        rows = []
        for group, (sessions, calls, client, assistant, with_tools) in sorted(self.groups.items()):
            label = {"date": (group, ""), "scenario": ("", group)}.get(group_by, ("", ""))
            rows.append((*label, sessions, calls, len(self.names[group]), client, assistant, with_tools))
        return table(COLUMNS, rows)

    def most_used(self) -> list[tuple[str, list[int]]]:
        """Every tool with the numbers of ``tools_csv``, those that are called most first."""
        return sorted(self.tools.items(), key=lambda item: (-item[1][1], item[0]))

    def tools_csv(self) -> bytes:
        """One row per tool: sessions that define or call it, its calls, those that failed, those without a result."""
        rows = [(name, *counts) for name, counts in sorted(self.tools.items())]
        return table(("tool", "sessions", "calls", "failed", "unanswered"), rows)


def _add(sums: list[int], counts: Iterable[int]) -> None:
    for place, count in enumerate(counts):
        sums[place] += count


def table(header: Iterable[str], rows: Iterable[Iterable[object]]) -> bytes:
    """A CSV file; what does not print is escaped, and what a spreadsheet would run starts with an apostrophe."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([_cell(cell) if isinstance(cell, str) else cell for cell in row] for row in rows)
    return file.getvalue().encode()


def _cell(text: str) -> str:
    shown = escaped(text)
    return f"'{shown}" if shown.startswith(("=", "+", "-", "@")) else shown
