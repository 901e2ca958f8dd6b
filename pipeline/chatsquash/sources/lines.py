"""A file's lines, as places in one buffer that is read into again and again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO

from msgspec import Struct

CHUNK = 1 << 19
"""Bytes that are read at once: as many as stay in the cache next to a core until all of their lines are looked at."""
_KEPT = 4 << 20
_NEAR = 1 << 16
"""Bytes behind a line in which the next one is looked for."""
LONGEST = 256 << 20
"""A longer line is passed over: nothing else bounds what one endless line would take."""


class Line(Struct, frozen=True, gc=False):  # made for every line, and made fastest so
    """A line, valid until the next one is asked for."""

    number: int
    """1-based."""
    offset: int
    """Byte offset in the file."""
    length: int
    """Bytes, without the line feed."""
    buffer: bytearray
    """Holds the line from ``start`` to ``stop``; an overlong line is not there."""
    start: int
    stop: int
    size: int
    """Bytes, with the line feed, which the last line may not have."""
    filled: int = 0
    """Where in the buffer what was read so far ends; what stands behind is of no file, or of another one."""


class Buffers:
    """Memory to read into, which one file leaves to the next: fresh memory takes longer to get than to fill."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def take(self) -> bytearray:
        """A buffer that nobody else uses."""
        buffer, self._buffer = self._buffer, bytearray()
        return buffer if len(buffer) >= CHUNK else bytearray(CHUNK)

    def leave(self, buffer: bytearray) -> None:
        """A buffer that is not used any more; one that long lines made large is not kept."""
        if len(buffer) <= _KEPT:
            self._buffer = buffer


def at_hand(first: Line, line: Line) -> int:
    """Where what is read of any file with its first line ends, as far as it is behind a line, but near.

    How much more there is depends on the buffer that another file left, on which nothing may depend.
    """
    return min(line.stop + _NEAR, first.start + CHUNK, line.filled)


def lines(
    file: BinaryIO,
    longest: int = LONGEST,
    read: Callable[[memoryview], object] | None = None,
    room: Buffers | None = None,
) -> Iterator[Line]:
    """Every line of a file opened unbuffered, in the memory of about the longest one.

    ``read`` is given all bytes in turn, to hash them.
    """
    room = room or Buffers()
    buffer = room.take()
    number = start = filled = origin = 0  # origin: where in the file the buffer begins
    passed = 0  # bytes of an overlong line that are gone already
    searched = 0
    feed = 1
    while True:
        stop = buffer.find(b"\n", searched, filled)
        if stop < 0:
            if filled - start > longest:
                passed += filled - start
                start = filled
            origin += start
            buffer, filled = make_room(buffer, start, filled)
            start, searched = 0, filled
            if count := fill(file, buffer, filled, read):
                filled += count
                continue
            if not filled and not passed:
                break
            stop, feed = filled, 0
        number += 1
        length = passed + stop - start
        offset = origin + start - passed
        if passed or length > longest:
            yield Line(number, offset, length, buffer, start, start, length + feed)
        else:
            yield Line(number, offset, length, buffer, start, stop, length + feed, filled)
        passed = 0
        start = searched = stop + 1
        if stop >= filled:
            break
    room.leave(buffer)


def count_lines(file: BinaryIO) -> int:
    """Count the lines of a file; the last one needs no line feed. The file is at its end afterwards."""
    file.seek(0)
    count, last = 0, b"\n"
    while piece := file.read(CHUNK):
        count += piece.count(b"\n")
        last = piece[-1:]
    return count + (last != b"\n")


def fill(file: BinaryIO, buffer: bytearray, start: int, read: Callable[[memoryview], object] | None) -> int:
    """Read the next bytes of a file into a buffer from ``start`` on; returns how many there were."""
    with memoryview(buffer) as view, view[start:] as free:
        count: int = file.readinto(free)  # type: ignore[attr-defined]
        if read and count:
            read(free[:count])
    return count


def make_room(buffer: bytearray, start: int, filled: int) -> tuple[bytearray, int]:
    """Move what is not yet used to the front; a larger buffer where that leaves too little room."""
    rest = buffer[start:filled]
    if len(rest) > len(buffer) // 2:
        buffer = bytearray(2 * len(buffer))
    buffer[: len(rest)] = rest
    return buffer, len(rest)
