"""Read the expanded sizes of row groups from a Parquet footer, a Thrift struct in the compact protocol."""

from __future__ import annotations

import os
from collections import Counter
from typing import Any, BinaryIO, NamedTuple

_MAGIC = b"PAR1"
_FOOTER = 8 << 20
"""The maximum size of a footer in bytes; chatsquash writes a few hundred per row group."""
_DEPTH = 16
_ROW_GROUPS, _CHUNKS, _ROW_COUNT, _COLUMN_METADATA, _PATH, _SIZE = 4, 1, 3, 3, 3, 6
"""Field ids of parquet.thrift."""
_TRUE, _FALSE = 1, 2
"""The types of booleans, whose value is part of the field header."""


class FooterError(ValueError):
    """The row groups cannot be read from a footer; the message contains the reason."""


class RowGroup(NamedTuple):
    """A row group."""

    rows: int
    sizes: dict[str, int]
    """The size of each column in bytes after decompression."""


def row_groups(file: BinaryIO) -> list[RowGroup]:
    """Return the row groups of a file in order; raise ``FooterError`` if its footer cannot be read."""
    try:
        groups = _Compact(_footer(file)).struct()[_ROW_GROUPS]
        return [RowGroup(int(group[_ROW_COUNT]), _sizes(group[_CHUNKS])) for group in groups]
    except (IndexError, KeyError, TypeError, AttributeError):
        raise FooterError("the footer is damaged") from None


def _footer(file: BinaryIO) -> bytes:
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - 8))
    end = file.read(8)
    length = int.from_bytes(end[:4], "little")
    if end[4:] != _MAGIC or length > size - 8:
        raise FooterError("not a Parquet file")
    if length > _FOOTER:
        raise FooterError(f"the footer is longer than {_FOOTER >> 20} MiB")
    file.seek(size - 8 - length)
    return file.read(length)


def _sizes(chunks: list[dict[int, Any]]) -> dict[str, int]:
    sizes: Counter[str] = Counter()
    for chunk in chunks:
        column = chunk[_COLUMN_METADATA]
        sizes[column[_PATH][0].decode("utf-8", "replace")] += int(column[_SIZE])
    return dict(sizes)


class _Compact:
    """Reads values of the compact protocol; raises ``IndexError`` or ``FooterError`` for invalid data."""

    def __init__(self, data: bytes) -> None:
        self._data, self._at = data, 0

    def struct(self, depth: int = 0) -> dict[int, Any]:
        """Read the fields of a struct by id."""
        members: dict[int, Any] = {}
        number = 0
        while head := self._byte():
            number = number + (head >> 4) if head >> 4 else self._integer()
            kind = head & 15
            members[number] = kind == _TRUE if kind in (_TRUE, _FALSE) else self._value(kind, depth)
        return members

    def _value(self, kind: int, depth: int) -> Any:
        if depth > _DEPTH:
            raise FooterError("the footer is nested too deeply")
        match kind:
            case 1 | 2 | 3:  # in a list, where each boolean is a byte
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
                raise FooterError("the footer is damaged")
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
                raise FooterError("the footer is damaged")

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
