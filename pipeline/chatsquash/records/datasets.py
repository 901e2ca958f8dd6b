"""Datasets that exist already: files or folders of records, JSONL (plain or compressed) and Parquet."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.options import Options
from chatsquash.core.text import error_text
from chatsquash.core.urls import refuse_remote
from chatsquash.sources.compression import KINDS, ExpandedFile, uncompressed
from chatsquash.sources.lines import lines
from chatsquash.sources.names import LOGS
from chatsquash.sources.open import open_file

PARQUET = ".parquet"
COLUMNS = ("messages", "prompt", "completion", "tools", "conversations", "system")
"""What a record may consist of; other columns of a Parquet file are not read."""
_BATCH = 32 << 20
"""Bytes of JSON text, about, that are held of a Parquet file at once."""
UNBOUNDED = Options(max_expansion=1 << 62, max_expanded=1 << 62)
"""No more of a dataset is held than a line, however far it expands."""
_CELL_BUFFER = 32
"""Rows of which the cells are held as values of Python."""
_MAX_ROWS = 8192
"""Rows that are held at once."""


class DatasetRow(NamedTuple):
    """A record as it stands in a file."""

    file: Path
    number: int
    """1-based: the line, or the row of a Parquet file."""
    data: bytes
    """Its JSON text; empty for a line that is too long to be read."""

    @property
    def session(self) -> str:
        """What stands for a session in findings."""
        return session(self.file)


def session(file: Path) -> str:
    """A file's name without its suffixes."""
    name = file.name
    for suffix in (*KINDS, *LOGS, PARQUET):
        name = name[: -len(suffix)] if name.lower().endswith(suffix) else name
    return name


def rows(path: str, *extra_columns: str) -> Iterator[DatasetRow]:
    """Every record of a dataset; a folder stands for its record files, or for those in its ``data`` folder.

    ``beside`` are columns of Parquet files that are read, too.  Raises ``UsageError`` for what cannot be read.
    """
    for file in files(path):
        try:
            yield from (
                parquet_rows(file, (*COLUMNS, *extra_columns)) if file.suffix.lower() == PARQUET else _lines(file)
            )
        except OSError as problem:
            raise UsageError(f"{file}: cannot be read ({problem.strerror})") from None


def complete_rows(path: str) -> Iterator[DatasetRow]:
    """Every row of a file with all that it holds, whether or not it is a record; raises as ``rows``."""
    file = Path(path)
    try:
        yield from parquet_rows(file, None) if file.suffix.lower() == PARQUET else _lines(file)
    except OSError as problem:
        raise UsageError(f"{file}: cannot be read ({problem.strerror})") from None


def files(path: str) -> list[Path]:
    """The files of a dataset, by name; raises ``UsageError`` for a folder without any."""
    refuse_remote(path)
    folder = Path(path)
    if not folder.is_dir():
        return [folder]
    inside = _inside(folder) or (_inside(folder / "data") if (folder / "data").is_dir() else [])
    if not inside:
        raise UsageError(f"{path}: no datasets (*.jsonl, *.ndjson, also compressed, *.parquet) in this folder")
    return inside


def _inside(folder: Path) -> list[Path]:
    return sorted(each for each in folder.iterdir() if is_dataset(each) and each.is_file())


def is_dataset(path: Path) -> bool:
    """Whether the name is one that record files have."""
    inner = Path(uncompressed(path.name)).suffix.lower()
    return inner in LOGS or path.suffix.lower() == PARQUET


def _lines(path: Path) -> Iterator[DatasetRow]:
    # A pipe is read as it comes.
    with open_file(path, UNBOUNDED) if path.is_file() else path.open("rb", buffering=0) as file:
        if path.suffix.lower() in KINDS and not isinstance(file, ExpandedFile) and path.stat().st_size:
            raise UsageError(f"{path}: cannot be read (it is not compressed, as its name says)")
        yield from lines_of(path, file)


def lines_of(path: Path, file: BinaryIO) -> Iterator[DatasetRow]:
    """The lines of a file that is open unbuffered, but for empty ones."""
    for line in lines(file):
        data = bytes(line.buffer[line.start : line.stop])
        if data.strip() or line.length > len(data):
            yield DatasetRow(path, line.number, data)
    if isinstance(file, ExpandedFile) and file.problem:
        raise UsageError(f"{path}: cannot be read ({file.problem})")


def parquet_rows(path: Path, columns: tuple[str, ...] | None, file: BinaryIO | None = None) -> Iterator[DatasetRow]:
    """The rows of a Parquet file as JSON texts, in batches that do not grow with the file; ``None``: of all columns.

    ``file`` is the one at the path, where that is open.
    """
    import polars as pl

    try:
        frame = pl.scan_parquet(file or path, glob=False)
        if columns is not None:
            frame = frame.select([name for name in frame.collect_schema().names() if name in columns])
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


def row_text(row: dict[str, Any]) -> bytes:
    """A row as one JSON object, without what is null."""
    members = (jsonio.dumps(name) + b":" + _value(value) for name, value in row.items() if value is not None)
    return b"{" + b",".join(members) + b"}"


def _value(value: Any) -> bytes:
    """A cell as JSON: a list of texts is one of JSON texts, which is how messages and tools are held."""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return b"[" + ",".join(value).encode() + b"]"
    return jsonio.dumps(value)
