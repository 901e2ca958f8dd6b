"""One record of a result, read from where the session table says that it stands.

A line is found by its byte, one in a compressed file by expanding all before it, a row of Parquet by its row group.
"""

from __future__ import annotations

import io
import os
from collections import OrderedDict
from threading import Lock
from typing import Any, BinaryIO, NamedTuple

from chatsquash.errors import UsageError
from chatsquash.folder import Folder
from chatsquash.options import Options
from chatsquash.records import media
from chatsquash.records.datasets import COLUMNS, PARQUET, is_dataset, row_text
from chatsquash.sources.compression import HEAD, KINDS, Expanded, recognise

LONGEST = 256 << 20
"""Bytes of a record that are read."""
_CHUNK = 1 << 16
_KEPT = 16 << 20
"""Bytes of records that stay in memory, since a page asks for its record more than once."""
_UNBOUNDED = Options(max_expansion=1 << 62, max_expanded=1 << 62)


class Place(NamedTuple):
    """Where a record stands."""

    file: str
    """Below the output folder."""
    row: int
    """From 1."""
    offset: int | None
    """The byte at which its line begins, in what is compressed once that is expanded; ``None`` in Parquet."""


class Records:
    """The records of a result; those that were read last stay in memory."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._lock = Lock()
        self._last: OrderedDict[Place, bytes] = OrderedDict()

    def read(self, place: Place) -> bytes:
        """The JSON of a record; raises ``UsageError`` where it does not stand there."""
        with self._lock:
            if (data := self._last.get(place)) is not None:
                self._last.move_to_end(place)
                return data
        try:
            data = self._read(place)
        except (OSError, ValueError, OverflowError) as problem:
            why = getattr(problem, "strerror", None) or "it is no name of a file in it"
            raise UsageError(f"{place.file}: cannot be read ({why})") from None
        with self._lock:
            self._last[place] = data
            while sum(map(len, self._last.values())) > _KEPT and len(self._last) > 1:
                self._last.popitem(last=False)
        return data

    def _read(self, place: Place) -> bytes:
        if not is_dataset(self._folder.path / place.file):
            raise UsageError(f"{place.file}: is no file of records")
        if place.file.lower().endswith(PARQUET):
            return _row(self._folder, place)
        if place.offset is None or place.offset < 0:
            raise UsageError(f"{place.file}:{place.row}: nothing says where the line begins")
        with opened(self._folder, place.file) as file:
            return _line(file, place)


def opened(folder: Folder, name: str) -> BinaryIO:
    """A file of records in a folder, expanded as it is read."""
    file = io.FileIO(folder.open(name))
    if not name.lower().endswith(tuple(KINDS)):
        return file
    kind = recognise(os.pread(file.fileno(), HEAD, 0))
    if kind is None:
        file.close()
        raise UsageError(f"{name}: is not compressed, as its name says")
    return io.BufferedReader(Expanded(file, kind, _UNBOUNDED))


def _line(file: BinaryIO, place: Place) -> bytes:
    assert place.offset is not None
    before = max(0, place.offset - 1)
    file.seek(before)
    if place.offset and file.read(1) != b"\n":
        raise UsageError(f"{place.file}:{place.row}: no line begins there; chatsquash verify says what changed")
    found = bytearray()
    while chunk := file.read(_CHUNK):
        stop = chunk.find(b"\n")
        found += chunk if stop < 0 else chunk[:stop]
        if stop >= 0:
            break
        if len(found) > LONGEST:
            raise UsageError(f"{place.file}:{place.row}: is longer than {LONGEST >> 20} MiB")
    if not found:
        raise UsageError(f"{place.file}:{place.row}: is not there; chatsquash verify says what changed")
    return bytes(found)


def _row(folder: Folder, place: Place) -> bytes:
    return row_text(_cells(folder, place, COLUMNS))


def images(folder: Folder, place: Place) -> list[bytes]:
    """The images that stand beside a record in a Parquet file."""
    cells = _cells(folder, place, (media.FOLDER,)).get(media.FOLDER)
    held = cells if isinstance(cells, list) else []
    return [each["bytes"] for each in held if isinstance(each, dict) and isinstance(each.get("bytes"), bytes)]


def _cells(folder: Folder, place: Place, wanted: tuple[str, ...]) -> dict[str, Any]:
    """Some columns of a row of Parquet, of which polars reads its row group alone."""
    import polars as pl

    try:
        with folder.reading(place.file) as file:
            frame = pl.scan_parquet(file)
            names = [name for name in frame.collect_schema().names() if name in wanted]
            found = frame.select(names).slice(max(0, place.row - 1), 1).collect() if names else pl.DataFrame()
    except pl.exceptions.PolarsError as problem:
        raise UsageError(f"{place.file}: cannot be read ({str(problem).splitlines()[0]})") from None
    if names and not found.height:
        raise UsageError(f"{place.file}:{place.row}: is not there; chatsquash verify says what changed")
    return found.row(0, named=True) if names else {}


def image_file(folder: Folder, name: str) -> bytes:
    """An image that lies beside the records, as they name it; raises as ``Records.read``."""
    try:
        return folder.read(name)
    except (OSError, ValueError) as problem:
        why = getattr(problem, "strerror", None) or "it is no name of a file in it"
        raise UsageError(f"{name}: cannot be read ({why})") from None
