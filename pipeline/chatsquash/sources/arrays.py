"""The elements of an array inside a JSON file of any size, one after the other, as they stand there."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple, Protocol

from msgspec import MsgspecError, Raw
from msgspec.json import Decoder

_PIECE = 1 << 20
LONGEST = 256 << 20
"""Bytes of an element that is read."""
_SPACE = re.compile(rb"[ \t\r\n]*+")
_STRING = rb'"(?:[^"\\]++|\\.)*+"'
_BRACKET = re.compile(rb'(?:[^"{}\[\]]++|' + _STRING + rb")*+([{}\[\]])?", re.DOTALL)
"""Everything up to the next bracket that stands in no string, and that bracket."""
_TOKEN = re.compile(rb"[^\"{}\[\]]*+(?:(" + _STRING + rb")|([{}\[\]]))", re.DOTALL)
_OPEN, _CLOSING = (b"{", b"["), (b"}", b"]")
_BEGINNING = re.compile(rb'\{[ \t\r\n]*+"[^"\\]{0,100}+"[ \t\r\n]*+:')
"""What an object begins with: its first name."""
_NEAR = 4
"""Of the longest element so far, how many times as far the end of the next one is guessed."""
_is_value = Decoder(Raw).decode


class Readable(Protocol):
    """What gives bytes."""

    def read(self, size: int, /) -> bytes:
        """So many bytes at most; none at the end."""


class Element(NamedTuple):
    """An object or an array in the array that is read."""

    offset: int
    """Where it begins in the file, in bytes."""
    data: bytes


def elements(file: Readable, path: tuple[str, ...] = (), longest: int = LONGEST) -> Iterator[Element]:
    """The objects and arrays in the array to which the names of members lead; ``()`` is the file's value itself.

    What is neither is passed over.  The file is read from where it stands, in the memory of the largest element.
    Raises ``ValueError`` for a file that has no such array, that ends before the array does, or in which an element
    has more than ``longest`` bytes; what was given before counts.
    """
    window = _Window(file, longest)
    if not _enter(window, path):
        raise ValueError(f"has no array {'.'.join(path)}" if path else "is not an array")
    number = longest_yet = 0
    between: re.Pattern[bytes] | None = None
    while (start := _next_element(window)) is not None:
        number += 1
        window.hold(start)
        if not (_guess(window, between, _NEAR * longest_yet) or _close(window)):
            raise ValueError(
                f"ends within element {number:,}" if window.is_ended else f"element {number:,} is too long"
            )
        data = window.next_bytes()
        longest_yet = max(longest_yet, len(data))
        between = between or _between(data)
        yield Element(window.offset + window.start, data)
        window.release()


def _between(element: bytes) -> re.Pattern[bytes] | None:
    """What the end of an element and the beginning of the next one may look like, if all begin as this one does."""
    begun = _BEGINNING.match(element)
    return re.compile(rb"\}[ \t\r\n]*+,[ \t\r\n]*+" + re.escape(begun[0])) if begun else None


def _guess(window: _Window, between: re.Pattern[bytes] | None, reach: int) -> bool:
    """Go behind an element whose end is guessed, where what stands up to there is a value: then it is the element."""
    if between is None:
        return False
    while not (match := between.search(window.data, window.start, window.start + reach)):
        if len(window.data) - window.start >= reach or window.is_ended or not window.more():
            return False
    try:
        with memoryview(window.data) as view:
            _is_value(view[window.start : match.start() + 1])
    except (MsgspecError, ValueError, RecursionError):
        return False
    window.at = match.start() + 1
    return True


class _Window:
    """The part of a file that is looked at."""

    def __init__(self, file: Readable, longest: int) -> None:
        self._file, self._longest = file, longest
        self.data = bytearray()
        self.offset = 0
        """Where the window begins in the file."""
        self.at = 0
        """Where the next token begins in the window."""
        self.start = -1
        """Where the element begins that is kept; -1 where none is."""
        self.is_ended = False

    def hold(self, at: int) -> None:
        """Keep what stands from a place on, where the next token begins."""
        self.start = self.at = at

    def next_bytes(self) -> bytes:
        """What is kept, up to the next token."""
        return bytes(self.data[self.start : self.at])

    def release(self) -> None:
        """Keep nothing before the next token."""
        self.start = -1

    def more(self) -> bool:
        """Read on, as much as is there already, so that nothing is looked at often; whether anything came."""
        kept = self.at if self.start < 0 else self.start
        if len(self.data) - kept > self._longest:
            return False
        del self.data[:kept]
        self.offset += kept
        self.at -= kept
        self.start = min(self.start, 0)
        before = len(self.data)
        wanted = max(_PIECE, before)
        while wanted > 0 and (piece := self._file.read(wanted)):
            self.data += piece
            wanted -= len(piece)
        self.is_ended = wanted > 0
        return len(self.data) > before

    def bracket(self) -> bytes | None:
        """Go behind the next bracket."""
        while True:
            match = _BRACKET.match(self.data, self.at)
            if match and match[1]:
                self.at = match.end()
                return match[1]
            if self.is_ended or not self.more():
                return None

    def token(self) -> bytes | None:
        """Go behind the next string or bracket."""
        while True:
            match = _TOKEN.match(self.data, self.at)
            if match:
                self.at = match.end()
                return bytes(match[1] or match[2])
            if self.is_ended or not self.more():
                return None


def _enter(window: _Window, path: tuple[str, ...]) -> bool:
    """Go behind the bracket with which the array begins."""
    for name in path:
        if window.token() != b"{" or not _member(window, name):
            return False
    return window.token() == b"["


def _member(window: _Window, name: str) -> bool:
    """Go behind the name of a member of the object that was just entered."""
    spelled = b'"%b"' % name.encode()
    depth = 1
    while depth and (token := window.token()) is not None:
        if token in _OPEN:
            depth += 1
        elif token in _CLOSING:
            depth -= 1
        elif depth == 1 and token == spelled and _is_name(window):
            return True
    return False


def _is_name(window: _Window) -> bool:
    """Whether a string that was just passed is the name of a member."""
    while (behind := _SPACE.match(window.data, window.at)) and behind.end() == len(window.data):
        if window.is_ended or not window.more():
            return False
    return behind is not None and window.data[behind.end()] == ord(":")


def _next_element(window: _Window) -> int | None:
    """Where the next element begins; ``None`` behind the last one."""
    bracket = window.bracket()
    if bracket is None:
        raise ValueError("ends before its array does")
    if bracket not in _OPEN:
        return None
    return window.at - 1


def _close(window: _Window) -> bool:
    """Go behind the bracket with which the element ends; whether it is there."""
    depth = 0
    while bracket := window.bracket():
        depth += 1 if bracket in _OPEN else -1
        if depth == 0:
            return True
    return False
