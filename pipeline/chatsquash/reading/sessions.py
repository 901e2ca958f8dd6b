"""A file that holds several sessions: whose each line is, found in one pass that keeps places only."""

from __future__ import annotations

import os
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import BinaryIO, TypeVar

from msgspec.structs import replace

from chatsquash.core import footprint
from chatsquash.core.log import Log
from chatsquash.core.options import Options
from chatsquash.core.urls import is_remote
from chatsquash.formats.base import TurnError
from chatsquash.reading import envelopes
from chatsquash.reading.identify import document_in, identify, units_of
from chatsquash.reading.members import members
from chatsquash.reading.split_files import unit_lines
from chatsquash.sources.changes import as_found
from chatsquash.sources.compression import ExpandedFile
from chatsquash.sources.lines import CHUNK, Line, lines
from chatsquash.sources.names import MARK
from chatsquash.sources.open import open_file, shortage
from chatsquash.storage.folder import Folder

T = TypeVar("T")
SPAN = 4
"""Numbers that a line takes in ``Log.spans``: its number, its offset, its length, and that of its line feed."""


Parts = Callable[[Log, BinaryIO, Options], "list[Log]"]
"""The sessions in an open log."""


def split(
    log: Log, options: Options | None = None, expanded: Folder | None = None, parts_of: Parts | None = None
) -> list[Log]:
    """The sessions in a file, in the order of their first lines; lines that name none are one session together.

    Of a document each conversation is a session.

    A compressed log is expanded into the folder ``expanded``, so that each session is read from its place; where there
    is no such folder, all that lies before a line is expanded to read it.

    A line that cannot be read stays with the one before it.  ``parts_of`` tells sessions otherwise than by ids.
    A file that cannot be read is left as it is, so that converting it will say what is wrong.
    """
    options = options or Options()
    parts_of = parts_of or by_ids
    try:
        with open_file(log.path, options) as file:
            if parts := document_parts(log, file, options):
                return parts
            if not isinstance(file, ExpandedFile) and getattr(file, "is_direct", True):
                unchanged = as_found(file, log)
                parts = parts_of(log, unchanged, options)
                # Of a log in a store, each session would ask for all of it.
                is_copied = len(parts) > 1 and is_remote(log.path) and log.size <= options.max_expanded
                return _of_copy(log, unchanged, expanded, parts_of, options) if is_copied and expanded else parts
            if expanded is None:
                parts = parts_of(log, file, options)
            else:
                parts = _of_copy(log, file, expanded, parts_of, options)
            return [*parts[:-1], replace(parts[-1], cut=getattr(file, "problem", None))]
    except OSError:
        return [log]


def document_parts(log: Log, file: BinaryIO, options: Options) -> list[Log]:
    """The conversations of the document in a file, or the units of one that is read unit by unit.

    There are none of a log, of a broken document, and of any other file.
    """
    try:
        if not log.unit and (units := units_of(file, options)):
            shared = zip(units, _shares(units, log.size), unit_lines(file, len(units)), strict=True)
            return [
                replace(log, unit=unit, size=size, unit_lines=of, container_size=log.size) for unit, size, of in shared
            ]
        document = document_in(file, options, log.unit)  # which takes less of a log than its lines
        if document and not (log.unit or document.is_identified):
            document = identify(file, options).document
    except (OSError, TurnError):
        return []
    return [replace(log, part=part) for part in range(len(document.conversations))] if document else []


def _shares(units: tuple[bytes, ...], size: int) -> list[int]:
    """The bytes of a file that count for each of its units, so that they come to all of them."""
    share = size // len(units)
    return [size - share * (len(units) - 1), *[share] * (len(units) - 1)]


def _of_copy(log: Log, file: BinaryIO, folder: Folder, parts_of: Parts, options: Options) -> list[Log]:
    """The sessions in a copy of what a file gives."""
    file.seek(0)
    name = _copy(file, folder)
    with _or_shortage(file, folder):
        descriptor = folder.open(name)
    with open(descriptor, "rb", buffering=0) as copy:
        return [replace(part, path=f"{folder.path}/{name}") for part in parts_of(log, copy, options)]


def expanded_copy(log: Log, options: Options, folder: Folder) -> str:
    """The path of a new file in a folder with what is in a compressed log."""
    with open_file(log.path, options) as file:
        assert isinstance(file, ExpandedFile)
        return f"{folder.path}/{_copy(file, folder)}"


def cleared(done: Iterable[tuple[Log, T]], expanded: Folder) -> Iterator[tuple[Log, T]]:
    """The same, in the order of the logs; each file in the folder goes once the sessions in it are done."""
    before, inside = "", f"{expanded.path}/"
    for log, outcome in done:
        if log.path != before and before.startswith(inside) and MARK not in before:
            expanded.remove(before.removeprefix(inside))
        before = log.path
        yield log, outcome


def _copy(file: BinaryIO, folder: Folder) -> str:
    """The name of a new file with what is in another one, for its owner alone.

    Raises ``ShortageError`` where there is no room for it.
    """
    name = f"{os.urandom(8).hex()}.jsonl"
    with _or_shortage(file, folder):
        folder.make()
        descriptor = folder.create(name, 0o600)
    try:
        while piece := file.read(CHUNK):
            with _or_shortage(file, folder):
                _write(descriptor, piece)
    finally:
        os.close(descriptor)
    return name


@contextmanager
def _or_shortage(file: BinaryIO, folder: Folder) -> Iterator[None]:
    """Whatever goes wrong with the copy is no damage of the log."""
    try:
        yield
    except OSError as problem:
        raise shortage(str(getattr(file, "name", "a log")), f"expanded into {folder.path}", problem) from None


def _write(descriptor: int, piece: bytes) -> None:
    rest = memoryview(piece)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def by_ids(log: Log, file: BinaryIO, options: Options | None = None) -> list[Log]:
    """The sessions in an open log by the ids that its lines name."""
    return [part(log, spans) for spans in places_by_id(file, options or Options()).values()] or [log]


def places_by_id(file: BinaryIO, options: Options) -> dict[str | None, array[int]]:
    """The places of a log's lines, as in ``Log.spans``, by the ids that these name; ``None``: none."""
    places: dict[str | None, array[int]] = {}
    name: str | None = None
    waiting = array("Q")
    for line in lines(file):
        data = bytes(line.buffer[line.start : line.stop])
        raw = None if footprint.exceeds(data, options.max_memory) else members(data)
        place = (line.number, line.offset, line.length, line.size - line.length)
        if raw is not None and envelopes.is_aside(raw):  # which stays with the one before, or the first one
            places.get(name, waiting).extend(place)
            continue
        name = name if raw is None else envelopes.session_id(raw)
        places.setdefault(name, waiting).extend(place)
        waiting = array("Q") if places[name] is waiting else waiting
    return places or ({None: waiting} if waiting else {})


def part(log: Log, spans: array[int]) -> Log:
    """The session in a log whose lines stand at these places."""
    return replace(log, size=sum(spans[2::SPAN]), spans=spans, container_size=log.size)


def lines_of(
    file: BinaryIO, spans: array[int], hashed: Callable[[memoryview], object] | None, longest: int
) -> Iterator[Line]:
    """The lines of one session in a file that holds several."""
    for at in range(0, len(spans), SPAN):
        number, offset, length, feed = spans[at : at + SPAN]
        if length > longest:
            yield Line(number, offset, length, bytearray(), 0, 0, length + feed)
            continue
        file.seek(offset)
        data = bytearray(length)
        with memoryview(data) as view:
            filled = 0
            while count := file.readinto(view[filled:]):  # type: ignore[attr-defined]
                filled += count
            if hashed:
                hashed(view[:filled])
        yield Line(number, offset, filled, data, 0, filled, filled + feed)
