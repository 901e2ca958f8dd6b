"""Parse the content of an entire file: one JSON value, or one value per line."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from io import BytesIO
from typing import Any, BinaryIO, NamedTuple

from msgspec import MsgspecError

from chatsquash.core import jsonio
from chatsquash.core.model import Json, RejectedLine
from chatsquash.formats.base import TurnError
from chatsquash.reading.members import BYTE_ORDER_MARK, NUL
from chatsquash.sources.beginnings import read_from_start
from chatsquash.sources.compression import ExpandedFile

LONGEST = 256 << 20
"""The size in bytes of the largest file that is examined; documents are loaded into memory completely."""
_MOST_INVALID = 10_000
"""The number of lines that are not JSON above which a file is not a document."""
_NON_BLANK = re.compile(rb"\S")
_decode = jsonio.decoder(Any).decode


class NoDocumentError(TurnError):
    """Too many lines of a file are not JSON."""


def is_too_large(file: BinaryIO) -> bool:
    """Return whether a file is too large to examine, if that is known without expanding it."""
    return not isinstance(file, ExpandedFile) and file.seek(0, os.SEEK_END) > LONGEST


def read_all(file: BinaryIO) -> bytes | None:
    """Return all bytes of a file, or ``None`` if there are more than ``LONGEST``."""
    if is_too_large(file):
        return None
    data = read_from_start(file, LONGEST + 1)
    if len(data) > LONGEST:
        return None
    return data


class ParsedContent(NamedTuple):
    """The JSON values in a file."""

    objects: list[Json]
    rejected_lines: list[RejectedLine]
    """The lines that are not JSON."""
    lines: list[int]
    """For each object, the number of its first line, counted from 1."""
    line_count: int
    """The number of lines in the file; the last one needs no line feed."""


def parse(data: bytes) -> ParsedContent:
    """Parse the content of a file; may raise ``NoDocumentError``."""
    if not _has_lines(data):
        try:
            value = jsonio.loads(data.removeprefix(BYTE_ORDER_MARK))
            return ParsedContent([value], [], [1], data.count(b"\n") + (not data.endswith(b"\n")))
        except (ValueError, RecursionError):
            pass
    return _of_lines(data)


def _has_lines(data: bytes) -> bool:
    """Return whether the first line is a complete value and more lines follow."""
    stop = data.find(b"\n")
    if stop < 0 or not _NON_BLANK.search(data, stop):
        return False
    try:
        jsonio.loads(data[:stop].removeprefix(BYTE_ORDER_MARK))
    except (ValueError, RecursionError):
        return False
    return True


def _of_lines(data: bytes) -> ParsedContent:
    """Parse the lines that are not blank."""
    objects, rejected, lines = list[Json](), list[RejectedLine](), list[int]()
    decode = _decode if len(data) <= jsonio.LARGE else jsonio.loads  # which checks the memory that a long line needs
    stream = BytesIO(data)
    number = 0
    while True:
        known = len(objects)
        is_complete = _extend(objects, map(decode, stream))
        lines += range(number + 1, number + 1 + len(objects) - known)
        number += len(objects) - known
        if is_complete:
            return ParsedContent(objects, rejected, lines, number)
        number += 1
        stop = stream.tell()
        start = data.rfind(b"\n", 0, stop - 1) + 1
        line = data[start:stop].removesuffix(b"\n")
        value = (line if start else line.removeprefix(BYTE_ORDER_MARK)).lstrip(NUL)
        try:
            if value.strip():
                objects.append(jsonio.loads(value))
                lines.append(number)
        except (ValueError, RecursionError) as problem:
            rejected.append(RejectedLine(number, start, len(line), "bad-line", _why(problem)))
            if len(rejected) > _MOST_INVALID:
                raise NoDocumentError(f"more than {_MOST_INVALID:,} of its lines are not JSON") from None


def _extend(objects: list[Json], values: Iterator[Json]) -> bool:
    """Append values up to the first line that is not JSON, and return whether there is no such line."""
    try:
        objects.extend(values)
    except (MsgspecError, ValueError, RecursionError):
        return False
    return True


def _why(problem: ValueError | RecursionError) -> str:
    return f"not JSON: {jsonio.refusal(problem)}" if isinstance(problem, ValueError) else "nested too deeply"
