"""What the page is made of: plain values that were read from an output folder."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from chatsquash.html.markup import Html
from chatsquash.html.record import medium
from chatsquash.model import Json
from chatsquash.records.reading import StoredRecord
from chatsquash.report.page.charts import Chart


class Figure(NamedTuple):
    """A number of the summary."""

    name: str
    value: str
    told: str = ""
    """What it is made of."""
    severity: str = ""
    """Of findings."""


@dataclass(frozen=True, slots=True)
class Entries:
    """What the log of a session holds."""

    rows: Sequence[dict[str, Any]] = ()
    """An entry each, as ``inspect`` tells of it, with what became of its reply where that was traced."""
    left: int = 0
    """Entries that are not shown."""
    why: str = ""
    """Why there are none."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A session worth a look."""

    facts: dict[str, Any]
    """Its line of the session table."""
    chosen: Sequence[str]
    """Why it is worth that."""
    held: StoredRecord | None
    findings: Sequence[dict[str, Any]] = ()
    count: int = 0
    """How many findings it has."""
    entries: Entries = field(default_factory=Entries)
    medium: Callable[[Json], Html] = medium
    """Makes HTML of a part that is no text."""

    @property
    def place(self) -> str:
        """Where its record stands; empty where it has none."""
        return f"{self.facts['file']}:{self.facts['row']}" if self.facts["file"] else ""


@dataclass(frozen=True, slots=True)
class Content:
    """All that the page shows."""

    title: str
    figures: Sequence[Figure]
    charts: Sequence[Chart]
    findings: Sequence[dict[str, Any]]
    """Those that are shown, as ``reports/findings.jsonl`` has them."""
    found: int
    """How many there are."""
    sessions: Sequence[Shown]
    total: int
    """How many sessions there are."""
