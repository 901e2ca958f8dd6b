"""Read datasets row by row: files or folders with JSON Lines (plain or compressed) or Parquet."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.options import Options
from chatsquash.core.text import error_text
from chatsquash.records import IDS_MEMBER, TOKEN_MEMBERS, forest
from chatsquash.sources.compression import KINDS, ExpandedFile, uncompressed
from chatsquash.sources.lines import lines
from chatsquash.sources.names import LOGS
from chatsquash.sources.open import open_file
from chatsquash.storage import refuse_remote

PARQUET = ".parquet"
COLUMNS = ("messages", "prompt", "completion", "tools", "conversations", "system")
"""The members of records; other columns of Parquet files are not read."""
_BATCH = 32 << 20
"""The approximate number of bytes of JSON in memory per batch of a Parquet file."""
# Only one line at a time is in memory, so no limit is needed.
UNBOUNDED = Options(max_expansion=1 << 62, max_expanded=1 << 62)
"""Options without expansion limits."""
_CELL_BUFFER = 32
"""The number of rows whose cells are Python objects at the same time."""
_MAX_ROWS = 8192
"""The maximum number of rows in a batch."""


class DatasetRow(NamedTuple):
    """A row of a dataset file."""

    file: Path
    number: int
    """The number of the line or Parquet row, counted from 1."""
    data: bytes
    """The row as JSON; empty for a line that exceeds the limit."""

    @property
    def session(self) -> str:
        """The session name in findings."""
        return session(self.file)


def session(file: Path) -> str:
    """Return the name of a file without its suffixes."""
    name = file.name
    for suffix in (*KINDS, *LOGS, PARQUET):
        name = name[: -len(suffix)] if name.lower().endswith(suffix) else name
    return name


def rows(path: str, *extra_columns: str) -> Iterator[DatasetRow]:
    """Yield the rows of a dataset.

    Args:
        path: A file, or a folder with record files directly in it or in its ``data`` folder.
        extra_columns: Additional columns of Parquet files to read.

    Raises:
        UsageError: A file cannot be read.
    """
    for file in files(path):
        try:
            yield from flat(
                parquet_rows(file, (*COLUMNS, *extra_columns)) if file.suffix.lower() == PARQUET else _lines(file)
            )
        except OSError as problem:
            raise UsageError(f"{file}: cannot be read ({problem.strerror})") from None


def flat(file_rows: Iterator[DatasetRow]) -> Iterator[DatasetRow]:
    """Yield the rows of a file, or the samples of a forest, which are numbered like rows."""
    first = next(file_rows, None)
    if first is None:
        return
    if forest.is_row_text(first.data):
        places = ((f"{row.file}:{row.number}", row.data) for row in chain((first,), file_rows))
        yield from (DatasetRow(first.file, at, line) for at, line in enumerate(forest.flatten(places), start=1))
        return
    yield first
    yield from file_rows


def is_forest(file: Path) -> bool:
    """Return whether a file contains the rows of a forest; raise the same errors as ``rows``."""
    first = next(complete_rows(str(file)), None)
    return first is not None and forest.is_row_text(first.data)


def complete_rows(path: str) -> Iterator[DatasetRow]:
    """Yield the rows of a file with all columns, whether or not they are records; raise the same errors as ``rows``."""
    file = Path(path)
    try:
        yield from parquet_rows(file, None) if file.suffix.lower() == PARQUET else _lines(file)
    except OSError as problem:
        raise UsageError(f"{file}: cannot be read ({problem.strerror})") from None


def files(path: str) -> list[Path]:
    """Return the files of a dataset, sorted by name; raise ``UsageError`` for a folder without such files."""
    refuse_remote(path)
    folder = Path(path)
    if not folder.is_dir():
        return [folder]
    inside = _inside(folder) or (_inside(folder / "data") if (folder / "data").is_dir() else [])
    if not inside:
        raise UsageError(f"{path}: no *.parquet, and no plain or compressed *.jsonl or *.ndjson, in this folder")
    return inside


def _inside(folder: Path) -> list[Path]:
    return sorted(each for each in folder.iterdir() if is_dataset(each) and each.is_file())


def is_dataset(path: Path) -> bool:
    """Return whether a file name has the suffix of a record file."""
    inner = Path(uncompressed(path.name)).suffix.lower()
    return inner in LOGS or path.suffix.lower() == PARQUET


def _lines(path: Path) -> Iterator[DatasetRow]:
    # A pipe cannot be reopened or decompressed, so it is read directly.
    with open_file(path, UNBOUNDED) if path.is_file() else path.open("rb", buffering=0) as file:
        if path.suffix.lower() in KINDS and not isinstance(file, ExpandedFile) and path.stat().st_size:
            raise UsageError(f"{path}: cannot be read (not compressed, despite its suffix)")
        yield from lines_of(path, file)


def lines_of(path: Path, file: BinaryIO) -> Iterator[DatasetRow]:
    """Yield the nonempty lines of an open, unbuffered file."""
    for line in lines(file):
        data = bytes(line.buffer[line.start : line.stop])
        if data.strip() or line.length > len(data):
            yield DatasetRow(path, line.number, data)
    if isinstance(file, ExpandedFile) and file.problem:
        raise UsageError(f"{path}: cannot be read ({file.problem})")


def parquet_rows(path: Path, columns: tuple[str, ...] | None, file: BinaryIO | None = None) -> Iterator[DatasetRow]:
    """Yield the rows of a Parquet file as JSON, in batches of limited size.

    Args:
        path: The path of the file.
        columns: The columns to read, or ``None`` for all.
        file: The file, if it is already open.
    """
    import polars as pl

    try:
        frame = pl.scan_parquet(file or path, glob=False)
        if columns is not None:
            names = frame.collect_schema().names()
            columns = (*columns, *TOKEN_MEMBERS) if has_only_tokens(names) else columns
            columns = forest.COLUMNS if set(forest.COLUMNS) <= set(names) else columns
            frame = frame.select([name for name in names if name in columns])
        total = frame.select(pl.len()).collect().item()
        at, step = 0, 64
        while at < total:
            batch = frame.slice(at, step).collect()
            size = 0
            for number, cells in enumerate(batch.iter_rows(named=True, buffer_size=_CELL_BUFFER), start=at + 1):
                text = row_text(cells)
                size += len(text)
                yield DatasetRow(path, number, text)
            at += step
            step = max(1, min(_MAX_ROWS, _BATCH * batch.height // size))
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException) as problem:
        raise UsageError(f"{path}: cannot be read ({error_text(problem)})") from None


def has_only_tokens(names: Collection[str]) -> bool:
    """Return whether the members of a record are those of token ids, without messages."""
    return IDS_MEMBER in names and COLUMNS[0] not in names and COLUMNS[1] not in names


def row_text(row: dict[str, Any]) -> bytes:
    """Return a row as a JSON object without null members."""
    members = (jsonio.dumps(name) + b":" + _value(value) for name, value in row.items() if value is not None)
    return b"{" + b",".join(members) + b"}"


def _value(value: Any) -> bytes:
    """Return a cell as JSON."""
    # Messages and tools are lists of JSON strings in Parquet.
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return b"[" + ",".join(value).encode() + b"]"
    return jsonio.dumps(value)
