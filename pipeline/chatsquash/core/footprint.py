"""Estimate from its bytes, without parsing it, how much memory JSON takes once parsed."""

from __future__ import annotations

from chatsquash.core import platform
from chatsquash.core.lazy import lazy_compile

MOST = 2_000_000_000
"""The default memory limit for one parsed value, in bytes."""
FACTOR = 64
"""The maximum number of bytes of memory per byte of JSON, which nested objects reach."""
_LIST, _NON_EMPTY_LIST, _OBJECT, _NON_EMPTY_OBJECT = 72, 32, 76, 128
_SCALAR, _KEY, _TEXT, _ROUNDED = 40, 40, 64, 450
"""Bytes per value in CPython 3.11 to 3.14, including its slot in the enclosing list or object, rounded up."""
_WINDOW = 1 << 18
_LONG_NUMBER = lazy_compile(rb"[-+.0-9Ee]{17,}")
_CONTINUATION_BYTES = bytes(range(0x80, 0xC0))
"""The UTF-8 bytes that continue a character."""
_SPARE = 4
"""The memory needed while a value is converted, as a multiple of its size; used if the process has a memory limit."""


def exceeds(data: bytes | bytearray | str, most: int) -> bool:
    """Return whether JSON takes more than ``most`` bytes of memory when parsed."""
    if len(data) * FACTOR <= most:
        return False
    data = data.encode("utf-8", "surrogatepass") if isinstance(data, str) else data
    return _roughly(data) > most and weigh(data) > most


def require_memory(data: bytes | bytearray) -> None:
    """Raise ``MemoryError`` if parsing JSON might exceed the memory limit of this process."""
    # Checked before parsing, because parsers and encoders written in C may crash when memory runs out.
    available = platform.available_memory()
    if (
        available is not None
        and len(data) * FACTOR * _SPARE > available
        and weigh(data) * _SPARE + 16 * len(data) > available
    ):
        raise MemoryError


def refusal(most: int) -> str:
    """Return why JSON that exceeds a limit is not parsed."""
    return f"parsing it would take more than {most:,} bytes of memory (--max-memory)"


def _roughly(data: bytes | bytearray) -> int:
    """Return an upper bound of ``weigh``, ten times as fast."""
    # Characters in strings are counted as if they were outside.
    lists, objects = data.count(b"["), data.count(b"{")
    containers = lists * (_LIST + _NON_EMPTY_LIST + _SCALAR) + objects * (_OBJECT + _NON_EMPTY_OBJECT + _SCALAR)
    others = data.count(b",") * _SCALAR + data.count(b":") * _KEY + data.count(b".") * _ROUNDED
    return containers + others + data.count(b'"') * _TEXT // 2 + 4 * len(data)


def weigh(data: bytes | bytearray) -> int:
    """Estimate the memory in bytes that JSON takes when parsed, from its brackets, commas, colons and strings.

    The estimate is hardly ever too low.
    """
    weights = _Weights()
    at = 0
    while at < len(data):
        stop = min(at + _WINDOW, len(data))
        while stop < len(data) and data[stop - 1] == ord("\\"):  # never split an escape
            stop += 1
        weights.add(bytes(data[at:stop]))
        at = stop
    return weights.total()


class _Weights:
    """Counts JSON values outside strings and the characters within strings."""

    def __init__(self) -> None:
        self._containers = self._commas = self._colons = self._non_empty = 0
        self._memory = self._texts = 0
        self._inside = 0
        self._length, self._width = 0, 1  # of the open string

    def add(self, window: bytes) -> None:
        """Count the next bytes, which must not end within an escape."""
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
        """Return the estimate for all bytes counted so far."""
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
        """Count the characters of the open string."""
        if _is_narrow(piece):
            self._length += len(piece)
            return
        astral = max(piece, default=0) >= 0xF0 or b"\\ud8" in piece.lower()
        self._length += len(piece.translate(None, _CONTINUATION_BYTES))
        self._width = max(self._width, 4 if astral else 2)

    def _close(self) -> None:
        """Count the open string at its end."""
        self._texts += 1
        self._memory += self._length * self._width
        self._length, self._width = 0, 1


def _is_narrow(text: bytes) -> bool:
    """Return whether each character takes one byte in memory."""
    return text.isascii() and b"\\u" not in text
