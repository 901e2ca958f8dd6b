"""The lines of a log in which values are that were found in its records."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import BinaryIO

from chatsquash.core import jsonio
from chatsquash.core.log import Log

_MOST = 64
"""Values that are looked for in a log; those beyond have the line of their record."""
_WORD = re.compile(r"[A-Za-z0-9_-]{8,}")


def first_lines(values: Iterable[str], log: Log, file: BinaryIO) -> dict[str, int]:
    """The number of the first line with each value; without those that are only there in another form."""
    sought = {value: _needle(value) for value in [*dict.fromkeys(values)][:_MOST]}
    lines: dict[str, int] = {}
    if log.unit is not None:
        return lines
    for number, line in _lines(log, file):
        for value in [value for value, needle in sought.items() if needle in line]:
            lines[value] = number
            del sought[value]
        if not sought:
            break
    return lines


def _needle(value: str) -> bytes:
    """What a line has that contains a value: of one with signs or breaks its longest word."""
    words = _WORD.findall(value)
    return max(words, key=len).encode() if words else jsonio.dumps(value)[1:-1]


def _lines(log: Log, file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    file.seek(0)
    if log.spans is None:
        yield from enumerate(file, 1)
        return
    for at in range(0, len(log.spans), 4):
        number, offset, length, _ = log.spans[at : at + 4]
        file.seek(offset)
        yield number, file.read(length)
