"""One module per report: the files that it writes, and what a session adds to them.

Modules are found by looking in this folder.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import NamedTuple

from chatsquash.core.log import Log
from chatsquash.core.model import Finding
from chatsquash.core.options import Options
from chatsquash.core.outcome import Outcome, Place
from chatsquash.core.registry import Room
from chatsquash.dataset.choice import SessionChoice

ReportLine = tuple[str, bytes]
"""A file of a report, as a path below the output folder, and a line of it without its line feed."""


class TakenSession(NamedTuple):
    """A session that a run has done with."""

    log: Log
    chosen: SessionChoice
    """What was chosen of it."""
    outcome: Outcome
    """As it was written, without records that were filtered."""
    places: list[Place]
    """Where its records stand."""
    group: str
    """The label of its group, as ``--group-by`` gives it."""
    kept_lines: int = 0
    """How many of its malformed lines were copied."""

    @property
    def turns(self) -> int | None:
        """The assistant turns of its first record, also where that was filtered."""
        return self.chosen.turns

    @property
    def filtered(self) -> str | None:
        """The option that filtered its records, where it has none; the first one of several."""
        return self.chosen.why


class Report:
    """What a report gathers in a run; one that has nothing to say of something leaves it to this."""

    def add(self, taken: TakenSession) -> Iterable[ReportLine]:
        """The lines of a session."""
        del taken
        return ()

    def note(self, finding: Finding) -> Iterable[ReportLine]:
        """The lines of a finding about no session."""
        del finding
        return ()

    def render(self) -> Iterable[ReportLine]:
        """What waited until all sessions were added: whole files, or the last lines of others."""
        return ()


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class ReportModule:
    """What the module of a report declares."""

    FILES: tuple[str, ...]
    """Paths below the output folder."""
    WHOLE: bool
    """Whether the files are written by ``render`` alone and whole, and not line by line."""
    PLACES: bool
    """Whether its lines name places of records, some of which are known at the end of the run only."""

    report: Callable[[Options], Report | None]
    """Return the report of a run; ``None`` if the options request none."""


_ROOM: Room[ReportModule] = Room(ReportModule, sys.modules[__name__])


def all_modules() -> list[ReportModule]:
    """The modules of all reports, in the order of their names."""
    return list(_ROOM.all().values())
