"""Read records of an output folder by the places in its session table, without following links.

A line is located by its offset; in a compressed file, everything before it is expanded. A Parquet row is read with its
row group, after a check of the size in the footer.
"""

from __future__ import annotations

import io
import os
from collections import OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from threading import Lock
from typing import Any, BinaryIO

from msgspec.structs import replace

from chatsquash.core.errors import UsageError
from chatsquash.core.outcome import Place
from chatsquash.core.text import error_text
from chatsquash.records import forest, media
from chatsquash.records.datasets import (
    COLUMNS,
    PARQUET,
    UNBOUNDED,
    DatasetRow,
    flat,
    is_dataset,
    lines_of,
    parquet_rows,
    row_text,
)
from chatsquash.sources.compression import HEAD, KINDS, ExpandedFile, recognise
from chatsquash.storage.folder import Folder
from chatsquash.storage.parquet_footer import FooterError, RowGroup, row_groups

LONGEST = 256 << 20
"""The maximum size of a record in bytes."""
_CHUNK = 1 << 16
# A page requests its record several times.
_CACHE_BYTES = 16 << 20
"""The size in bytes of recently read records in memory."""
_OPEN_FILES = 16
_MESSAGES = {"messages", "prompt", "conversations"}
"""The columns of which each record has one."""
_ADVICE = "chatsquash verify lists all changes"


class Records:
    """The records of an output, with a cache of recently read ones."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._lock = Lock()
        self._last: OrderedDict[Place, bytes] = OrderedDict()

    def read(self, place: Place) -> bytes:
        """Return the JSON of a record; raise ``UsageError`` if it is not at this place."""
        with self._lock:
            if (data := self._last.get(place)) is not None:
                self._last.move_to_end(place)
                return data
        data = read(self._folder, place)
        with self._lock:
            self._last[place] = data
            while sum(map(len, self._last.values())) > _CACHE_BYTES and len(self._last) > 1:
                self._last.popitem(last=False)
        return data


class LinesInOrder:
    """Reads records of plain files that come in about the order of their lines; the last files stay open."""

    def __init__(self, folder: Folder) -> None:
        self._folder = folder
        self._files: OrderedDict[str, io.BufferedReader] = OrderedDict()

    def read(self, place: Place) -> bytes:
        """Return the JSON of a record; raise like ``read``."""
        with _naming_errors(place.file):
            return _line(self._files.get(place.file) or self._open(place.file), place)

    def _open(self, name: str) -> io.BufferedReader:
        if not is_dataset(self._folder.path / name):
            raise UsageError(f"{name}: not a file of records")
        if len(self._files) == _OPEN_FILES:
            self._files.popitem(last=False)[1].close()
        file = self._files[name] = io.BufferedReader(open_records(self._folder, name), _CHUNK)
        return file

    def close(self) -> None:
        """Close the files."""
        while self._files:
            self._files.popitem()[1].close()


def read(folder: Folder, place: Place) -> bytes:
    """Return the JSON of a record; raise ``UsageError`` if it is not at this place."""
    ((_, data),) = read_all(folder, place.file, [place])
    return data


# In this order, the file is expanded only once.
def read_all(folder: Folder, name: str, places: Iterable[Place]) -> Iterator[tuple[Place, bytes]]:
    """Yield the JSON of records in file order; raise the same errors as ``read``."""
    if not is_dataset(folder.path / name):
        raise UsageError(f"{name}: not a file of records")
    in_order = sorted(places, key=attrgetter("row"))
    if _is_in_forest(folder, name, in_order):
        yield from _samples(folder, name, in_order)
        return
    if _is_parquet(name):
        yield from ((place, _text(folder, place)) for place in in_order)
        return
    with _naming_errors(name), io.BufferedReader(open_records(folder, name), _CHUNK) as file:
        for place in in_order:
            yield place, _line(file, place)


def rows(folder: Folder, name: str, columns: tuple[str, ...] | None = COLUMNS) -> Iterator[DatasetRow]:
    """Yield the rows of a file; for Parquet, only some columns, or all of them (``None``). Raises ``UsageError``."""
    with _naming_errors(name):
        yield from flat(_file_rows(folder, name, columns))


def forest_rows(folder: Folder, name: str) -> Iterator[DatasetRow]:
    """Yield the rows of a file that are not samples: the messages of a forest. Raises ``UsageError``."""
    with _naming_errors(name):
        yield from _file_rows(folder, name, None)


def _file_rows(folder: Folder, name: str, columns: tuple[str, ...] | None) -> Iterator[DatasetRow]:
    path = folder.path / name
    if _is_parquet(name):
        with folder.open_file(name) as source:
            _reject_large(name, row_groups(source), columns)
            source.seek(0)
            for row in parquet_rows(path, columns, source):
                yield _checked_row(row, name)
    else:
        with open_records(folder, name) as file:
            yield from lines_of(path, file)


def _is_in_forest(folder: Folder, name: str, in_order: list[Place]) -> bool:
    """Return whether a file has the samples of a forest, whose places are numbers of samples instead of rows."""
    if not _is_parquet(name):
        if all(place.offset is not None for place in in_order):
            return False
        first = next(_file_rows(folder, name, COLUMNS), None)
        return first is not None and forest.is_row_text(first.data)
    return bool(in_order) and not _MESSAGES.intersection(_cells(folder, replace(in_order[0], row=1), COLUMNS))


def _samples(folder: Folder, name: str, in_order: list[Place]) -> Iterator[tuple[Place, bytes]]:
    remaining = rows(folder, name)
    row = next(remaining, None)
    for place in in_order:
        while row is not None and row.number < place.row:
            row = next(remaining, None)
        if row is None or row.number != place.row:
            raise UsageError(f"{place}: no such record; {_ADVICE}")
        yield place, row.data


def open_records(folder: Folder, name: str) -> io.FileIO:
    """Open a record file unbuffered; a compressed file is expanded while it is read."""
    file = io.FileIO(folder.open(name))
    if not name.lower().endswith(tuple(KINDS)):
        return file
    kind = recognise(os.pread(file.fileno(), HEAD, 0))
    if kind is None:
        file.close()
        raise UsageError(f"{name}: not compressed, despite its suffix")
    return ExpandedFile(file, kind, UNBOUNDED)  # type: ignore[return-value]


def images(folder: Folder, place: Place) -> list[bytes]:
    """Return the images of a record in a Parquet file."""
    return [data for _, data in named_images(folder, place)]


def named_images(folder: Folder, place: Place) -> list[tuple[str, bytes]]:
    """Return the images of a record in a Parquet file, each with its name."""
    cells = _cells(folder, place, (media.FOLDER,)).get(media.FOLDER)
    structs = [each for each in cells if isinstance(each, dict)] if isinstance(cells, list) else []
    return [(str(each.get("path")), each["bytes"]) for each in structs if isinstance(each.get("bytes"), bytes)]


def image_file(folder: Folder, name: str) -> bytes:
    """Return the image file that a record refers to; raise the same errors as ``read``."""
    with _naming_errors(name):
        return folder.read(name)


def _is_parquet(name: str) -> bool:
    return name.lower().endswith(PARQUET)


@contextmanager
def _naming_errors(name: str) -> Iterator[None]:
    """Convert errors of the system and of parsers to ``UsageError`` with the name of the file."""
    try:
        yield
    except FooterError as problem:
        raise UsageError(f"{name}: cannot be read ({error_text(problem)})") from None
    except (OSError, ValueError, OverflowError) as problem:
        why = getattr(problem, "strerror", None) or "it is not the name of a file in the folder"
        raise UsageError(f"{name}: cannot be read ({why})") from None


def _line(file: BinaryIO, place: Place) -> bytes:
    if place.offset is None or place.offset < 0:
        raise UsageError(f"{place}: the session table has no offset for the line")
    file.seek(max(0, place.offset - 1))
    if place.offset and file.read(1) != b"\n":
        raise UsageError(f"{place}: no line begins there; {_ADVICE}")
    line = file.readline(LONGEST + 1)
    if not line:
        raise UsageError(f"{place}: no such record; {_ADVICE}")
    if len(line) > LONGEST:
        raise UsageError(f"{place}: line is longer than {LONGEST >> 20} MiB")
    return line.removesuffix(b"\n")


def _text(folder: Folder, place: Place) -> bytes:
    text = row_text(_cells(folder, place, COLUMNS))
    if len(text) > LONGEST:
        raise UsageError(f"{place}: line is longer than {LONGEST >> 20} MiB")
    return text


def _checked_row(row: DatasetRow, name: str) -> DatasetRow:
    if len(row.data) > LONGEST:
        raise UsageError(f"{name}:{row.number}: line is longer than {LONGEST >> 20} MiB")
    return row


def _reject_large(name: str, groups: list[RowGroup], columns: tuple[str, ...] | None) -> None:
    """Raise ``UsageError`` if a row group exceeds the size limit of a record."""
    # polars expands an entire row group.
    for group in groups:
        size = sum(size for column, size in group.sizes.items() if columns is None or column in columns)
        if size > LONGEST:
            raise UsageError(f"{name}: cannot be read (a row group has {size:,} bytes, more than {LONGEST >> 20} MiB)")


def _group_of(groups: list[RowGroup], row: int) -> list[RowGroup]:
    """Return the row group that contains a row, counted from 0."""
    for group in groups:
        if row < group.rows:
            return [group]
        row -= group.rows
    return []


def _cells(folder: Folder, place: Place, columns: tuple[str, ...]) -> dict[str, Any]:
    """Return some columns of a Parquet row; polars reads only its row group."""
    import polars as pl

    try:
        with _naming_errors(place.file), folder.open_file(place.file) as file:
            _reject_large(place.file, _group_of(row_groups(file), max(0, place.row - 1)), columns)
            file.seek(0)
            frame = pl.scan_parquet(file)
            names = [name for name in frame.collect_schema().names() if name in columns]
            selected = frame.select(names).slice(max(0, place.row - 1), 1).collect() if names else pl.DataFrame()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as problem:
        raise UsageError(f"{place.file}: cannot be read ({error_text(problem)})") from None
    if names and not selected.height:
        raise UsageError(f"{place}: no such record; {_ADVICE}")
    return selected.row(0, named=True) if names else {}
