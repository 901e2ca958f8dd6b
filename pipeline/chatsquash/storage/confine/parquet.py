"""Read rows of Parquet files in a confined process, because damaged files make polars panic or exhaust memory.

polars is loaded with this module, before memory is limited, and uses one thread.
"""

from __future__ import annotations

import io
import os
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

os.environ["POLARS_MAX_THREADS"] = "1"

import polars as pl

from chatsquash.core import jsonio

_ROWS = 200
"""The number of rows per answer."""
# Locating a row requires reading the rows before it.
_BATCH = 32 << 20
"""The approximate number of bytes of rows to load at a time."""
_MAX_ERROR = 200
"""The maximum number of characters of a polars error message."""
_tables: list[pl.LazyFrame] = []
"""The most recently opened table."""
_batches: list[tuple[int, pl.DataFrame]] = []
"""The most recently loaded rows, with the number of the first row."""


def answers(request: memoryview) -> Iterator[bytes]:
    """Answer a request with one JSON value.

    - The bytes of a file: ``["columns", [name]]``.
    - A row number: ``["rows", [row]]``, several rows from that number on, without null cells; empty at the end.

    If the file cannot be read, the answer is ``["broken", reason]``.
    """
    try:
        data = bytes(request)
        answer = _columns(data) if data.startswith(b"PAR1") else _rows(int(data))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as problem:
        answer = ["broken", str(problem).strip().partition("\n")[0][:_MAX_ERROR]]
    yield jsonio.dumps(answer)


def _columns(data: bytes) -> list[Any]:
    _batches.clear()
    _tables[:] = [pl.scan_parquet(io.BytesIO(data))]
    return ["columns", _tables[0].collect_schema().names()]


def _rows(at: int) -> list[Any]:
    rows = _some(at).iter_rows(named=True)
    return ["rows", [{name: _plain(cell) for name, cell in row.items() if cell is not None} for row in rows]]


def _some(at: int) -> pl.DataFrame:
    """Return some rows from a number on, which is 0 or follows the rows that were sent last."""
    start, batch = _batches[-1] if _batches else (0, pl.DataFrame())
    if at >= start + batch.height:
        # Batches grow until they reach the maximum size.
        size = max(1, batch.estimated_size() // max(1, batch.height))
        step = max(_ROWS, min(8 * batch.height, int(_BATCH // size)))
        start, batch = at, _tables[0].slice(at, step).collect()
        _batches[:] = [(start, batch)]
    return batch.slice(at - start, _ROWS)


def _plain(cell: Any) -> Any:
    """Convert a cell to JSON."""
    if isinstance(cell, datetime | date):
        return cell.isoformat()
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "replace")
    if isinstance(cell, dict):
        return {name: _plain(each) for name, each in cell.items()}
    if isinstance(cell, list):
        return [_plain(each) for each in cell]
    return cell if isinstance(cell, str | int | float | bool | None) else str(cell)
