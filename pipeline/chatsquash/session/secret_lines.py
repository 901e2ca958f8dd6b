"""The lines of a log in which values are that were found in its records."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import BinaryIO

from chatsquash.core import jsonio
from chatsquash.core.log import Log
from chatsquash.reading.sessions import lines_of
from chatsquash.sources.lines import LONGEST, lines

_MOST = 64
"""Values that are looked for in a log; those beyond have the line of their record."""
_WORD = re.compile(r"[A-Za-z0-9_-]{8,}")


def first_lines(values: Iterable[str], log: Log, file: BinaryIO) -> dict[str, int]:
    """The number of the first line with each value; without those that are only there in another form."""
    sought = {value: _needle(value) for value in [*dict.fromkeys(values)][:_MOST]}
    numbers: dict[str, int] = {}
    if log.unit is not None:
        return numbers
    file.seek(0)
    for line in lines(file) if log.spans is None else lines_of(file, log.spans, None, LONGEST):
        for value in [each for each, needle in sought.items() if line.buffer.find(needle, line.start, line.stop) >= 0]:
            numbers[value] = line.number
            del sought[value]
        if not sought:
            break
    return numbers


def _needle(value: str) -> bytes:
    """What a line has that contains a value: of one with signs or breaks its longest word."""
    words = _WORD.findall(value)
    return max(words, key=len).encode() if words else jsonio.dumps(value)[1:-1]
