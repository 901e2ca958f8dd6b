"""Reads Parquet files as rows to search, and writes the redacted rows."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.model import Json
from chatsquash.core.text import error_text
from chatsquash.dataset import arrow
from chatsquash.dataset.parquet import rows_per_group
from chatsquash.results.redact.places import Hide
from chatsquash.results.redact.record import has_duplicate_members

_FIRST_BATCH, _MAX_BATCH = 64, 8192
"""Rows in memory at once: in the first batch, and at most."""
_BATCH = 32 << 20
"""Approximate bytes in memory at once."""
Cells = dict[str, Any]


class Row(NamedTuple):
    """A row of a table."""

    number: int
    """From 1."""
    cells: Cells
    """The cells as stored."""
    value: Cells
    """The cells with lists of JSON texts parsed to objects.  Bytes and times are unchanged."""
    texts: dict[str, list[str]]
    """The parsed lists as texts, without members that a later one of the same name overrides."""
    is_same: bool
    """Whether these texts equal the stored ones."""


def rows(path: Path) -> Iterator[Row]:
    """Yield all rows with all columns, read in batches; raise ``UsageError`` for an unreadable file."""
    for first, frame in _frames(path):
        for number, cells in enumerate(frame.iter_rows(named=True), first):
            yield _row(number, cells)


def column(path: Path, name: str) -> list[Any]:
    """Return the cells of a column, or an empty list without such a column.  Raises like ``rows``."""
    import polars as pl

    try:
        frame = pl.scan_parquet(path, glob=False)
        return frame.select(name).collect().to_series().to_list() if name in frame.collect_schema() else []
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as problem:
        raise _unreadable(path, problem) from None


class ParquetTable:
    """Rewrites the rows of a file in batches.

    Columns keep their names and types, with two exceptions: names are redacted, and columns restricted to certain
    texts, such as enums, become plain text columns.  Raises ``UsageError`` for an unreadable file.
    """

    def __init__(self, path: Path, hide: Hide) -> None:
        self._path, self._hide = path, hide
        self._schema = _schema(path)
        self._types = {name: _general_type(dtype, hide) for name, dtype in self._schema.items()}
        self._names = {name: hide(name) for name in self._schema}
        same = {name: _general_type(dtype, str) for name, dtype in self._schema.items()}
        self._is_renamed = self._types != same or any(name != new for name, new in self._names.items())
        _refuse_duplicate_names(list(self._names.values()))

    def cells(self, row: Row, value: Cells) -> Cells | None:
        """Return the cells of a row that was changed to another value, or ``None`` if the columns cannot contain it."""
        if len(value) != len(row.cells):
            return None
        cells = dict(zip(row.cells, value.values(), strict=True))
        cells |= {name: _as_texts(texts, cells[name]) for name, texts in row.texts.items()}
        try:
            for name in cells:
                self._column(name, [cells])
        except (_polars().exceptions.PolarsError, TypeError, ValueError, OverflowError):
            return None
        return cells

    def write(self, file: BinaryIO, folder: Path, change: Callable[[Row], Cells | None]) -> None:
        """Write the result of ``change`` for each row; rows for which it returns ``None`` are dropped.

        Batches are stored in temporary files in ``folder`` first.  A row counts as unchanged if ``change`` returns the
        same object.
        """
        sizes, parts = array("Q"), list[Path]()
        for first, frame in _frames(self._path):
            part = self._change(first, frame, change)
            parts.append(folder / f"{len(parts)}.arrow")
            part.write_ipc(parts[-1])
            sizes.extend([part.estimated_size() // max(1, part.height)] * part.height)
        _polars().scan_ipc(parts, glob=False).sink_parquet(
            file, compression="zstd", statistics=False, row_group_size=rows_per_group(sizes), metadata=self._footer()
        )
        for part in parts:
            part.unlink()

    def _change(self, first: int, frame: Any, change: Callable[[Row], Cells | None]) -> Any:
        rows, places, is_changed = list[Cells](), list[int](), self._is_renamed
        for at, cells in enumerate(frame.iter_rows(named=True)):
            result = change(_row(first + at, cells))
            if result is not None:
                is_changed = is_changed or result is not cells
                rows.append(result)
                places.append(at)
        selected = frame if len(places) == frame.height else frame[places]
        columns = []
        for name, dtype in self._schema.items():
            is_new = _is_restricted(dtype) or (is_changed and (self._is_renamed or _may_change(dtype)))
            columns.append(self._column(name, rows) if is_new else selected[name])
        return _polars().DataFrame(columns)

    def _column(self, name: str, rows: list[Cells]) -> Any:
        dtype = self._types[name]
        return _polars().Series(self._names[name], [_fit(row[name], dtype) for row in rows], dtype=dtype)

    def _footer(self) -> dict[str, str]:
        """Return the redacted metadata of the file."""
        metadata = _polars().read_parquet_metadata(self._path)
        schema = metadata.pop(arrow.KEY, None)
        footer = {self._hide(key): self._hide(text) for key, text in metadata.items()}
        lists_values = any(_has(dtype, _polars().Enum) for dtype in self._schema.values())
        if schema is None or self._is_renamed or lists_values or self._hide(schema) != schema:
            return footer
        return {**footer, arrow.KEY: schema}


def _frames(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield batches of rows with the number of the first row; memory does not grow with the file."""
    pl = _polars()
    try:
        table = pl.scan_parquet(path, glob=False)
        total = table.select(pl.len()).collect().item()
        at, step = 0, _FIRST_BATCH
        while at < total or not at:
            frame = table.slice(at, step).collect()
            yield at + 1, frame
            at += step
            step = max(1, min(_MAX_BATCH, _BATCH * frame.height // max(1, frame.estimated_size())))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as problem:
        raise _unreadable(path, problem) from None


def _unreadable(path: Path, problem: Exception) -> UsageError:
    return UsageError(f"{path}: cannot be read ({error_text(problem)})")


def _schema(path: Path) -> dict[str, Any]:
    pl = _polars()
    try:
        return dict(pl.scan_parquet(path, glob=False).collect_schema())
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError) as problem:
        raise _unreadable(path, problem) from None


def _row(number: int, cells: Cells) -> Row:
    value, texts, is_same = {}, {}, True
    for name, cell in cells.items():
        value[name] = cell
        objects = _objects(cell)
        if objects:
            hidden = [has_duplicate_members(text.encode(), each) for text, each in zip(cell, objects, strict=True)]
            value[name] = objects
            texts[name] = [
                jsonio.dumps(each).decode() if hides else text
                for text, each, hides in zip(cell, objects, hidden, strict=True)
            ]
            is_same = is_same and not any(hidden)
    return Row(number, cells, value, texts, is_same)


def _objects(cell: Any) -> list[Json]:
    """Return the objects in a list of JSON texts, or an empty list for any other cell."""
    if not isinstance(cell, list) or not all(isinstance(text, str) and text.startswith("{") for text in cell):
        return []
    objects = list(map(jsonio.value, cell))
    return objects if all(isinstance(each, dict) for each in objects) else []


def _as_texts(texts: list[str], objects: list[Json]) -> list[str]:
    """Return objects as texts; unchanged ones keep their original text."""
    pairs = zip(texts, objects, strict=True)
    return [text if jsonio.value(text) == each else jsonio.dumps(each).decode() for text, each in pairs]


# Types


def _polars() -> Any:
    """Import polars, which is slow, only when needed."""
    import polars as pl

    return pl


def _general_type(dtype: Any, hide: Hide) -> Any:
    """Return a type without restricted texts, with redacted member names."""
    pl = _polars()
    if isinstance(dtype, pl.Struct):
        names = [hide(field.name) for field in dtype.fields]
        _refuse_duplicate_names(names)
        members = [_general_type(field.dtype, hide) for field in dtype.fields]
        return pl.Struct(dict(zip(names, members, strict=True)))
    if isinstance(dtype, pl.List):
        return pl.List(_general_type(dtype.inner, hide))
    if isinstance(dtype, pl.Array):
        return pl.Array(_general_type(dtype.inner, hide), dtype.size)
    if isinstance(dtype, pl.datatypes.BaseExtension):
        return _general_type(dtype.ext_storage(), hide)
    return pl.String() if isinstance(dtype, (pl.Categorical, pl.Enum)) else dtype


def _is_restricted(dtype: Any) -> bool:
    """Return whether a type contains one that restricts its values."""
    pl = _polars()
    return _has(dtype, pl.datatypes.BaseExtension, pl.Categorical, pl.Enum)


def _may_change(dtype: Any) -> bool:
    """Return whether a type contains texts or integers, which may be redacted."""
    pl = _polars()
    return _has(dtype, pl.String) or _has(dtype, pl.datatypes.IntegerType)


def _has(dtype: Any, *kinds: Any) -> bool:
    """Return whether a type is, or contains, one of some kinds."""
    pl = _polars()
    if isinstance(dtype, kinds):
        return True
    if isinstance(dtype, pl.Struct):
        return any(_has(field.dtype, *kinds) for field in dtype.fields)
    return isinstance(dtype, (pl.List, pl.Array)) and _has(dtype.inner, *kinds)


def _fit(value: Any, dtype: Any) -> Any:
    """Return a value with the member names of its type, which may have been redacted."""
    pl = _polars()
    if value is None:
        return None
    if isinstance(dtype, pl.Struct):
        pairs = zip(dtype.fields, value.values(), strict=True)
        return {field.name: _fit(member, field.dtype) for field, member in pairs}
    if isinstance(dtype, (pl.List, pl.Array)):
        return [_fit(each, dtype.inner) for each in value]
    return value


def _refuse_duplicate_names(names: list[str]) -> None:
    if len(set(names)) < len(names):
        raise UsageError("two columns would have the same name after redaction; rename one of them")
