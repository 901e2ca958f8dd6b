"""Records of an output folder, read from where its session table says that they stand; no link is followed.

A line is found by its byte, one in a compressed file by expanding all before it, a row of Parquet by its row group,
whose size is read from the footer before anything is expanded.
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

from chatsquash.core.errors import UsageError
from chatsquash.core.outcome import Place
from chatsquash.core.text import error_text
from chatsquash.records import media
from chatsquash.records.datasets import (
    COLUMNS,
    PARQUET,
    UNBOUNDED,
    DatasetRow,
    is_dataset,
    lines_of,
    parquet_rows,
    row_text,
)
from chatsquash.sources.compression import HEAD, KINDS, ExpandedFile, recognise
from chatsquash.storage.folder import Folder
from chatsquash.storage.parquet_footer import FooterError, RowGroup, row_groups

LONGEST = 256 << 20
"""Bytes of a record that are read."""
_CHUNK = 1 << 16
_KEPT = 16 << 20
"""Bytes of records that stay in memory, since a page asks for its record more than once."""
_CHANGED = "chatsquash verify says what changed"


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
        data = read(self._folder, place)
        with self._lock:
            self._last[place] = data
            while sum(map(len, self._last.values())) > _KEPT and len(self._last) > 1:
                self._last.popitem(last=False)
        return data


def read(folder: Folder, place: Place) -> bytes:
    """The JSON of a record; raises ``UsageError`` where it does not stand there."""
    ((_, data),) = read_all(folder, place.file, [place])
    return data


def read_all(folder: Folder, name: str, places: Iterable[Place]) -> Iterator[tuple[Place, bytes]]:
    """The JSON of records of one file, in their order there, so that it is expanded once; raises as ``read``."""
    if not is_dataset(folder.path / name):
        raise UsageError(f"{name}: is not a file of records")
    ordered = sorted(places, key=attrgetter("row"))
    if _is_parquet(name):
        yield from ((place, _text(folder, place)) for place in ordered)
        return
    with _naming_errors(name), io.BufferedReader(open_records(folder, name), _CHUNK) as file:
        for place in ordered:
            yield place, _line(file, place)


def rows(folder: Folder, name: str, columns: tuple[str, ...] | None = COLUMNS) -> Iterator[DatasetRow]:
    """Every row of a file with these columns of Parquet, ``None``: all it holds; raises ``UsageError``."""
    path = folder.path / name
    with _naming_errors(name):
        if _is_parquet(name):
            with folder.open_file(name) as source:
                _refuse_large(name, row_groups(source), columns)
                source.seek(0)
                for row in parquet_rows(path, columns, source):
                    yield _checked_row(row, name)
        else:
            with open_records(folder, name) as file:
                yield from lines_of(path, file)


def open_records(folder: Folder, name: str) -> io.FileIO:
    """A file of records in a folder, unbuffered, expanded as it is read."""
    file = io.FileIO(folder.open(name))
    if not name.lower().endswith(tuple(KINDS)):
        return file
    kind = recognise(os.pread(file.fileno(), HEAD, 0))
    if kind is None:
        file.close()
        raise UsageError(f"{name}: is not compressed, as its name says")
    return ExpandedFile(file, kind, UNBOUNDED)  # type: ignore[return-value]


def images(folder: Folder, place: Place) -> list[bytes]:
    """The images that stand beside a record in a Parquet file."""
    return [data for _, data in named_images(folder, place)]


def named_images(folder: Folder, place: Place) -> list[tuple[str, bytes]]:
    """The same with their names."""
    cells = _cells(folder, place, (media.FOLDER,)).get(media.FOLDER)
    structs = [each for each in cells if isinstance(each, dict)] if isinstance(cells, list) else []
    return [(str(each.get("path")), each["bytes"]) for each in structs if isinstance(each.get("bytes"), bytes)]


def image_file(folder: Folder, name: str) -> bytes:
    """An image that lies beside the records, as they name it; raises as ``read``."""
    with _naming_errors(name):
        return folder.read(name)


def _is_parquet(name: str) -> bool:
    return name.lower().endswith(PARQUET)


@contextmanager
def _naming_errors(name: str) -> Iterator[None]:
    """What the system says of a file, as the error that names it."""
    try:
        yield
    except FooterError as problem:
        raise UsageError(f"{name}: cannot be read ({error_text(problem)})") from None
    except (OSError, ValueError, OverflowError) as problem:
        why = getattr(problem, "strerror", None) or "it is not a name of a file in it"
        raise UsageError(f"{name}: cannot be read ({why})") from None


def _line(file: BinaryIO, place: Place) -> bytes:
    if place.offset is None or place.offset < 0:
        raise UsageError(f"{place}: nothing says where the line begins")
    file.seek(max(0, place.offset - 1))
    if place.offset and file.read(1) != b"\n":
        raise UsageError(f"{place}: no line begins there; {_CHANGED}")
    line = file.readline(LONGEST + 1)
    if not line:
        raise UsageError(f"{place}: is not there; {_CHANGED}")
    if len(line) > LONGEST:
        raise UsageError(f"{place}: is longer than {LONGEST >> 20} MiB")
    return line.removesuffix(b"\n")


def _text(folder: Folder, place: Place) -> bytes:
    text = row_text(_cells(folder, place, COLUMNS))
    if len(text) > LONGEST:
        raise UsageError(f"{place}: is longer than {LONGEST >> 20} MiB")
    return text


def _checked_row(row: DatasetRow, name: str) -> DatasetRow:
    if len(row.data) > LONGEST:
        raise UsageError(f"{name}:{row.number}: is longer than {LONGEST >> 20} MiB")
    return row


def _refuse_large(name: str, groups: list[RowGroup], columns: tuple[str, ...] | None) -> None:
    """Raise ``UsageError`` where one of some row groups takes more memory than a record may; polars expands it all."""
    for group in groups:
        size = sum(size for column, size in group.sizes.items() if columns is None or column in columns)
        if size > LONGEST:
            raise UsageError(f"{name}: cannot be read (a row group has {size:,} bytes, more than {LONGEST >> 20} MiB)")


def _at(groups: list[RowGroup], row: int) -> list[RowGroup]:
    """The row group that holds a row, from 0."""
    for group in groups:
        if row < group.rows:
            return [group]
        row -= group.rows
    return []


def _cells(folder: Folder, place: Place, wanted: tuple[str, ...]) -> dict[str, Any]:
    """Some columns of a row of Parquet, of which polars reads its row group alone."""
    import polars as pl

    try:
        with _naming_errors(place.file), folder.open_file(place.file) as file:
            _refuse_large(place.file, _at(row_groups(file), max(0, place.row - 1)), wanted)
            file.seek(0)
            frame = pl.scan_parquet(file)
            names = [name for name in frame.collect_schema().names() if name in wanted]
            selected = frame.select(names).slice(max(0, place.row - 1), 1).collect() if names else pl.DataFrame()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as problem:
        raise UsageError(f"{place.file}: cannot be read ({error_text(problem)})") from None
    if names and not selected.height:
        raise UsageError(f"{place}: is not there; {_CHANGED}")
    return selected.row(0, named=True) if names else {}
