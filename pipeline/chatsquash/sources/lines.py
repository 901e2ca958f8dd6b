"""Iterate over the lines of a file as positions in one reused buffer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO

from msgspec import Struct

CHUNK = 1 << 19
"""The number of bytes per read: few enough to stay in a core's cache until all their lines are processed."""
_LOOKAHEAD = 1 << 16
"""The number of bytes after a line in which the next lines are examined."""
# Longer lines are skipped, because an endless line would exhaust the memory.
LONGEST = 256 << 20
"""The maximum length of a line in bytes."""


class Line(Struct, frozen=True, gc=False):  # the fastest type to create, once per line
    """A line, valid until the next one is read."""

    number: int
    """The 1-based line number."""
    offset: int
    """The byte offset in the file."""
    length: int
    """The length in bytes, without the line feed."""
    buffer: bytearray
    """The buffer that contains the line from ``start`` to ``stop``, unless the line is too long."""
    start: int
    stop: int
    size: int
    """The length in bytes with the line feed, which the last line may not have."""
    read_end: int = 0
    """The end of the data in the buffer; later bytes are leftovers, possibly of another file."""


class Buffers:
    """A buffer that is passed from one file to the next."""

    def __init__(self) -> None:
        # Allocating memory takes longer than filling it.
        self._buffer = bytearray()

    def take(self) -> bytearray:
        """Return a buffer for exclusive use."""
        buffer, self._buffer = self._buffer, bytearray()
        return buffer if len(buffer) >= CHUNK else bytearray(CHUNK)

    def give_back(self, buffer: bytearray) -> None:
        """Return a buffer for reuse; a buffer that grew for long lines is discarded."""
        if len(buffer) == CHUNK:
            self._buffer = buffer


def lookahead_end(first: Line, line: Line) -> int:
    """Return the end of the data after a line that may be examined ahead of time."""
    # Limited, because the buffer may have grown for a longer line, and results must not depend on that.
    return min(line.stop + _LOOKAHEAD, first.start + CHUNK, line.read_end)


def lines(
    file: BinaryIO,
    longest: int = LONGEST,
    read: Callable[[memoryview], object] | None = None,
    buffers: Buffers | None = None,
) -> Iterator[Line]:
    """Yield the lines of an unbuffered file, using about as much memory as the longest one.

    ``read`` receives all bytes in order, for hashing.
    """
    buffers = buffers or Buffers()
    buffer = buffers.take()
    number = start = read_end = origin = 0  # origin: offset of the buffer in the file
    skipped = 0  # bytes of an overlong line that were discarded
    search_from = 0
    feed = 1
    while True:
        stop = buffer.find(b"\n", search_from, read_end)
        if stop < 0:
            if read_end - start > longest:
                skipped += read_end - start
                start = read_end
            origin += start
            buffer, read_end = make_room(buffer, start, read_end)
            start, search_from = 0, read_end
            if count := fill(file, buffer, read_end, read):
                read_end += count
                continue
            if not read_end and not skipped:
                break
            stop, feed = read_end, 0
        number += 1
        length = skipped + stop - start
        offset = origin + start - skipped
        if skipped or length > longest:
            yield Line(number, offset, length, buffer, start, start, length + feed)
        else:
            yield Line(number, offset, length, buffer, start, stop, length + feed, read_end)
        skipped = 0
        start = search_from = stop + 1
        if stop >= read_end:
            break
    buffers.give_back(buffer)


def count_lines(file: BinaryIO) -> int:
    """Return the number of lines in a file, of which the last one may have no line feed.

    The position is then at the end of the file.
    """
    file.seek(0)
    count, last = 0, b"\n"
    while piece := file.read(CHUNK):
        count += piece.count(b"\n")
        last = piece[-1:]
    return count + (last != b"\n")


def fill(file: BinaryIO, buffer: bytearray, start: int, read: Callable[[memoryview], object] | None) -> int:
    """Read the next bytes of a file into a buffer from ``start`` on and return their number."""
    with memoryview(buffer) as view, view[start:] as free:
        count: int = file.readinto(free)  # type: ignore[attr-defined]
        if read and count:
            read(free[:count])
    return count


def make_room(buffer: bytearray, start: int, read_end: int) -> tuple[bytearray, int]:
    """Move unprocessed data to the front of the buffer, or to a larger buffer if the data fills more than half."""
    rest = buffer[start:read_end]
    if len(rest) > len(buffer) // 2:
        buffer = bytearray(2 * len(buffer))
    buffer[: len(rest)] = rest
    return buffer, len(rest)
