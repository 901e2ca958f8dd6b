"""Read the beginning of a file to detect its format, completed to valid JSON if it is truncated."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Callable
from typing import BinaryIO

from chatsquash.core import footprint, jsonio
from chatsquash.core.lazy import lazy_compile

MOST = 4 << 20
"""The maximum number of bytes to read for detecting a format."""
_MEMORY = 32 << 20
"""The memory in bytes that the parsed beginning may take; less is read of files with very many small values."""
_TOKENS = lazy_compile(rb'"(?:[^"\\]++|\\.)*+("?)|[\[\]{}]', re.DOTALL)
_CLOSING = {b"[": b"]", b"{": b"}"}
_SPACE = b" \t\r\n"
_NONE = object()
_PIECE, _MANY = 1 << 20, 16
_PARTIAL_CHARACTER = lazy_compile(rb"(?<!\\)((?:\\\\)*)\\u[0-9a-fA-F]{0,3}\Z|[\xc0-\xff][\x80-\xbf]{0,2}\Z")
"""An escape sequence or a UTF-8 character that may be truncated."""
_LONGEST_ESCAPE = len(rb"\u00e")
"""The length of the longest truncated escape sequence."""


def beginning(file: BinaryIO, memory: int = footprint.MOST) -> bytes:
    """Return at most ``MOST`` bytes of a file, trimmed like ``trim``; the file is read from its start."""
    return trim(read_from_start(file, MOST + 1), memory, MOST)


def trim(data: bytes, memory: int, most: int) -> bytes:
    """Return at most ``most`` bytes of a file's first bytes, fewer if parsing these would take too much memory.

    If the file continues, the result is made valid: an incomplete last line is dropped, and an incomplete JSON value is
    closed.
    """
    while most > 1 and not _fits(data[:most], min(memory, _MEMORY)):
        most = min(most, len(data)) // 2
    return data if len(data) <= most else complete(data[:most])


def read(file: BinaryIO, most: int) -> bytes:
    """Read ``most`` bytes of a file; return fewer only at the end."""
    # A single read of an unbuffered file may return fewer bytes than requested; one piece needs no copy.
    pieces = []
    while most > 0 and (piece := file.read(min(most, max(_PIECE, _remaining(file))))):
        pieces.append(piece)
        most -= len(piece)
    return b"".join(pieces)


def _remaining(file: BinaryIO) -> int:
    """Return the number of bytes in a regular file after its position, or 0 for other files."""
    return max(0, os.fstat(file.fileno()).st_size - file.tell()) if may_be_remembered(file) else 0


class Beginning:
    """The bytes read from a file while its format is detected; none is hashed twice, and hardly any is read twice."""

    def __init__(self, file: BinaryIO, hashed: Callable[[memoryview], object] | None) -> None:
        self.file, self.data = file, b""
        self.size = 0
        """The number of bytes hashed so far."""
        self._hashed = hashed
        self._position = 0
        self._before: Beginning | None = None

    def pass_on(self, data: memoryview) -> None:
        """Hash the next bytes of the file, except those that were already hashed."""
        before, self._position = self._position, self._position + len(data)
        self._hash(data, before)

    def extend(self, data: bytes) -> None:
        """Hash bytes from the start of the file, and keep them if they are few."""
        if len(self.data) < len(data) <= 2 * MOST:
            self.data = data
        self._hash(memoryview(data), 0)

    def __enter__(self) -> None:
        """Keep the bytes while the format is detected."""
        global _open
        self._before, _open = _open, self

    def __exit__(self, *_: object) -> None:
        """Discard the bytes once the format is known."""
        global _open  # noqa: PLW0603 - only one per process
        _open = self._before
        self.data = b""

    def _hash(self, data: memoryview, offset: int) -> None:
        stop = offset + len(data)
        if stop > self.size:
            if self._hashed:
                self._hashed(data[self.size - offset :])
            self.size = stop


def keep(file: BinaryIO, data: memoryview) -> None:
    """Keep the first bytes of a file, which have been read, until its format is known."""
    if _open and _open.file is file:
        _open.data = bytes(data[: 2 * MOST])


def discard(file: BinaryIO) -> None:
    """Discard the bytes kept of a file whose format is known; they may be as many as its content."""
    if _open and _open.file is file:
        _open.data = b""


_open: Beginning | None = None
"""The beginning of the file whose format is being detected."""


def may_be_remembered(file: BinaryIO) -> bool:
    """Return whether a file is a regular file on disk, whose bytes do not depend on how it is read."""
    return type(file) is io.FileIO


def has_read(file: BinaryIO, size: int) -> bool:
    """Return whether the first ``size`` bytes of the file being identified were read and hashed."""
    return _open is not None and _open.file is file and _open.size == size


def read_from_start(file: BinaryIO, most: int, read: Callable[[BinaryIO, int], bytes] = read) -> bytes:
    """Read bytes from the start of a file, reusing those that were kept."""
    known = _open if _open and _open.file is file else None
    data = known.data[:most] if known else b""
    file.seek(len(data))
    if data and most > len(data) and _remaining(file) > _MANY * len(data):
        # Reading these few bytes again needs less memory than joining them with many.
        data = b""
        file.seek(0)
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
    """Drop the incomplete last line of truncated text; if even the first line is incomplete, close its JSON value."""
    first, feed, _ = data.lstrip(_SPACE).partition(b"\n")
    if feed and jsonio.value(first.removeprefix(b"\xef\xbb\xbf"), _NONE) is not _NONE:
        return data[: data.rindex(b"\n") + 1]
    return _close(data)


def _close(data: bytes) -> bytes:
    """Close a truncated JSON value after its last complete member or element; a truncated last string is kept."""
    closing_brackets: list[bytes] = []
    start = stop = 0
    is_string = is_terminated = False
    for token in _TOKENS.finditer(data):
        start, stop = token.span()
        first = data[start : start + 1]
        is_string, is_terminated = first == b'"', bool(token[1])
        if first in _CLOSING:
            closing_brackets.append(_CLOSING[first])
        elif closing_brackets and not is_string:
            closing_brackets.pop()
    closing = b"".join(reversed(closing_brackets))
    comma = data.rfind(b",", stop)
    if comma >= 0:
        return data[:comma] + closing
    before = data[:start].rstrip(_SPACE)
    if is_string and closing_brackets[-1:] == [b"}"] and not before.endswith(b":"):  # a name without its value
        return before.removesuffix(b",") + closing
    if is_string and not is_terminated:
        text = data[:stop]
        end = len(text[:-_LONGEST_ESCAPE].rstrip(b"\\"))  # the pattern would be tried at each byte
        return text[:end] + _PARTIAL_CHARACTER.sub(rb"\1", text[end:]) + b'"' + closing
    return data[:stop] + closing
