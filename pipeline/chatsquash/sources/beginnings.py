"""What a file begins with, as JSON that is whole although the file goes on: by it is told what the file is."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import BinaryIO

from chatsquash.core import footprint, jsonio

MOST = 4 << 20
"""Bytes of a file by which it is told."""
_MEMORY = 32 << 20
"""Bytes of memory that these may take once they are parsed: of very many small values fewer tell as much."""
_TOKENS = re.compile(rb'"(?:[^"\\]++|\\.)*+("?)|[\[\]{}]', re.DOTALL)
_CLOSING = {b"[": b"]", b"{": b"}"}
_SPACE = b" \t\r\n"
_NONE = object()
_HALF = re.compile(rb"(?<!\\)((?:\\\\)*)\\u[0-9a-fA-F]{0,3}\Z|[\xc0-\xff][\x80-\xbf]{0,2}\Z")
"""An escape or a character that may be cut in two."""


def beginning(file: BinaryIO, memory: int = footprint.MOST) -> bytes:
    """At most ``MOST`` bytes of a file, fewer where these would take more memory once they are parsed.

    Where the file goes on they are made whole: lines end with the last whole one, a value that is cut is closed.  The
    file is read from its beginning.
    """
    data = read_from_start(file, MOST + 1)
    most = MOST
    while most > 1 and not _fits(data[:most], min(memory, _MEMORY)):
        most = min(most, len(data)) // 2
    return data if len(data) <= most else complete(data[:most])


def read(file: BinaryIO, most: int) -> bytes:
    """So many bytes; an unbuffered file may give less at a time than was asked for."""
    pieces = []
    while most > 0 and (piece := file.read(min(most, 1 << 20))):
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)


class Beginning:
    """The bytes of an open file that are read while it is identified, so that none is read or hashed twice."""

    def __init__(self, file: BinaryIO, hashed: Callable[[memoryview], object] | None) -> None:
        self.file, self.data = file, b""
        self.size = 0
        """Bytes that were hashed."""
        self._hashed = hashed
        self._position = 0
        self._is_open = True

    def pass_on(self, data: memoryview) -> None:
        """Hash the next bytes of the file in order, except those that were hashed before."""
        before, self._position = self._position, self._position + len(data)
        if self._is_open and len(self.data) == before <= MOST:
            self.data += data
        self._hash(data, before)

    def extend(self, data: bytes) -> None:
        """Hash bytes from the start of the file, and remember them if they are few."""
        if len(self.data) < len(data) <= 2 * MOST:
            self.data = data
        self._hash(memoryview(data), 0)

    def close(self) -> None:
        """Forget the bytes once the format is known."""
        self.data, self._is_open = b"", False

    def _hash(self, data: memoryview, offset: int) -> None:
        stop = offset + len(data)
        if stop > self.size:
            if self._hashed:
                self._hashed(data[self.size - offset :])
            self.size = stop


_open: Beginning | None = None
"""That of the file that is being identified."""


@contextmanager
def identifying(beginning: Beginning | None) -> Iterator[None]:
    """Remember the beginning of a file as long as its format is not known."""
    global _open  # noqa: PLW0603 - one of a process
    before, _open = _open, beginning
    try:
        yield
    finally:
        _open = before
        if beginning:
            beginning.close()


def may_be_remembered(file: BinaryIO) -> bool:
    """Whether a file is a plain one on a disk, which gives the same bytes in whatever pieces it is read."""
    return type(file) is io.FileIO


def has_read(file: BinaryIO, size: int) -> bool:
    """Whether so many bytes, from the start of the file that is being identified, were read and hashed."""
    return _open is not None and _open.file is file and _open.size == size


def read_from_start(file: BinaryIO, most: int, read: Callable[[BinaryIO, int], bytes] = read) -> bytes:
    """So many bytes from the start of a file, of which those that are remembered are not read again."""
    known = _open if _open and _open.file is file else None
    data = known.data[:most] if known else b""
    file.seek(len(data))
    if len(data) < most:
        more = read(file, most - len(data))
        data = data + more if data else more
    if known:
        known.extend(data)
    return data


def _fits(data: bytes, memory: int) -> bool:
    try:
        footprint.require_memory(data)
    except MemoryError:
        return False
    return not footprint.exceeds(data, memory)


def complete(data: bytes) -> bytes:
    """Text that is cut, without the line that is not whole; or, where not even the first one is, closed."""
    first, feed, _ = data.lstrip(_SPACE).partition(b"\n")
    if feed and jsonio.value(first.removeprefix(b"\xef\xbb\xbf"), _NONE) is not _NONE:
        return data[: data.rindex(b"\n") + 1]
    return _close(data)


def _close(data: bytes) -> bytes:
    """A JSON value that is cut, up to its last whole member or element; its last string counts as far as it goes."""
    open_: list[bytes] = []
    start = stop = 0
    is_text = is_whole = False
    for token in _TOKENS.finditer(data):
        start, stop = token.span()
        first = data[start : start + 1]
        is_text, is_whole = first == b'"', bool(token[1])
        if first in _CLOSING:
            open_.append(_CLOSING[first])
        elif open_ and not is_text:
            open_.pop()
    closing = b"".join(reversed(open_))
    comma = data.rfind(b",", stop)
    if comma >= 0:
        return data[:comma] + closing
    before = data[:start].rstrip(_SPACE)
    if is_text and open_[-1:] == [b"}"] and not before.endswith(b":"):  # a name whose value is not there
        return before.removesuffix(b",") + closing
    if is_text and not is_whole:
        return _HALF.sub(rb"\1", data[:stop]) + b'"' + closing
    return data[:stop] + closing
