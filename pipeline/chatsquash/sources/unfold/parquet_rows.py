"""Rows of an export that stand in a Parquet file."""

from __future__ import annotations

import io
from collections.abc import Iterator
from datetime import date, datetime
from typing import Any

from chatsquash.core import jsonio
from chatsquash.sources.arrays import Readable
from chatsquash.sources.unfold.rows import KINDS

NAME = "Parquet of rows"
WHAT = "a Parquet file whose columns are the members that another logger writes"
SUFFIXES = (".parquet",)
COPIES = True

_BEGINS = b"PAR1"
_LONGEST = 1 << 30
"""Bytes of a file, which is read whole: what its rows are stands at its end."""
_ROWS = 200
"""Rows that are taken at a time."""


def fits(head: bytes) -> str | None:
    """Parquet; whether its columns are those of an export is told when it is read."""
    return "Parquet" if head.startswith(_BEGINS) else None


def lines(file: Readable) -> Iterator[bytes]:
    """A line for each row, without cells that are null; none of a file with other columns."""
    import polars as pl  # which few files need

    buffer = io.BytesIO(file.read(_LONGEST + 1))
    if buffer.getbuffer().nbytes > _LONGEST:
        raise ValueError(f"has more than {_LONGEST:,} bytes")
    try:
        table = pl.scan_parquet(buffer)
        names = table.collect_schema().names()
        if not any(kind <= {*names} for kind in KINDS):
            return
        at = 0
        while (some := table.slice(at, _ROWS).collect()).height:
            at += some.height
            for row in some.iter_rows(named=True):
                yield jsonio.dumps({name: _plain(cell) for name, cell in row.items() if cell is not None})
    except (pl.exceptions.PolarsError, OSError) as problem:
        raise ValueError(f"cannot be read: {problem}") from None


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
