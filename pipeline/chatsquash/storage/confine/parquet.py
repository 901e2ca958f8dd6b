"""The rows of a Parquet file, read in a confined process: a damaged one makes polars panic or take all memory.

polars is loaded with this module, before memory is limited, and has one thread.
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
"""Rows that are sent at a time."""
_BATCH = 32 << 20
"""Bytes of rows, about, that are taken at a time: to find a row, those before it are gone through."""
_SHOWN = 200
"""Characters of a message of polars that are shown."""
_tables: list[pl.LazyFrame] = []
"""The table that was opened last."""
_batches: list[tuple[int, pl.DataFrame]] = []
"""Rows of it that were taken last, and the number of the first one."""


def answers(request: memoryview) -> Iterator[bytes]:
    """A request is a file, or a number of JSON; the answer is one value of JSON.

    - A file: ``["columns", [name]]``.
    - A number: ``["rows", [row]]``, some rows from that one on without cells that are null; none at the end.

    ``["broken", why]`` comes where it cannot be read.
    """
    try:
        data = bytes(request)
        answer = _columns(data) if data.startswith(b"PAR1") else _rows(int(data))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as problem:
        answer = ["broken", str(problem).strip().partition("\n")[0][:_SHOWN]]
    yield jsonio.dumps(answer)


def _columns(data: bytes) -> list[Any]:
    _batches.clear()
    _tables[:] = [pl.scan_parquet(io.BytesIO(data))]
    return ["columns", _tables[0].collect_schema().names()]


def _rows(at: int) -> list[Any]:
    rows = _some(at).iter_rows(named=True)
    return ["rows", [{name: _plain(cell) for name, cell in row.items() if cell is not None} for row in rows]]


def _some(at: int) -> pl.DataFrame:
    """Some rows from one on, whose number is 0 or follows those that were sent last."""
    start, batch = _batches[-1] if _batches else (0, pl.DataFrame())
    if at >= start + batch.height:
        size = max(1, batch.estimated_size() // max(1, batch.height))
        step = max(_ROWS, min(8 * batch.height, int(_BATCH // size)))
        start, batch = at, _tables[0].slice(at, step).collect()
        _batches[:] = [(start, batch)]
    return batch.slice(at - start, _ROWS)


def _plain(cell: Any) -> Any:
    """A cell as JSON has it."""
    if isinstance(cell, datetime | date):
        return cell.isoformat()
    if isinstance(cell, bytes):
        return cell.decode("utf-8", "replace")
    if isinstance(cell, dict):
        return {name: _plain(each) for name, each in cell.items()}
    if isinstance(cell, list):
        return [_plain(each) for each in cell]
    return cell if isinstance(cell, str | int | float | bool | None) else str(cell)
