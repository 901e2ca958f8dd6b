"""Records of an output folder, read from where its session table says that they stand; no link is followed.

A line is found by its byte, one in a compressed file by expanding all before it, a row of Parquet by its row group,
whose size is read from the footer before anything is expanded: a Thrift struct in the compact protocol.
"""

from __future__ import annotations

import io
import os
from collections import Counter, OrderedDict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from operator import attrgetter
from threading import Lock
from typing import Any, BinaryIO, NamedTuple

from chatsquash.core.errors import UsageError
from chatsquash.core.outcome import Place
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
        raise UsageError(f"{name}: is no file of records")
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
            with folder.reading(name) as source:
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
    cells = _cells(folder, place, (media.FOLDER,)).get(media.FOLDER)
    structs = cells if isinstance(cells, list) else []
    return [each["bytes"] for each in structs if isinstance(each, dict) and isinstance(each.get("bytes"), bytes)]


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
        raise UsageError(f"{name}: cannot be read ({problem})") from None
    except (OSError, ValueError, OverflowError) as problem:
        why = getattr(problem, "strerror", None) or "it is no name of a file in it"
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
        with _naming_errors(place.file), folder.reading(place.file) as file:
            _refuse_large(place.file, _at(row_groups(file), max(0, place.row - 1)), wanted)
            file.seek(0)
            frame = pl.scan_parquet(file)
            names = [name for name in frame.collect_schema().names() if name in wanted]
            selected = frame.select(names).slice(max(0, place.row - 1), 1).collect() if names else pl.DataFrame()
    except pl.exceptions.PolarsError as problem:
        raise UsageError(f"{place.file}: cannot be read ({str(problem).splitlines()[0]})") from None
    if names and not selected.height:
        raise UsageError(f"{place}: is not there; {_CHANGED}")
    return selected.row(0, named=True) if names else {}


_MAGIC = b"PAR1"
_FOOTER = 8 << 20
"""Bytes of a footer that are read; chatsquash writes a few hundred for each row group."""
_DEPTH = 16
_ROW_GROUPS, _CHUNKS, _ROW_COUNT, _COLUMN_METADATA, _PATH, _SIZE = 4, 1, 3, 3, 3, 6
"""Numbers of members, as parquet.thrift has them."""
_TRUE, _FALSE = 1, 2
"""Kinds of values that a struct has in the head of a member."""


class FooterError(ValueError):
    """Why a footer does not tell the row groups, in words."""


class RowGroup(NamedTuple):
    """A row group."""

    rows: int
    sizes: dict[str, int]
    """The bytes of each column once it is expanded."""


def row_groups(file: BinaryIO) -> list[RowGroup]:
    """The row groups of a file in their order; raises ``FooterError`` where its footer does not tell them."""
    try:
        groups = _Compact(_footer(file)).struct()[_ROW_GROUPS]
        return [RowGroup(int(group[_ROW_COUNT]), _sizes(group[_CHUNKS])) for group in groups]
    except (IndexError, KeyError, TypeError, AttributeError):
        raise FooterError("its footer is damaged") from None


def _footer(file: BinaryIO) -> bytes:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 8))
    end = file.read(8)
    length = int.from_bytes(end[:4], "little")
    if end[4:] != _MAGIC or length > size - 8:
        raise FooterError("it is no Parquet file")
    if length > _FOOTER:
        raise FooterError(f"its footer is longer than {_FOOTER >> 20} MiB")
    file.seek(size - 8 - length)
    return file.read(length)


def _sizes(chunks: list[dict[int, Any]]) -> dict[str, int]:
    sizes: Counter[str] = Counter()
    for chunk in chunks:
        column = chunk[_COLUMN_METADATA]
        sizes[column[_PATH][0].decode("utf-8", "replace")] += int(column[_SIZE])
    return dict(sizes)


class _Compact:
    """Reads values of the compact protocol; raises ``IndexError`` and ``FooterError`` for what is none."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """The members of a struct by their numbers."""
        members: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            kind = head & 15
            members[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)
        return members

    def _value(self, kind: int, depth: int) -> Any:
        if depth > _DEPTH:
            raise FooterError("its footer is nested too deeply")
        match kind:
            case 1 | 2 | 3:  # in a list, where booleans have bytes of their own
                value: Any = self._byte()
            case 4 | 5 | 6:
                value = self._integer()
            case 7:
                value = self._bytes(8)
            case 8:
                value = self._bytes(self._number())
            case 9 | 10:
                value = self._list(depth)
            case 11:
                value = self._map(depth)
            case 12:
                value = self.struct(depth + 1)
            case _:
                raise FooterError("its footer is damaged")
        return value

    def _list(self, depth: int) -> list[Any]:
        head = self._byte()
        count = head >> 4 if head >> 4 < 15 else self._number()
        return [self._value(head & 15, depth + 1) for _ in range(count)]

    def _map(self, depth: int) -> list[tuple[Any, Any]]:
        count = self._number()
        kinds = self._byte() if count else 0
        return [(self._value(kinds >> 4, depth + 1), self._value(kinds & 15, depth + 1)) for _ in range(count)]

    def _integer(self) -> int:
        number = self._number()
        return (number >> 1) ^ -(number & 1)

    def _number(self) -> int:
        number = shift = 0
        while True:
            byte = self._byte()
            number |= (byte & 127) << shift
            if byte < 128:
                return number
            shift += 7
            if shift > 63:
                raise FooterError("its footer is damaged")

    def _byte(self) -> int:
        byte = self._data[self._at]
        self._at += 1
        return byte

    def _bytes(self, count: int) -> bytes:
        data = self._data[self._at : self._at + count]
        if len(data) < count:
            raise IndexError
        self._at += count
        return data
