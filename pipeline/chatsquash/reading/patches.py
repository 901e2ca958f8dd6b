"""The messages of a line and their bytes, as runs of those of the line before and what is new between these."""

from __future__ import annotations

from typing import Any

from msgspec import Struct, field

from chatsquash.core.model import Added, Kept, Message
from chatsquash.reading.members import elements
from chatsquash.reading.repeats import Array, Change, Run, behind_gap


class Patch(Struct):
    """What a line makes of the line before, run by run."""

    before: list[Message]
    array: Array
    """The array of the line before."""
    buffer: bytearray
    """Holds this line."""
    place: int
    """Where in it the array begins."""
    at: int
    """Where in it the last run ends."""
    old: int = 0
    """Where that ends in the array before."""
    fresh: list[Any] = field(default_factory=list)
    """New messages behind the last run."""
    messages: list[Message] = field(default_factory=list)
    edits: list[Kept | Added] = field(default_factory=list)
    bounds: list[tuple[int, int]] = field(default_factory=list)
    changes: list[Change] = field(default_factory=list)

    def keep(self, run: Run) -> None:
        """Go on with a run, behind what is new before it."""
        known = self.array.bounds[run.first : run.last]
        gap = self.buffer[self.at : run.start]
        self.changes.append((self.old, known[0][0], gap))
        if self.fresh:
            self.bounds += _bounds(gap, self.at - self.place, len(self.fresh))
            self._add()
        shift = run.start - self.place - known[0][0]
        self.bounds += [(start + shift, stop + shift) for start, stop in known] if shift else known
        self.messages += self.before[run.first : run.last]
        self.edits.append(Kept(run.first, run.last))
        self.at, self.old = run.stop, known[-1][1]

    def close(self, tail: bytes) -> None:
        """Go on with what is new behind the last run, of which these are the bytes."""
        self.changes.append((self.old, len(self.array.data), tail))
        if self.fresh:
            self._add()

    def _add(self) -> None:
        self.messages += self.fresh
        self.edits.append(Added(tuple(self.fresh)))
        self.fresh = []


def _bounds(gap: bytearray, place: int, count: int) -> list[tuple[int, int]]:
    """Where messages before a run start and stop, given what stands there, from a place of the array on."""
    at = behind_gap(gap, 0 if place else 1)
    stripped = gap.rstrip(b", \t\r")
    if count == 1:
        return [(place + at, place + len(stripped))]
    found: list[tuple[int, int]] = []
    for element in elements(b"[" + stripped[at:] + b"]"):
        found.append((place + at, place + at + len(element)))
        at = behind_gap(gap, at + len(element))
    return found
