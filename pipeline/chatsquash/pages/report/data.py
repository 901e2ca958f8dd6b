"""What the page is made of: plain values that were read from an output folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from chatsquash.core.model import Json
from chatsquash.pages.html.markup import Html
from chatsquash.pages.html.record import medium
from chatsquash.pages.report.charts import Chart
from chatsquash.records.reading import StoredRecord


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
    """An entry each, as ``inspect`` tells of it, as seen from the record that is shown.

    ``replies`` tell what became of its replies, where that was traced;
    ``others`` are the records that are made of the same entry, and ``reason`` says why a line could not be read.
    """
    left: int = 0
    """Entries that are not shown."""
    why: str = ""
    """Why there are none."""
    file: str = ""
    """The name of the log."""


@dataclass(frozen=True, slots=True)
class Shown:
    """A session worth a look."""

    facts: dict[str, Any]
    """Its line of the session table."""
    chosen: Sequence[str]
    """Why it is worth that."""
    held: StoredRecord | None
    findings: Sequence[Mapping[str, Any]] = ()
    count: int = 0
    """How many findings it has."""
    entries: Entries = field(default_factory=Entries)
    others: Sequence[dict[str, Any]] = ()
    """The lines of the session table about its other records."""
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
    run: Sequence[tuple[str, str]]
    """What tells this run from others, in words."""
    figures: Sequence[Figure]
    charts: Sequence[Chart]
    findings: Sequence[Mapping[str, Any]]
    """Those that are shown, as ``reports/findings.jsonl`` has them."""
    found: Mapping[tuple[str, str], int]
    """How many there are, by severity and code."""
    sessions: Sequence[Shown]
    total: int
    """How many sessions there are."""
