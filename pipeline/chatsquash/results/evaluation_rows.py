"""Read the rows of evaluation sets: JSON Lines, Parquet, JSON and CSV, with all their columns."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.model import Json
from chatsquash.core.text import error_text
from chatsquash.records.datasets import PARQUET, UNBOUNDED, complete_rows
from chatsquash.records.line import NotARecordError
from chatsquash.records.reading import parse
from chatsquash.sources.compression import uncompressed
from chatsquash.sources.open import open_file

_CSV = {".csv": ",", ".tsv": "\t"}
_LONGEST_FIELD = 1 << 27
_BATCH = 1024


def evaluation_rows(file: Path) -> Iterator[tuple[int, Json]]:
    """Yield the rows of a file with their numbers; raise ``UsageError`` if it cannot be read."""
    suffix = Path(uncompressed(file.name)).suffix.lower()
    try:
        if file.suffix.lower() == PARQUET:
            yield from _parquet_rows(file)
        elif suffix in _CSV:
            yield from _csv_rows(file, _CSV[suffix])
        elif suffix == ".json" and (rows := _json_rows(file)) is not None:
            yield from enumerate(rows, 1)
        else:
            yield from _lines(file)
    except OSError as problem:
        raise UsageError(f"--against {file}: cannot be read ({problem.strerror})") from None


def _lines(file: Path) -> Iterator[tuple[int, Json]]:
    for row in complete_rows(str(file)):
        try:
            yield row.number, parse(row.data)
        except NotARecordError as problem:
            raise UsageError(f"--against {file}:{row.number}: {problem}") from None


def _json_rows(file: Path) -> list[Json] | None:
    """Return the items of a list, or an object as the only row; ``None`` if the file has several lines of JSON."""
    data = _text(file)
    value = jsonio.value(data)
    if isinstance(value, list):
        return value
    if isinstance(value, dict):
        return [value]
    if jsonio.value(data.lstrip().partition("\n")[0]) is None:
        raise UsageError(f"--against {file}: not valid JSON; use a list of tasks, an object, or JSON Lines")
    return None


def _csv_rows(file: Path, delimiter: str) -> Iterator[tuple[int, Json]]:
    limit = csv.field_size_limit(_LONGEST_FIELD)
    try:
        reader = csv.DictReader(io.StringIO(_text(file), newline=""), delimiter=delimiter, restkey="")
        yield from enumerate(({name: cell for name, cell in row.items() if name and cell} for row in reader), 1)
    except csv.Error as problem:
        raise UsageError(f"--against {file}: not valid CSV ({problem})") from None
    finally:
        csv.field_size_limit(limit)


def _text(file: Path) -> str:
    with open_file(file, UNBOUNDED) as stream:
        data = b"".join(iter(lambda: stream.read(1 << 20), b""))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise UsageError(f"--against {file}: not UTF-8 ({problem.reason} at byte {problem.start:,})") from None


def _parquet_rows(file: Path) -> Iterator[tuple[int, Json]]:
    import polars as pl

    try:
        frame = pl.scan_parquet(file, glob=False)
        total: int = frame.select(pl.len()).collect().item()
        for start in range(0, total, _BATCH):
            batch = frame.slice(start, _BATCH).collect()
            yield from enumerate(map(_plain, batch.iter_rows(named=True, buffer_size=32)), start + 1)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as problem:
        raise UsageError(f"--against {file}: cannot be read ({error_text(problem)})") from None


def _plain(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}
