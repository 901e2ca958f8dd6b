"""What a file holds as a whole: a JSON value, those of its lines, or the rows of a database."""

from __future__ import annotations

import os
import re
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from msgspec import MsgspecError

from chatsquash import jsonio
from chatsquash.formats import documents
from chatsquash.formats.base import TurnError
from chatsquash.model import Json, Rejected
from chatsquash.options import Options
from chatsquash.sources import relatives
from chatsquash.sources.beginnings import read
from chatsquash.sources.compression import Expanded
from chatsquash.sources.open import raw

LONGEST = 256 << 20
"""Bytes of a file that is looked at; a document is held in memory whole."""
MARK = b"\xef\xbb\xbf"
"""The byte order mark, which some editors put before a text."""
DATABASE = b"SQLite format 3\0"
"""What a database begins with."""
_BROKEN = 10_000
"""Lines that are no JSON, of which a document has no more."""
_DEFAULTS = Options()
_SAID = re.compile(rb"\S")
_LONG = 1 << 20
"""Bytes of a line from which on it is weighed before it is parsed."""
_decode = jsonio.decoder(Any).decode


class NoDocumentError(TurnError):
    """Of a file's lines very many are no JSON."""


def is_too_large(file: BinaryIO) -> bool:
    """Whether a file has more bytes than are looked at; of a compressed one that is not known before it is expanded."""
    return not isinstance(file, Expanded) and file.seek(0, os.SEEK_END) > LONGEST


def whole(file: BinaryIO) -> bytes | None:
    """All bytes of a file; ``None`` where these are more than are looked at.

    Raises ``TurnError`` for a database that has changes which are not in its file yet.
    """
    if is_too_large(file):
        return None
    file.seek(0)
    data = read(file, LONGEST + 1)
    if len(data) > LONGEST:
        return None
    name = getattr(file, "name", "")
    if isinstance(name, str):
        refuse_unsaved(data, name)
    return data


def refuse_unsaved(data: bytes, path: str) -> None:
    """Raise ``TurnError`` for a database that has changes which are not in its file yet."""
    if not data.startswith(DATABASE):
        return
    log, journal = Path(f"{path}-wal"), Path(f"{path}-journal")
    if relatives.size_of(f"{path}-wal"):
        raise TurnError(f"is a database with changes that are only in {log.name}: end the program that writes it")
    if relatives.size_of(f"{path}-journal") and _begins(f"{path}-journal"):
        what = f"is a database in the middle of a change, which {journal.name} tells how to undo"
        raise TurnError(f"{what}: end the program that writes it, or start it once")


def _begins(journal: str) -> bool:
    """Whether a journal holds anything: some programs leave it behind empty, or with zeros in place of its header."""
    with raw(journal) as file:
        return file.read(1) not in (b"", b"\0")


class Parsed(NamedTuple):
    """The JSON value that a file holds, or those of its lines; or a database's rows."""

    objects: list[Json]
    broken: list[Rejected]
    """Its lines that are no JSON."""
    lines: list[int]
    """Of each object the line that it begins at, from 1."""


def parsed(data: bytes, options: Options = _DEFAULTS) -> Parsed:
    """What a file holds.

    Raises ``TurnError`` where these are very many, and ``OSError`` for a database beyond the bounds.
    """
    if data.startswith(DATABASE):
        goose: Any = documents.named("goose")
        rows = goose.from_database(data, options) or []
        return Parsed(rows, [], [1] * len(rows))
    if not _has_lines(data):
        try:
            return Parsed([jsonio.loads(data.removeprefix(MARK))], [], [1])
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


def _of_lines(data: bytes) -> Parsed:
    """The values of the lines that are not blank."""
    found, broken, lines = list[Json](), list[Rejected](), list[int]()
    offset = 0
    for number, whole in enumerate(BytesIO(data), 1):
        try:
            found.append(_decode(whole if len(whole) < _LONG else b""))
            lines.append(number)
        except (MsgspecError, ValueError, RecursionError):
            line = whole.removesuffix(b"\n")
            value = line if offset else line.removeprefix(MARK)
            try:
                if value.strip():
                    found.append(jsonio.loads(value))
                    lines.append(number)
            except (ValueError, RecursionError) as problem:
                broken.append(Rejected(number, offset, len(line), "bad-line", _why(problem)))
                if len(broken) > _BROKEN:
                    raise NoDocumentError(f"more than {_BROKEN:,} of its lines are no JSON") from None
        offset += len(whole)
    return Parsed(found, broken, lines)


def _why(problem: ValueError | RecursionError) -> str:
    return f"no JSON: {jsonio.refusal(problem)}" if isinstance(problem, ValueError) else "nested too deeply"
