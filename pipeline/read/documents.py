"""Files that are no logs and hold conversations: as a client or an agent keeps them, or one request's body alone."""

from __future__ import annotations

import os
from io import BytesIO
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from pipeline import codec, formats
from pipeline.formats import bodies, documents
from pipeline.formats.base import TurnError
from pipeline.model import Conversation, Json, Options, Rejected, uncompressed
from pipeline.read import envelopes, recognise
from pipeline.read.compressed import opened
from pipeline.read.recognise import first_lines

LONGEST = 256 << 20
"""Bytes of a file that is looked at; a document is held in memory whole."""
_BROKEN = 10_000
"""Lines that are no JSON, of which a document has no more."""
_GLANCE = 1 << 16
_PIECE = 1 << 20
_MARK = b"\xef\xbb\xbf"
"""The byte order mark, which some editors put before a text."""
SUFFIXES = (".json", ".db")
"""Files with these are read where they are recognised, and only there."""
_DATABASE = b"SQLite format 3\0"
_DEFAULTS = Options()
_ONE_LINE = bytes.maketrans(b"\r\n", b"  ")


class _NoDocumentError(TurnError):
    """Of a file's lines very many are no JSON."""


class Held(NamedTuple):
    """A document: its format, the evidence for it, and what it holds."""

    format: str
    why: str
    objects: list[Json]
    broken: list[Rejected] = []  # noqa: RUF012 - never changed
    """Its lines that are no JSON."""
    line: bytes = b""
    """All of it as one line, where it is an exchange that stands on several; it holds no conversations then."""

    def conversations(self) -> list[Conversation]:
        """Its conversations; raises ``TurnError`` for a document that is broken."""
        if self.format in documents.names():
            return documents.named(self.format).conversations(self.objects)
        return [bodies.load(formats.named(self.format), body) for body in self.objects]

    def aside(self) -> bodies.Aside:
        """What a request's body has beside its conversation; nothing for a document."""
        if self.line or self.format in documents.names():
            return bodies.Aside(0, [], [])
        return bodies.aside(formats.named(self.format), self.objects[0])


def look(file: BinaryIO, forced: str | None = None, options: Options = _DEFAULTS) -> Held | None:
    """The document in a file, which stands after where it stood before; ``None`` where it holds none that is known.

    Raises ``TurnError`` for a file that may be of two formats, and for one that is said to be a document and is too
    large for that, and ``OSError`` for a database that takes more than the options allow.
    """
    place = file.tell()
    if not _is_small(file):
        if forced in documents.names():
            raise TurnError(f"is larger than {LONGEST:,} bytes")
        return None
    # A log is told by its first line, which is sooner than reading it whole.
    is_open = forced not in documents.names()
    if is_open and any(map(envelopes.recognise, first_lines(file, _GLANCE)[:1])):
        return None
    file.seek(0)
    data = _rest(file)
    file.seek(place)
    name = getattr(file, "name", "")
    if isinstance(name, str):
        refuse_unsaved(data, name)
    return _told(data, forced, options, is_json=uncompressed(str(name)).lower().endswith(".json"))


def _is_small(file: BinaryIO) -> bool:
    """Whether a file is not too large to be held in memory whole; it stands as before."""
    place = file.tell()
    size = file.seek(0, os.SEEK_END)
    file.seek(place)
    return size <= LONGEST


def _told(data: bytes, forced: str | None, options: Options, *, is_json: bool) -> Held | None:
    """The document in the bytes of a file, whose name may say that it is JSON; raises ``TurnError`` and ``OSError``."""
    try:
        objects, broken = parsed(data, options)
    except _NoDocumentError:
        if forced in documents.names():
            raise
        return None
    if forced in documents.names():
        return Held(forced, f"{forced}, as --from says", objects, broken)
    fitting = None if forced else documents.recognise(objects)
    if fitting:
        return Held(fitting.name, f"{fitting.name} ({fitting.why})", objects, broken)
    if broken or len(objects) != 1:
        return None
    # In a file of lines, a single one may be the first row of a dataset.
    is_row = not (forced or is_json) and b"\n" not in data.strip() and formats.look_alike(objects[0]) is not None
    return None if is_row else _alone(objects[0], data, forced)


def _alone(value: Json, data: bytes, forced: str | None) -> Held | None:
    """An exchange on several lines, or a request's body with turns."""
    if line := as_line(data):
        return Held("", "", [], line=line)
    found = bodies.recognise(value)
    name = forced or found.name
    if name is None or not bodies.has_turns(formats.named(name), value):
        return None
    return Held(name, f"{name}, as --from says" if forced else f"{name} ({found.why})", [value])


def as_line(data: bytes) -> bytes | None:
    """A file that is one exchange on several lines, as one of the same length; ``None`` for any other."""
    line = data.removeprefix(_MARK).translate(_ONE_LINE)
    return line if envelopes.recognise(line) is not None else None


def is_document(path: str, options: Options = _DEFAULTS) -> bool:
    """Whether a file is recognised: as a document, as one that is broken and is to be said why, or as a log.

    Of a database, only what its first rows tell is read.
    """
    try:
        with opened(path) as file:
            start = file.read(len(_DATABASE))
            file.seek(0)
            if start == _DATABASE:
                return _holds_sessions(file, path, options)
            return look(file) is not None or recognise.look(file)[1].format is not None
    except TurnError:
        return True
    except OSError:
        return False


def _holds_sessions(file: BinaryIO, path: str, options: Options) -> bool:
    """Whether a database is a document, or one of which is to be said why it is none."""
    if not _is_small(file):
        return False
    data = _rest(file)
    refuse_unsaved(data, path)
    goose: Any = documents.named("goose")
    return bool(goose.holds_sessions(data, options))


def count(path: str, options: Options | None = None) -> int:
    """How many conversations a file's document holds; 0 for what is no document, or a broken one."""
    try:
        with opened(path, options) as file:
            held = look(file, options.from_format if options else None, options or _DEFAULTS)
            return len(held.conversations()) if held else 0
    except (OSError, TurnError):
        return 0


def _rest(file: BinaryIO) -> bytes:
    """All that is left; an unbuffered file may give less at a time than was asked for."""
    return b"".join(iter(lambda: file.read(_PIECE), b""))


def refuse_unsaved(data: bytes, path: str) -> None:
    """Raise ``TurnError`` for a database that has changes which are not in its file yet."""
    if not data.startswith(_DATABASE):
        return
    log, journal = Path(f"{path}-wal"), Path(f"{path}-journal")
    if log.is_file() and log.stat().st_size:
        raise TurnError(f"is a database with changes that are only in {log.name}: end the program that writes it")
    if journal.is_file() and _begins(journal):
        what = f"is a database in the middle of a change, which {journal.name} tells how to undo"
        raise TurnError(f"{what}: end the program that writes it, or start it once")


def _begins(journal: Path) -> bool:
    """Whether a journal holds anything: some programs leave it behind empty, or with zeros in place of its header."""
    with journal.open("rb") as file:
        return file.read(1) not in (b"", b"\0")


def parsed(data: bytes, options: Options = _DEFAULTS) -> tuple[list[Json], list[Rejected]]:
    """The JSON value that a file holds, or those of its lines, and its lines that are no JSON; or a database's rows.

    Raises ``TurnError`` where these are very many, and ``OSError`` for a database beyond the bounds.
    """
    if data.startswith(_DATABASE):
        goose: Any = documents.named("goose")
        return goose.from_database(data, options) or [], []
    try:
        return [codec.loads(data.removeprefix(_MARK))], []
    except (ValueError, RecursionError):
        pass
    found: list[Json] = []
    broken: list[Rejected] = []
    offset = 0
    for number, whole in enumerate(BytesIO(data), 1):
        line = whole.removesuffix(b"\n")
        try:
            value = line if offset else line.removeprefix(_MARK)
            found += [codec.loads(value)] if value.strip() else []
        except (ValueError, RecursionError) as problem:
            reason = f"no JSON: {codec.refusal(problem)}" if isinstance(problem, ValueError) else "nested too deeply"
            broken.append(Rejected(number, offset, len(line), "bad-line", reason))
            if len(broken) > _BROKEN:
                raise _NoDocumentError(f"more than {_BROKEN:,} of its lines are no JSON") from None
        offset += len(whole)
    return found, broken
