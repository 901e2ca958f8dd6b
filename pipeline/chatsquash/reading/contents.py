"""What a file holds as a whole: a JSON value, or those of its lines."""

from __future__ import annotations

import os
import re
from io import BytesIO
from typing import Any, BinaryIO, NamedTuple

from msgspec import MsgspecError

from chatsquash.core import jsonio
from chatsquash.core.model import Json, RejectedLine
from chatsquash.formats.base import TurnError
from chatsquash.reading.members import MARK, NUL
from chatsquash.sources.beginnings import read_from_start
from chatsquash.sources.compression import ExpandedFile

LONGEST = 256 << 20
"""Bytes of a file that is looked at; a document is held in memory whole."""
_BROKEN = 10_000
"""Lines that are no JSON, of which a document has no more."""
_SAID = re.compile(rb"\S")
_LONG = 1 << 20
"""Bytes of a line from which on it is weighed before it is parsed."""
_decode = jsonio.decoder(Any).decode


class NoDocumentError(TurnError):
    """Of a file's lines very many are no JSON."""


def is_too_large(file: BinaryIO) -> bool:
    """Whether a file has more bytes than are looked at; of a compressed one that is not known before it is expanded."""
    return not isinstance(file, ExpandedFile) and file.seek(0, os.SEEK_END) > LONGEST


def whole(file: BinaryIO) -> bytes | None:
    """All bytes of a file; ``None`` where these are more than are looked at."""
    if is_too_large(file):
        return None
    data = read_from_start(file, LONGEST + 1)
    if len(data) > LONGEST:
        return None
    return data


class ParsedContent(NamedTuple):
    """The JSON value that a file holds, or those of its lines."""

    objects: list[Json]
    broken: list[RejectedLine]
    """Its lines that are no JSON."""
    lines: list[int]
    """Of each object the line that it begins at, from 1."""


def parse(data: bytes) -> ParsedContent:
    """What a file holds; raises ``NoDocumentError``."""
    if not _has_lines(data):
        try:
            return ParsedContent([jsonio.loads(data.removeprefix(MARK))], [], [1])
        except (ValueError, RecursionError):
            pass
    return _of_lines(data)


def _has_lines(data: bytes) -> bool:
    """Whether the first line is a value and more stands behind it, so that all of it is none."""
    stop = data.find(b"\n")
    if stop < 0 or not _SAID.search(data, stop):
        return False
    try:
        jsonio.loads(data[:stop].removeprefix(MARK))
    except (ValueError, RecursionError):
        return False
    return True


def _of_lines(data: bytes) -> ParsedContent:
    """The values of the lines that are not blank."""
    objects, broken, lines = list[Json](), list[RejectedLine](), list[int]()
    offset = 0
    for number, whole in enumerate(BytesIO(data), 1):
        try:
            objects.append(_decode(whole if len(whole) < _LONG else b""))
            lines.append(number)
        except (MsgspecError, ValueError, RecursionError):
            line = whole.removesuffix(b"\n")
            value = (line if offset else line.removeprefix(MARK)).lstrip(NUL)
            try:
                if value.strip():
                    objects.append(jsonio.loads(value))
                    lines.append(number)
            except (ValueError, RecursionError) as problem:
                broken.append(RejectedLine(number, offset, len(line), "bad-line", _why(problem)))
                if len(broken) > _BROKEN:
                    raise NoDocumentError(f"more than {_BROKEN:,} of its lines are no JSON") from None
        offset += len(whole)
    return ParsedContent(objects, broken, lines)


def _why(problem: ValueError | RecursionError) -> str:
    return f"no JSON: {jsonio.refusal(problem)}" if isinstance(problem, ValueError) else "nested too deeply"
