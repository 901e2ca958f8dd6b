"""Find the lines of a log that contain secrets detected in its records."""

from __future__ import annotations

from collections.abc import Iterable
from typing import BinaryIO

from chatsquash.core import jsonio
from chatsquash.core.lazy import lazy_compile
from chatsquash.core.log import Log
from chatsquash.reading.sessions import lines_of
from chatsquash.sources.lines import LONGEST, lines

_MAX_VALUES = 64
"""The maximum number of values searched for in a log; other values are reported at the line of their record."""
_WORD = lazy_compile(r"[A-Za-z0-9_-]{8,}")


def first_lines(values: Iterable[str], log: Log, file: BinaryIO) -> dict[str, int]:
    """Return the first line that contains each value; values that occur only in another encoding are absent."""
    needles = {value: _needle(value) for value in [*dict.fromkeys(values)][:_MAX_VALUES]}
    numbers: dict[str, int] = {}
    # A session in a database has no lines.
    if log.unit is not None:
        return numbers
    file.seek(0)
    for line in lines(file) if log.spans is None else lines_of(file, log.spans, None, LONGEST):
        for value in [each for each, needle in needles.items() if line.buffer.find(needle, line.start, line.stop) >= 0]:
            numbers[value] = line.number
            del needles[value]
        if not needles:
            break
    return numbers


def _needle(value: str) -> bytes:
    """Return the bytes to search for: the longest word of a value, if it has one."""
    # The log may escape punctuation and line breaks.
    words = _WORD.findall(value)
    return max(words, key=len).encode() if words else jsonio.dumps(value)[1:-1]
