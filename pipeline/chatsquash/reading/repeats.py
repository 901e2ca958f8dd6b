"""Where a line repeats the line before it: runs of messages, and the tools.

What is found here is a guess, which parsing proves or refuses; see ``deltas``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Struct, field

from chatsquash.reading.members import elements
from chatsquash.sources.lines import Line

_VALUE = re.compile(rb"[ \t\r]*:[ \t\r]*")
_GAP = re.compile(rb"[ \t\r]*,?[ \t\r]*")
_MOST_RUNS = 8
_FEW = 2
_NEEDLE = 96
"""Bytes at the beginning of a message by which it is looked for."""
_WINDOW = 8192
"""Bytes behind the end of a run in which the next one is looked for, beside twice the length of the message there."""


class SharedRun(NamedTuple):
    """Messages ``first`` up to, not including, ``last`` of the previous request, and where in a line they stand."""

    first: int
    last: int
    start: int
    stop: int


Change = tuple[int, int, bytes | bytearray]
"""Bytes of an array from one place to another, and what stands there in the next one."""


class Array(Struct):
    """The bytes of a message array, from ``[`` on, without the closing bracket."""

    data: bytearray = field(default_factory=bytearray)
    """Empty where nothing is known."""
    count: int = 0
    """Messages in it."""
    bounds: list[tuple[int, int]] = field(default_factory=list)
    """Where its first messages start and stop; for the others found out when needed."""
    ends: tuple[int, int] | None = None
    """How many messages stood before and behind those that the last line had, too, if that was one run."""

    def change(self, changes: list[Change], count: int, bounds: list[tuple[int, int]] | None) -> None:
        """Become the next array, whose first bounds are these; without them all that are known still hold."""
        for start, stop, data in reversed(changes):
            self.data[start:stop] = data
        self.count = count
        if bounds is not None:
            self.bounds = bounds

    def runs(self, line: Line, at: int) -> list[SharedRun]:
        """Runs of these messages in the array that begins at ``at``, each as long as it can be, in order."""
        self._find_bounds()
        with memoryview(self.data) as view:
            if run := self._as_before(line, at, view):
                return [run]
            runs = list(self._walk(line, at + 1, view))
        self.ends = (runs[0].first, self.count - runs[0].last) if len(runs) == 1 else None
        return runs

    def _as_before(self, line: Line, at: int, view: memoryview) -> SharedRun | None:
        """The run that differs from all messages by as few as the last one did, if it stands where they stood."""
        if self.ends is None or max(self.ends) > _FEW or sum(self.ends) >= self.count:
            return None
        first, last = self.ends[0], self.count - self.ends[1]
        start, stop = self.bounds[first][0], self.bounds[last - 1][1]
        is_there = line.buffer.startswith(view[start:stop], at + start, line.stop)
        return SharedRun(first, last, at + start, at + stop) if is_there else None

    def _walk(self, line: Line, at: int, view: memoryview) -> Iterator[SharedRun]:
        index = 0
        for _ in range(_MOST_RUNS):
            last = self._agree(line, at, index, view)
            if last > index:
                stop = at + self.bounds[last - 1][1] - self.bounds[index][0]
                yield SharedRun(index, last, at, stop)
                at = behind_gap(line.buffer, stop)
                index = last
            if index == self.count:
                return
            run = self._resume(line, at, index, view)
            if run is None:
                return
            index, at = run

    def _agree(self, line: Line, at: int, index: int, view: memoryview) -> int:
        """The message at which the line stops being the same: behind all, the first or the last, else bisected."""
        bounds, buffer = self.bounds, line.buffer
        start = bounds[index][0]
        shift = at - start
        low, high = index, self.count
        likely = [high - 1, high, index + 1]
        while low < high:
            probe = likely.pop() if likely else (low + high + 1) // 2
            if not low < probe <= high:
                continue
            stop = bounds[probe - 1][1]
            if buffer.startswith(view[start:stop], start + shift, line.stop):
                low, start = probe, stop  # which need not be compared again
            else:
                high = probe - 1
        return low

    def _resume(self, line: Line, at: int, index: int, view: memoryview) -> tuple[int, int] | None:
        """Where the array goes on behind a difference: at the next message, or at this one if others came before it."""
        begin, end = self.bounds[index]
        window = min(line.stop, at + 2 * (end - begin) + _WINDOW)
        for again in range(index + 1, index - 1, -1):
            if again < self.count:
                start, stop = self.bounds[again]
                needle = bytes(view[start : min(stop, start + _NEEDLE)])
                # Most likely the message in between kept its length, as one with a clock in it does.
                if again > index and line.buffer.startswith(needle, at + start - begin, window):
                    return again, at + start - begin
                if (place := line.buffer.find(needle, at, window)) >= 0:
                    return again, place
        return None

    def _find_bounds(self) -> None:
        if len(self.bounds) == self.count:
            return
        at = behind_gap(self.data, self.bounds[-1][1] if self.bounds else 1)
        for raw in elements(b"[" + self.data[at:] + b"]"):
            self.bounds.append((at, at + len(raw)))
            at = behind_gap(self.data, at + len(raw))


def find(data: bytes | bytearray, key: bytes, value: bytes | bytearray, start: int, stop: int) -> int:
    """Where ``value`` stands behind ``key``; -1 where it does not, as far as the likely places tell."""
    while (at := data.find(key, start, stop)) >= 0:
        start = at + len(key)
        if data.startswith(b":", start) and data.startswith(value, start + 1, stop):  # as most lines are written
            return start + 1
        colon = _VALUE.match(data, start, stop)
        if colon and data.startswith(value, colon.end(), stop):
            return colon.end()
        if colon and data.startswith(value[:2], colon.end(), stop):
            break  # the right place, most likely, with something else in it; looking on costs more than parsing
    return -1


def behind_gap(data: bytes | bytearray, at: int) -> int:
    """Behind the comma and the white space at ``at``."""
    gap = _GAP.match(data, at)
    return gap.end() if gap else at
