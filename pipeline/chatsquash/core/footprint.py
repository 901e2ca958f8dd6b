"""How much memory the parsed form of JSON takes, told from its bytes before it is parsed."""

from __future__ import annotations

import re

from chatsquash.core import platform

MOST = 2_000_000_000
"""Bytes that nothing parsed takes more of, unless an option says otherwise."""
FACTOR = 64
"""Bytes of memory that a byte of JSON takes at most; it is objects in objects that take as many."""
_LIST, _NON_EMPTY_LIST, _OBJECT, _NON_EMPTY_OBJECT = 72, 32, 76, 128
_SCALAR, _KEY, _TEXT, _ROUNDED = 40, 40, 64, 450
"""Bytes that CPython 3.11 to 3.14 take, each with its place in the list or object around it, rounded up."""
_WINDOW = 1 << 18
_LONG_NUMBER = re.compile(rb"[-+.0-9Ee]{17,}")
_CONTINUATION_BYTES = bytes(range(0x80, 0xC0))
"""Bytes of UTF-8 that are no beginning of a character."""
_SPARE = 4
"""How many times its memory a value takes while it becomes a record; it counts where a process has a limit."""


def exceeds(data: bytes | bytearray | str, most: int) -> bool:
    """Whether the parsed form of a text takes more memory than so much."""
    if len(data) * FACTOR <= most:
        return False
    data = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    return _roughly(data) > most and weigh(data) > most


def require_memory(data: bytes | bytearray) -> None:
    """Raise ``MemoryError`` before a text is parsed for which this process may not take enough memory.

    Parsers and encoders written in C may not survive the lack of it.
    """
    available = platform.available_memory()
    if (
        available is not None
        and len(data) * FACTOR * _SPARE > available
        and weigh(data) * _SPARE + 16 * len(data) > available
    ):
        raise MemoryError


def refusal(most: int) -> str:
    """Why a text is not parsed that ``exceeds`` so much."""
    return f"parsed it would take more than the {most:,} bytes of memory that are allowed (--max-memory)"


def _roughly(data: bytes | bytearray) -> int:
    """At least what ``weigh`` gives, in a tenth of the time: what stands in strings counts as if it stood outside."""
    lists, objects = data.count(b"["), data.count(b"{")
    containers = lists * (_LIST + _NON_EMPTY_LIST + _SCALAR) + objects * (_OBJECT + _NON_EMPTY_OBJECT + _SCALAR)
    others = data.count(b",") * _SCALAR + data.count(b":") * _KEY + data.count(b".") * _ROUNDED
    return containers + others + data.count(b'"') * _TEXT // 2 + 4 * len(data)


def weigh(data: bytes | bytearray) -> int:
    """About as many bytes as the parsed form takes, and hardly less: by its brackets, commas, colons and strings."""
    weights = _Weights()
    at = 0
    while at < len(data):
        stop = min(at + _WINDOW, len(data))
        while stop < len(data) and data[stop - 1] == ord("\\"):  # an escape stays whole
            stop += 1
        weights.add(bytes(data[at:stop]))
        at = stop
    return weights.total()


class _Weights:
    """Counts what stands outside of strings, and the characters within them."""

    def __init__(self) -> None:
        self._containers = self._commas = self._colons = self._non_empty = 0
        self._memory = self._texts = 0
        self._inside = 0
        self._length, self._width = 0, 1  # of the string that is open

    def add(self, window: bytes) -> None:
        """The next bytes, which end within no escape."""
        pieces = window.replace(rb"\\", b"xx").replace(rb"\"", b"xx").split(b'"')
        self._outside(b"".join(pieces[self._inside :: 2]))
        texts = pieces[1 - self._inside :: 2]
        if self._inside:
            self._within(texts.pop(0))
            if len(pieces) == 1:
                return
            self._close()
        self._inside ^= (len(pieces) - 1) & 1
        last = texts.pop() if self._inside and texts else None
        self._texts += len(texts)
        joined_texts = b"".join(texts)
        if _is_narrow(joined_texts):
            self._memory += len(joined_texts)
        else:
            for text in texts:
                self._within(text)
                self._close()
            self._texts -= len(texts)
        if last is not None:
            self._within(last)

    def total(self) -> int:
        """What all of it takes."""
        values = self._commas + self._non_empty
        scalars = max(0, values - max(0, self._containers - 1) - max(0, self._texts - self._colons)) + 1
        overhead = scalars * _SCALAR + self._colons * _KEY + self._texts * _TEXT
        return self._memory + overhead + self._length * self._width

    def _outside(self, text: bytes) -> None:
        lists, objects = text.count(b"["), text.count(b"{")
        non_empty_lists, non_empty_objects = lists - text.count(b"[]"), objects - text.count(b"{}")
        self._containers += lists + objects
        self._non_empty += non_empty_lists + non_empty_objects
        self._commas += text.count(b",")
        self._colons += text.count(b":")
        self._memory += lists * _LIST + objects * _OBJECT
        self._memory += non_empty_lists * _NON_EMPTY_LIST + non_empty_objects * _NON_EMPTY_OBJECT
        if b"." in text or b"e" in text.lower():
            self._memory += _ROUNDED * len(_LONG_NUMBER.findall(text))

    def _within(self, piece: bytes) -> None:
        """Characters of the string that is open."""
        if _is_narrow(piece):
            self._length += len(piece)
            return
        astral = max(piece, default=0) >= 0xF0 or b"\\ud8" in piece.lower()
        self._length += len(piece.translate(None, _CONTINUATION_BYTES))
        self._width = max(self._width, 4 if astral else 2)

    def _close(self) -> None:
        """The string that is open ends."""
        self._texts += 1
        self._memory += self._length * self._width
        self._length, self._width = 0, 1


def _is_narrow(text: bytes) -> bool:
    """Whether characters take a byte each."""
    return text.isascii() and b"\\u" not in text
