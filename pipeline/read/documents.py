"""Files that hold conversations as a client or an agent keeps them, in place of the exchanges of a log."""

from __future__ import annotations

import os
from typing import BinaryIO, NamedTuple

from pipeline import codec
from pipeline.formats import documents
from pipeline.formats.base import TurnError
from pipeline.model import Conversation, Json, Options, Rejected
from pipeline.read import envelopes
from pipeline.read.compressed import opened
from pipeline.read.recognise import first_lines

LONGEST = 256 << 20
"""Bytes of a file that is looked at; a document is held in memory whole."""
_GLANCE = 1 << 16
_PIECE = 1 << 20
_MARK = b"\xef\xbb\xbf"
"""The byte order mark, which some editors put before a text."""
SUFFIX = ".json"
"""Files with it are read where they are recognised, and only there."""


class Held(NamedTuple):
    """A document: its format, the evidence for it, and what it holds."""

    format: str
    why: str
    objects: list[Json]
    broken: list[Rejected]
    """Its lines that are no JSON."""

    def conversations(self) -> list[Conversation]:
        """Its conversations; raises ``TurnError`` for a document that is broken."""
        return documents.named(self.format).conversations(self.objects)


def look(file: BinaryIO, forced: str | None = None) -> Held | None:
    """The document in a file, which stands after where it stood before; ``None`` where it holds none that is known.

    Raises ``TurnError`` for a file that may be of two formats, and for one that is said to be a document and is too
    large for that.
    """
    if forced and forced not in documents.names():
        return None
    place = file.tell()
    size = file.seek(0, os.SEEK_END)
    file.seek(place)
    if size > LONGEST:
        if forced:
            raise TurnError(f"is larger than {LONGEST:,} bytes")
        return None
    # A log is told by its first line, which is sooner than reading it whole.
    if not forced and any(map(envelopes.recognise, first_lines(file, _GLANCE)[:1])):
        return None
    file.seek(0)
    data = _rest(file)
    file.seek(place)
    objects, broken = parsed(data)
    if forced:
        return Held(forced, f"{forced}, as --from says", objects, broken)
    fitting = documents.recognise(objects)
    return Held(fitting.name, f"{fitting.name} ({fitting.why})", objects, broken) if fitting else None


def is_document(path: str) -> bool:
    """Whether a file holds a document that is known, or may hold one and is to be said why not."""
    try:
        with opened(path) as file:
            return look(file) is not None
    except TurnError:
        return True
    except OSError:
        return False


def count(path: str, options: Options | None = None) -> int:
    """How many conversations a file's document holds; 0 for what is no document, or a broken one."""
    try:
        with opened(path, options) as file:
            held = look(file, options.from_format if options else None)
            return len(held.conversations()) if held else 0
    except (OSError, TurnError):
        return 0


def _rest(file: BinaryIO) -> bytes:
    """All that is left; an unbuffered file may give less at a time than was asked for."""
    return b"".join(iter(lambda: file.read(_PIECE), b""))


def parsed(data: bytes) -> tuple[list[Json], list[Rejected]]:
    """The JSON value that a file holds, or those of its lines, and its lines that are no JSON."""
    try:
        return [codec.loads(data.removeprefix(_MARK))], []
    except (ValueError, RecursionError):
        pass
    found: list[Json] = []
    broken: list[Rejected] = []
    offset = 0
    for number, line in enumerate(data.split(b"\n"), 1):
        try:
            value = line if offset else line.removeprefix(_MARK)
            found += [codec.loads(value)] if value.strip() else []
        except (ValueError, RecursionError) as problem:
            reason = f"no JSON: {codec.refusal(problem)}" if isinstance(problem, ValueError) else "nested too deeply"
            broken.append(Rejected(number, offset, len(line), "bad-line", reason))
        offset += len(line) + 1
    return found, broken
