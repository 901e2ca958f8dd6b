"""Read files with many sessions one session at a time: databases, arrays of conversations and other archives.

A unit is a session with the sessions that belong to it. It is identified by the name of its format and its place in the
file.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from msgspec import Struct

from chatsquash.core import footprint, jsonio
from chatsquash.core.lazy import lazy_compile
from chatsquash.core.model import Json
from chatsquash.core.options import Options
from chatsquash.formats import documents
from chatsquash.formats.base import DocumentFormat, TurnError
from chatsquash.sources import arrays, relatives, wal
from chatsquash.sources.beginnings import read, read_from_start
from chatsquash.sources.identity import status_of
from chatsquash.sources.lines import count_lines
from chatsquash.sources.open import raw

if TYPE_CHECKING:
    from chatsquash.formats.databases import AgentDatabase, Database

DATABASE = b"SQLite format 3\0"
"""The first bytes of a database."""
LONGEST = 256 << 20
"""The size in bytes up to which a database is loaded into memory; larger ones are read from their file."""
_TRIES = 5
_MARK = b"\0"
_GLANCE = 1 << 10
_OBJECTS = lazy_compile(rb"(?:\xef\xbb\xbf)?[ \t\r\n]*+\[[ \t\r\n]*+\{")
"""The beginning of an array of objects."""
_FIRST = 64 << 20
"""The maximum size in bytes of the first element of an array, which identifies the format."""


class Division(Struct, frozen=True):
    """The division of a file into units."""

    format: str
    why: str
    places: Callable[[], list[bytes]]
    """Returns the places of the units; raises ``TurnError`` and ``OSError``."""
    seeks: bool = False
    """Whether units are read by their place, so that a compressed file must be expanded first."""

    def units(self) -> list[bytes]:
        """Return the units in order."""
        return [_MARK.join((self.format.encode(), place)) for place in self.places()]


def divide(file: BinaryIO, forced: str | None, options: Options, head: bytes | None = None) -> Division | None:
    """Return the division of a file into units, or ``None`` if it is read as one. The file position changes.

    Args:
        file: The open file.
        forced: The format set by ``--from``.
        options: The options of the run.
        head: The first bytes of the file, if known.

    Raises:
        TurnError: The file is damaged.
        OSError: The file exceeds a limit.
    """
    if head is None:
        head = read_from_start(file, _GLANCE)
    if head.startswith(DATABASE):
        return _of_database(file, forced, options)
    for form in documents.defining("may_split"):
        if (
            form.may_split
            and form.may_split(head)
            and forced in (None, form.NAME)
            and (division := _of_form(file, form))
        ):
            return division
    if _OBJECTS.match(head):
        return _of_array(file, forced, options)
    return None


def objects(file: BinaryIO, unit: bytes, options: Options) -> list[Json]:
    """Return the objects of a unit; raise the same errors as ``divide``."""
    name, _, place = unit.partition(_MARK)
    form = documents.get_format(name.decode())
    if form.tables:
        database = _content(file, options)
        if database is None:
            raise TurnError("changed while being read")
        return database[1].objects(jsonio.loads(place))
    if form.split and form.objects:
        return list(form.objects(file, place))
    offset, _, length = place.partition(b":")
    file.seek(int(offset))
    return [_value(read(file, int(length)), options)]


def unit_lines(file: BinaryIO, count: int) -> list[int]:
    """Return the number of lines counted for each unit of a file; the first unit of a text file counts all lines.

    Databases and archives have no lines, so each of their units counts as one.
    """
    if _MARK in read_from_start(file, _GLANCE):
        return [1] * count
    return [count_lines(file), *[0] * (count - 1)]


def _of_form(file: BinaryIO, form: DocumentFormat) -> Division | None:
    file.seek(0)
    places = form.split(file) if form.split else None
    return None if places is None else Division(form.NAME, form.NAME, lambda: places)


# Arrays


def _of_array(file: BinaryIO, forced: str | None, options: Options) -> Division | None:
    """Return the division of an array if its first element is a conversation."""
    file.seek(0)
    try:
        first = next(arrays.elements(file, longest=_FIRST), None)
    except ValueError:
        return None
    value = _value(first.data, options) if first else None
    for form in documents.defining("PER_ELEMENT"):
        why = form.fits([value]) if forced in (None, form.NAME) else None
        if why:
            return Division(form.NAME, f"{form.NAME} ({why})", partial(_elements, file), seeks=True)
    return None


def _elements(file: BinaryIO) -> list[bytes]:
    file.seek(0)
    try:
        return [b"%d:%d" % (each.offset, len(each.data)) for each in arrays.elements(file)]
    except ValueError as problem:
        raise TurnError(f"the file {problem}") from None


def _value(data: bytes, options: Options) -> Json:
    footprint.require_memory(data)
    if footprint.exceeds(data, options.max_memory):
        return None
    return jsonio.value(data)


# Databases


def _of_database(file: BinaryIO, forced: str | None, options: Options) -> Division | None:
    database = _content(file, options)
    if database is None or forced not in (None, database[0].NAME) or database[1].is_empty:
        return None
    form, content = database

    def places() -> list[bytes]:
        global _last_places  # noqa: PLW0603 - only one per process
        # The sessions of a database are grouped when it is identified and again when it is divided.
        if _last_places is None or _last_places[0] is not content:
            _last_places = content, [jsonio.dumps(family) for family in content.families()]
        return _last_places[1]

    return Division(form.NAME, f"{form.NAME} (tables {', '.join(content.tables)})", places)


_last: tuple[object, Database, tuple[DocumentFormat, AgentDatabase] | None] | None = None
"""The last database, kept open for the other sessions in it."""


_last_places: tuple[AgentDatabase, list[bytes]] | None = None
"""The last database whose sessions were grouped, with their places."""


def _content(file: BinaryIO, options: Options) -> tuple[DocumentFormat, AgentDatabase] | None:
    global _last, _last_places  # noqa: PLW0603 - only one per process
    key = (status_of(file), options.max_memory, options.max_database_time)
    if _last and _last[0] == key:
        return _last[2]
    if _last:
        _last[1].close()
        _last = _last_places = None
    from chatsquash.formats import databases  # imported late because few files need it

    database = _database(file, options)
    try:
        content = databases.recognise_database(database, documents.defining("tables"))
    except BaseException:
        database.close()
        raise
    if key[0]:
        _last = key, database, content
    return content


def forget() -> None:
    """Close the cached database."""
    global _last, _last_places  # noqa: PLW0603 - as above
    if _last:
        _last[1].close()
        _last = None
    _last_places = None


def _database(file: BinaryIO, options: Options) -> Database:
    """Open a database in its current state, including changes that are only in its write-ahead log."""
    name = str(getattr(file, "name", ""))
    from chatsquash.formats.databases import Database  # as above

    _reject_journal(name)
    size = file.seek(0, os.SEEK_END)
    if size > LONGEST and not relatives.size_of(f"{name}-wal"):
        return Database(options, path=str(Path(name).absolute()))
    return Database(options, data=_snapshot(file, name, size))


def _snapshot(file: BinaryIO, name: str, size: int) -> bytearray:
    """Return the bytes of a database with its write-ahead log applied."""
    if size > LONGEST:
        raise TurnError(
            f"database is larger than {LONGEST:,} bytes and has changes only in its write-ahead log; close its program"
        )
    # The agent may write to either file while they are read.
    for _ in range(_TRIES):
        before = _state(name)
        file.seek(0)
        data = bytearray(read(file, LONGEST + 1))
        log = _log(name)
        if _state(name) == before:
            try:
                wal.apply(data, log, LONGEST)
            except ValueError as problem:
                raise TurnError(f"the database {problem}") from None
            return data
    raise TurnError("database is being changed by another program; try again when that program is idle")


def _state(name: str) -> tuple[object, ...]:
    return tuple(relatives.state(path) for path in (name, f"{name}-wal"))


def _log(name: str) -> bytes:
    path = f"{name}-wal"
    if not name or not relatives.size_of(path):
        return b""
    with raw(path) as file:
        return read(file, LONGEST)


def _reject_journal(name: str) -> None:
    """Raise ``TurnError`` for a database with an unfinished transaction, which must be rolled back."""
    path = f"{name}-journal"
    if not name or not relatives.size_of(path):
        return
    with raw(path) as journal:
        is_open = journal.read(1) not in (
            b"",
            b"\0",
        )  # some programs leave an empty journal, or one with a blank header
    if is_open:
        what = f"database has an unfinished transaction ({Path(path).name})"
        raise TurnError(f"{what}; close the program that writes to it, or start it once to finish the transaction")
