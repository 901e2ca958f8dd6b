"""The reports of a run, one module each: its files, and the lines that each session adds to them.

Modules are discovered in this folder.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from chatsquash.core.accounting import Usage
from chatsquash.core.log import Log
from chatsquash.core.model import Finding
from chatsquash.core.options import Options
from chatsquash.core.outcome import Outcome, Place
from chatsquash.core.registry import Room
from chatsquash.dataset.choice import Selection

ReportLine = tuple[str, bytes]
"""A file of a report, as a path under the output folder, and a line without its line feed."""


class ProcessedSession(Struct, frozen=True):
    """A session whose records have been written."""

    log: Log
    selection: Selection
    """The session after filters and duplicates."""
    outcome: Outcome
    """Its outcome as written, without removed records."""
    places: list[Place]
    """The places of its records."""
    group: str
    """The label of its group by ``--group-by``."""
    kept_lines: int = 0
    """Number of its malformed lines that were copied."""
    usages: Sequence[Usage] = ()
    """The use of tools in each of its records; a call in several of them counts once."""

    @property
    def turns(self) -> int | None:
        """Assistant turns of its first record, even if that was filtered."""
        return self.selection.turns

    @property
    def filtered(self) -> str | None:
        """The first option that filtered its records, or ``None`` if any remain."""
        return self.selection.why


class Report:
    """The base of reports; its methods add nothing."""

    def add(self, session: ProcessedSession) -> Iterable[ReportLine]:
        """Return the lines of a session."""
        del session
        return ()

    def note(self, finding: Finding) -> Iterable[ReportLine]:
        """Return the lines of a finding that is not about a session."""
        del finding
        return ()

    def render(self) -> Iterable[ReportLine]:
        """Return the content that depends on all sessions: complete files, or the last lines of others."""
        return ()


class ReportModule(Struct, frozen=True, eq=False, kw_only=True):
    """The declarations of a report's module."""

    FILES: tuple[str, ...]
    """Paths under the output folder."""
    WHOLE: bool
    """Whether the files are written completely by ``render`` instead of line by line."""
    PLACES: bool
    """Whether its lines contain places of records, which may only be known at the end of the run."""

    report: Callable[[Options], Report | None]
    """Return the report of a run, or ``None`` if the options request none."""


_ROOM: Room[ReportModule] = Room(ReportModule, sys.modules[__name__])


def all_modules() -> list[ReportModule]:
    """Return the modules of all reports, sorted by name."""
    return list(_ROOM.all().values())
