"""Records as Parquet: each message is stored as JSON text, in a column marked as JSON.

The text is copied from the record's line without parsing, so that it is preserved exactly. The rows of one file are
kept in memory, because the size of its row groups is computed from all of them.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Mapping
from io import BytesIO
from pathlib import PurePosixPath
from types import ModuleType
from typing import Any

import msgspec
from msgspec import Raw

from chatsquash.core import jsonio
from chatsquash.dataset import arrow
from chatsquash.dataset.columns import IMAGES, Field
from chatsquash.dataset.data_files import FileWriter
from chatsquash.records.media import NO_IMAGES

_BATCH = 1 << 20
"""Bytes of text that are collected before they are turned into a data frame."""
_SEPARATOR = b"\n"
"""Separates the items of a list of JSON values; no line of a record contains one."""
_TARGET, _LIMIT = 64 << 20, 128 << 20
"""Bytes of text in a row group: the average, and the maximum unless a single record is larger."""


class ParquetFile:
    """A Parquet file that is being written."""

    def __init__(self, out: FileWriter, name: str, fields: list[Field]) -> None:
        self._out, self._name, self._fields = out, name, fields
        self._decoder = msgspec.json.Decoder(_row_type(fields))
        self._json = [field.name for field in fields if field.kind == "json"]
        self._json_lists = [field.name for field in fields if field.is_json_list]
        self._columns: dict[str, list[Any]] = {field.name: [] for field in fields}
        self._sizes = array("Q")
        self._waiting = 0
        self._frames: list[Any] = []

    def add(self, record: bytes, extra: dict[str, Any], images: Mapping[str, bytes] = NO_IMAGES) -> None:
        """Add a record with its metadata and images."""
        row = self._members(record)
        row.update(extra)
        size = len(record)
        if images:
            row[IMAGES.name] = [{"bytes": images[name], "path": PurePosixPath(name).name} for name in row[IMAGES.name]]
            size += sum(map(len, images.values()))
        for name, values in self._columns.items():
            values.append(row.get(name))
        self._sizes.append(size)
        self._waiting += size
        if self._waiting >= _BATCH:
            self._flush_rows()

    def _members(self, record: bytes) -> dict[str, Any]:
        """Return a record's members by name, with messages as JSON lines; those that it does not have may be absent."""
        try:
            row = msgspec.structs.asdict(self._decoder.decode(record))
        except (msgspec.MsgspecError, RecursionError):  # for example lone surrogates, which jsonio accepts
            row = jsonio.loads(record)
            lists = {name: list(map(jsonio.dumps, row[name])) for name in self._json_lists if row.get(name) is not None}
            row |= lists | {name: jsonio.dumps(row[name]) for name in self._json if row.get(name) is not None}
        for name in self._json_lists:
            if (items := row.get(name)) is not None:
                row[name] = str(_SEPARATOR.join(items), "utf-8")
        for name in self._json:
            if (value := row.get(name)) is not None:
                row[name] = str(value, "utf-8")
        return row

    def finish(self) -> None:
        """Write the file."""
        self._flush_rows()
        polars = _polars()
        buffer = BytesIO()
        polars.concat(self._frames, rechunk=False).write_parquet(
            buffer,
            compression="zstd",
            statistics=False,
            row_group_size=rows_per_group(self._sizes),
            metadata={arrow.KEY: arrow.schema(self._fields, _features(self._fields))},
        )
        self._out.write(self._name, buffer.getvalue(), lines=len(self._sizes))

    def _flush_rows(self) -> None:
        """Turn the collected rows into a data frame, which halves their memory."""
        schema = {field.name: _dtype(field) for field in self._fields}
        lists = {name: _split_lines(self._columns[name]) for name in self._json_lists}
        self._frames.append(_polars().DataFrame(self._columns | lists, schema=schema))
        self._columns = {name: [] for name in self._columns}
        self._waiting = 0


def rows_per_group(sizes: array[int]) -> int:
    """Return the number of rows per group, for groups of about ``_TARGET`` and at most ``_LIMIT`` bytes."""
    rows = max(1, _TARGET * len(sizes) // max(1, sum(sizes)))
    while rows > 1 and any(sum(sizes[at : at + rows]) > _LIMIT for at in range(0, len(sizes), rows)):
        rows //= 2
    return rows


def _split_lines(texts: list[str | None]) -> Any:
    """Return a column with the list of lines of each text, which is empty for an empty text."""
    # Making the lists in polars is much faster than from lists of Python.
    polars = _polars()
    column = polars.Series(texts, dtype=polars.String)
    lists, is_filled = column.str.split("\n"), (column != "").fill_null(value=True)
    return lists if is_filled.all() else lists.zip_with(is_filled, polars.Series([[]], dtype=lists.dtype))


def _features(fields: list[Field]) -> dict[str, str]:
    """Return the metadata that marks a column as images for ``datasets``; Arrow has no type for images."""
    if IMAGES not in fields:
        return {}
    known = {IMAGES.name: {"feature": {"_type": "Image"}, "_type": "List"}}
    return {"huggingface": json.dumps({"info": {"features": known}})}


def _polars() -> ModuleType:
    """Import polars late: it is slow to import, and worker processes must not be forked after its threads start."""
    import polars as pl

    return pl


def _row_type(fields: list[Field]) -> type[msgspec.Struct]:
    """Return the type that decodes a record: messages as raw JSON, unless their members have their own columns."""
    kinds: dict[str, Any] = {"text": str | None, "int": int | None, "float": float | None, "bool": bool | None}
    kinds["json"] = Raw | None
    members = [(field.name, kinds.get(field.kind) or _items(field) | None, None) for field in fields]
    return msgspec.defstruct("Row", members, gc=False)


def _items(field: Field) -> Any:
    if field == IMAGES:
        return list[str]
    numbers: dict[str, Any] = {"int32": list[int], "int8": list[int], "float": list[float]}
    if field.children[0].kind in numbers:
        return numbers[field.children[0].kind]
    return list[Raw] if field.is_json_list else list[dict[str, str | bool | int]]


def _dtype(field: Field) -> Any:
    polars = _polars()
    if field.kind == "list":
        return polars.List(_dtype(field.children[0]))
    if field.kind in ("image", "struct"):
        return polars.Struct({each.name: _dtype(each) for each in field.children or arrow.IMAGE})
    numbers = {"int": polars.Int64, "int32": polars.Int32, "int8": polars.Int8, "float": polars.Float64}
    return {**numbers, "bool": polars.Boolean, "binary": polars.Binary}.get(field.kind, polars.String)
