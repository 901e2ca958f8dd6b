"""Records as Parquet: each message as its JSON text, in columns that say so.

The text is cut out of the record's line and never parsed, so that it comes back as it was.  Batches of rows are laid
aside on the disk, and a file is made of them when it is full, so that its row groups can be of one size.
"""

from __future__ import annotations

from array import array
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from pipeline.errors import ChatsquashError
from pipeline.write.dataset import arrow
from pipeline.write.dataset.arrow import Field
from pipeline.write.output import Output

if TYPE_CHECKING:
    from types import ModuleType

_BATCH = 8 << 20
"""Bytes of text that wait in memory."""
_AIM, _MOST = 64 << 20, 128 << 20
"""Bytes of text in a row group: so many on average, and never more, unless one record has more."""
_PIECE = 1 << 20


class ParquetFile:
    """A file that is being written."""

    def __init__(self, out: Output, name: str, fields: list[Field]) -> None:
        self._out, self._name, self._fields = out, name, fields
        self._cut = msgspec.json.Decoder(_row_type(fields))
        self._columns: dict[str, list[Any]] = {field.name: [] for field in fields}
        self._sizes = array("Q")
        self._waiting = 0
        self._batches: list[Path] = []

    def add(self, record: bytes, beside: dict[str, Any]) -> None:
        """One record more."""
        row = self._cut.decode(record)
        for field in self._fields:
            self._columns[field.name].append(beside[field.name] if field.name in beside else _value(row, field))
        self._sizes.append(len(record))
        self._waiting += len(record)
        if self._waiting >= _BATCH:
            self._lay_aside()

    def finish(self) -> None:
        """Make the file of the batches."""
        self._lay_aside()
        made = self._out.scratch(self._name)
        polars = _polars()
        try:
            polars.scan_ipc(self._batches).sink_parquet(
                made,
                compression="zstd",
                statistics=False,
                row_group_size=rows_per_group(self._sizes),
                metadata={arrow.KEY: arrow.schema(self._fields)},
            )
        except polars.exceptions.PolarsError as problem:
            raise ChatsquashError(f"{self._name}: could not be written ({problem})") from None
        with made.open("rb") as file:
            while piece := file.read(_PIECE):
                self._out.write(self._name, piece, lines=0)
        self._out.write(self._name, b"", lines=len(self._sizes))
        for path in (made, *self._batches):
            path.unlink()

    def _lay_aside(self) -> None:
        polars = _polars()
        schema = {field.name: _dtype(field) for field in self._fields}
        path = self._out.scratch(f"{self._name}.{len(self._batches)}")
        try:
            polars.DataFrame(self._columns, schema=schema).write_ipc(path, compression="uncompressed")
        except polars.exceptions.PolarsError as problem:
            raise ChatsquashError(f"{self._name}: could not be written ({problem})") from None
        self._batches.append(path)
        self._columns = {name: [] for name in self._columns}
        self._waiting = 0


def rows_per_group(sizes: array[int]) -> int:
    """How many rows a group has, so that it is of about ``_AIM`` and never over ``_MOST`` bytes."""
    rows = max(1, _AIM * len(sizes) // max(1, sum(sizes)))
    while rows > 1 and any(sum(sizes[at : at + rows]) > _MOST for at in range(0, len(sizes), rows)):
        rows //= 2
    return rows


def _polars() -> ModuleType:
    """Polars, whose threads a worker process must not be forked beside, and which takes long to import."""
    import polars as pl

    return pl


def _row_type(fields: list[Field]) -> type[msgspec.Struct]:
    """What is cut out of a record: messages as raw JSON, unless their members are columns of their own."""
    kinds: dict[str, Any] = {"text": str | None, "int": int | None}
    members = [
        (f.name, kinds.get(f.kind) or (list[Raw] if _is_json(f) else list[dict[str, str]]) | None, None) for f in fields
    ]
    return msgspec.defstruct("Row", members, gc=False)


def _is_json(field: Field) -> bool:
    return field.kind == "list" and field.children[0].kind == "json"


def _value(row: Any, field: Field) -> Any:
    value = getattr(row, field.name)
    return [bytes(each).decode() for each in value] if value is not None and _is_json(field) else value


def _dtype(field: Field) -> Any:
    polars = _polars()
    if field.kind == "list":
        return polars.List(_dtype(field.children[0]))
    if field.kind == "struct":
        return polars.Struct({each.name: _dtype(each) for each in field.children})
    return polars.Int64 if field.kind == "int" else polars.String
