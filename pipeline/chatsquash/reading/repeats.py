"""Find runs of messages that a line repeats from the previous line.

The results are guesses that parsing confirms or disproves; see ``deltas``.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct, field

from chatsquash.core.lazy import lazy_compile
from chatsquash.reading.members import elements
from chatsquash.sources.lines import Line

_VALUE = lazy_compile(rb"[ \t\r]*:[ \t\r]*")
_GAP = lazy_compile(rb"[ \t\r]*,?[ \t\r]*")
_MOST_RUNS = 8
_FEW = 2
_NEEDLE = 96
"""The number of bytes at the beginning of a message to search for."""
_WINDOW = 8192
"""The number of bytes after a run in which the next run is searched, plus twice the length of the message there."""


class SharedRun(Struct, frozen=True):
    """Messages ``first`` up to, but not including, ``last`` of the previous request, and their position in a line."""

    first: int
    last: int
    start: int
    stop: int


Change = tuple[int, int, bytes | bytearray]
"""The start and stop of bytes in an array, and the bytes that replace them in the next array."""


class Array(Struct):
    """The bytes of a message array, from ``[`` on, without the closing bracket."""

    data: bytearray = field(default_factory=bytearray)
    """The bytes; empty if unknown."""
    count: int = 0
    """The number of messages."""
    bounds: list[tuple[int, int]] = field(default_factory=list)
    """The start and stop of its first messages; the others are determined when needed."""
    ends: tuple[int, int] | None = None
    """The numbers of messages before and after those shared with the last line, if these were a single run."""

    def change(self, changes: list[Change], count: int, bounds: list[tuple[int, int]] | None) -> None:
        """Change this array into the next one; without ``bounds``, all known bounds remain valid."""
        for start, stop, data in reversed(changes):
            self.data[start:stop] = data
        self.count = count
        if bounds is not None:
            self.bounds = bounds

    def runs(self, line: Line, at: int) -> list[SharedRun]:
        """Return the longest shared runs of messages in the array that begins at ``at``, in order."""
        self._find_bounds()
        with memoryview(self.data) as view:
            if run := self._repeat_last_run(line, at, view):
                return [run]
            runs = list(self._walk(line, at + 1, view))
        self.ends = (runs[0].first, self.count - runs[0].last) if len(runs) == 1 else None
        return runs

    def _repeat_last_run(self, line: Line, at: int, view: memoryview) -> SharedRun | None:
        """Return the run that differs in as few messages as last time, if it is at the same position."""
        if self.ends is None or max(self.ends) > _FEW or sum(self.ends) >= self.count:
            return None
        first, last = self.ends[0], self.count - self.ends[1]
        start, stop = self.bounds[first][0], self.bounds[last - 1][1]
        is_there = line.buffer.startswith(view[start:stop], at + start, line.stop)
        return SharedRun(first, last, at + start, at + stop) if is_there else None

    def _walk(self, line: Line, at: int, view: memoryview) -> Iterator[SharedRun]:
        index = 0
        for _ in range(_MOST_RUNS):
            last = self._find_difference(line, at, index, view)
            if last > index:
                stop = at + self.bounds[last - 1][1] - self.bounds[index][0]
                yield SharedRun(index, last, at, stop)
                at = skip_gap(line.buffer, stop)
                index = last
            if index == self.count:
                return
            run = self._resume(line, at, index, view)
            if run is None:
                return
            index, at = run

    def _find_difference(self, line: Line, at: int, index: int, view: memoryview) -> int:
        """Return the index of the first message that differs."""
        bounds, buffer = self.bounds, line.buffer
        start = bounds[index][0]
        shift = at - start
        low, high = index, self.count
        # Usually one message, all messages, or all except the last one are equal; these are tried before bisecting.
        likely = [high - 1, high, index + 1]
        while low < high:
            probe = likely.pop() if likely else (low + high + 1) // 2
            if not low < probe <= high:
                continue
            stop = bounds[probe - 1][1]
            if buffer.startswith(view[start:stop], start + shift, line.stop):
                low, start = probe, stop  # the bytes before it are known to be equal
            else:
                high = probe - 1
        return low

    def _resume(self, line: Line, at: int, index: int, view: memoryview) -> tuple[int, int] | None:
        """Return where the array continues after a difference: at the next message, or at this one after insertions."""
        begin, end = self.bounds[index]
        window = min(line.stop, at + 2 * (end - begin) + _WINDOW)
        for candidate in range(index + 1, index - 1, -1):
            if candidate < self.count:
                start, stop = self.bounds[candidate]
                needle = bytes(view[start : min(stop, start + _NEEDLE)])
                # The message in between probably has the same length, for example if it contains the time.
                if candidate > index and line.buffer.startswith(needle, at + start - begin, window):
                    return candidate, at + start - begin
                if (place := line.buffer.find(needle, at, window)) >= 0:
                    return candidate, place
        return None

    def _find_bounds(self) -> None:
        if len(self.bounds) == self.count:
            return
        position = skip_gap(self.data, self.bounds[-1][1] if self.bounds else 1)
        for raw in elements(b"[" + self.data[position:] + b"]"):
            self.bounds.append((position, position + len(raw)))
            position = skip_gap(self.data, position + len(raw))


def find(data: bytes | bytearray, key: bytes, value: bytes | bytearray, start: int, stop: int) -> int:
    """Return the position where ``value`` follows ``key``; -1 if it is at none of the likely positions."""
    while (position := data.find(key, start, stop)) >= 0:
        start = position + len(key)
        if data.startswith(b":", start) and data.startswith(
            value, start + 1, stop
        ):  # most lines have no white space here
            return start + 1
        colon = _VALUE.match(data, start, stop)
        if colon and data.startswith(value, colon.end(), stop):
            return colon.end()
        if colon and data.startswith(value[:2], colon.end(), stop):
            break  # probably the right place with another value; further search takes longer than parsing
    return -1


def skip_gap(data: bytes | bytearray, at: int) -> int:
    """Return the position after the comma and white space at ``at``."""
    gap = _GAP.match(data, at)
    return gap.end() if gap else at
