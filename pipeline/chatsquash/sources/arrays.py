"""Stream the elements of an array in a JSON file of any size, as raw bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from msgspec import MsgspecError, Raw
from msgspec.json import Decoder

from chatsquash.core.lazy import lazy_compile

_PIECE = 1 << 20
LONGEST = 256 << 20
"""The maximum size of an element in bytes."""
_SPACE = lazy_compile(rb"[ \t\r\n]*+")
_STRING = rb'"(?:[^"\\]++|\\.)*+"'
_BRACKET = lazy_compile(rb'(?:[^"{}\[\]]++|' + _STRING + rb")*+([{}\[\]])?", re.DOTALL)
"""Everything up to and including the next bracket outside strings."""
_TOKEN = lazy_compile(rb"[^\"{}\[\]]*+(?:(" + _STRING + rb")|([{}\[\]]))", re.DOTALL)
_OPEN, _CLOSING = (b"{", b"["), (b"}", b"]")
_BEGINNING = lazy_compile(rb'\{[ \t\r\n]*+"[^"\\]{0,100}+"[ \t\r\n]*+:')
"""The beginning of an object, up to the colon after its first key."""
_NEAR = 4
"""The multiple of the longest element so far within which the end of an element is searched."""
_is_value = Decoder(Raw).decode


class Readable(Protocol):
    """A source of bytes."""

    def read(self, size: int, /) -> bytes:
        """Read at most ``size`` bytes; return empty bytes at the end."""


class Element(NamedTuple):
    """An object or array that is an element of the outer array."""

    offset: int
    """Byte offset in the file."""
    data: bytes


def elements(file: Readable, path: tuple[str, ...] = (), longest: int = LONGEST) -> Iterator[Element]:
    """Yield the objects and arrays in the array at a path of keys; ``()`` is the top-level value.

    Other elements are skipped. The file is read from its current position, using memory for the largest element.

    Raises:
        ValueError: The file has no such array, ends before the array does, or contains an element of more than
            ``longest`` bytes. Elements yielded before that are valid.
    """
    window = _Window(file, longest)
    if not _enter(window, path):
        raise ValueError(f"has no array {'.'.join(path)}" if path else "is not an array")
    number = longest_so_far = 0
    separator: re.Pattern[bytes] | None = None
    while (start := _next_element(window)) is not None:
        number += 1
        window.keep_from(start)
        if not (_guess_end(window, separator, _NEAR * longest_so_far) or _find_end(window)):
            raise ValueError(
                f"ends within element {number:,}" if window.is_ended else f"element {number:,} is too long"
            )
        data = window.element_bytes()
        longest_so_far = max(longest_so_far, len(data))
        separator = separator or _separator(data)
        yield Element(window.offset + window.start, data)
        window.release()


def _separator(element: bytes) -> re.Pattern[bytes] | None:
    """Return a pattern for the boundary between elements, assuming that they all begin like this one."""
    match = _BEGINNING.match(element)
    return re.compile(rb"\}[ \t\r\n]*+,[ \t\r\n]*+" + re.escape(match[0])) if match else None


def _guess_end(window: _Window, separator: re.Pattern[bytes] | None, reach: int) -> bool:
    """Advance past an element by guessing its end; return whether the bytes up to there are valid JSON."""
    if separator is None:
        return False
    while not (match := separator.search(window.data, window.start, window.start + reach)):
        if len(window.data) - window.start >= reach or window.is_ended or not window.read_more():
            return False
    try:
        with memoryview(window.data) as view:
            _is_value(view[window.start : match.start() + 1])
    except (MsgspecError, ValueError, RecursionError):
        return False
    window.at = match.start() + 1
    return True


class _Window:
    """The part of the file that is in memory."""

    def __init__(self, file: Readable, longest: int) -> None:
        self._file, self._longest = file, longest
        self.data = bytearray()
        self.offset = 0
        """Offset of the window in the file."""
        self.at = 0
        """Offset of the next token in the window."""
        self.start = -1
        """Offset of the current element in the window, or -1."""
        self.is_ended = False

    def keep_from(self, at: int) -> None:
        """Keep the data from an offset on and continue there."""
        self.start = self.at = at

    def element_bytes(self) -> bytes:
        """Return the current element, up to the next token."""
        return bytes(self.data[self.start : self.at])

    def release(self) -> None:
        """Discard the current element."""
        self.start = -1

    def read_more(self) -> bool:
        """Read more data and return whether there was any."""
        first = self.at if self.start < 0 else self.start
        if len(self.data) - first > self._longest:
            return False
        del self.data[:first]
        self.offset += first
        self.at -= first
        self.start = min(self.start, 0)
        before = len(self.data)
        # Doubles the window, so that a long element is not scanned quadratically.
        remaining = max(_PIECE, before)
        while remaining > 0 and (piece := self._file.read(remaining)):
            self.data += piece
            remaining -= len(piece)
        self.is_ended = remaining > 0
        return len(self.data) > before

    def next_bracket(self) -> bytes | None:
        """Advance past the next bracket and return it."""
        while True:
            match = _BRACKET.match(self.data, self.at)
            if match and match[1]:
                self.at = match.end()
                return match[1]
            if self.is_ended or not self.read_more():
                return None

    def next_token(self) -> bytes | None:
        """Advance past the next string or bracket and return it."""
        while True:
            match = _TOKEN.match(self.data, self.at)
            if match:
                self.at = match.end()
                return bytes(match[1] or match[2])
            if self.is_ended or not self.read_more():
                return None


def _enter(window: _Window, path: tuple[str, ...]) -> bool:
    """Advance to the first element of the array at a path; return whether the array exists."""
    for name in path:
        if window.next_token() != b"{" or not _enter_member(window, name):
            return False
    return window.next_token() == b"["


def _enter_member(window: _Window, name: str) -> bool:
    """Advance past a key of the object just entered; return whether the key exists."""
    encoded_name = b'"%b"' % name.encode()
    depth = 1
    while depth and (token := window.next_token()) is not None:
        if token in _OPEN:
            depth += 1
        elif token in _CLOSING:
            depth -= 1
        elif depth == 1 and token == encoded_name and _is_name(window):
            return True
    return False


def _is_name(window: _Window) -> bool:
    """Return whether the last string is followed by a colon and is therefore a key."""
    while (match := _SPACE.match(window.data, window.at)) and match.end() == len(window.data):
        if window.is_ended or not window.read_more():
            return False
    return match is not None and window.data[match.end()] == ord(":")


def _next_element(window: _Window) -> int | None:
    """Return the offset of the next element, or ``None`` after the last one."""
    bracket = window.next_bracket()
    if bracket is None:
        raise ValueError("ends before its array does")
    if bracket not in _OPEN:
        return None
    return window.at - 1


def _find_end(window: _Window) -> bool:
    """Advance past the closing bracket of the element; return whether the element is complete."""
    depth = 0
    while bracket := window.next_bracket():
        depth += 1 if bracket in _OPEN else -1
        if depth == 0:
            return True
    return False
