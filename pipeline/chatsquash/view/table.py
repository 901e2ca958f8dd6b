"""The session table and the findings of a result as frames that are small enough to stay in memory."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, BinaryIO

import polars as pl

from chatsquash.core.errors import UsageError
from chatsquash.dataset.reports.findings import FINDINGS
from chatsquash.dataset.session_table import SESSIONS
from chatsquash.storage.folder import Folder

WRITTEN = "written"
"""The outcome of a session whose record is there."""
LONGEST = 200
"""Characters of a name, such as that of a model."""
_INT, _TEXT = pl.Int64, pl.String
_SESSION = {
    **dict.fromkeys(("file", "log", "session", "format", "model", "start", "left_out", "filtered"), _TEXT),
    **dict.fromkeys(("row", "offset", "record", "sample", "line", "entries", "turns"), _INT),
    **dict.fromkeys(("kind", "conversation", "parent", "finish", "last_user"), _TEXT),
    "findings": pl.Struct(dict.fromkeys(("error", "warning", "info"), _INT)),
    "replies": pl.Struct(dict.fromkeys(("logged", "carried", "rewritten"), _INT)),
    "usage": pl.Struct(dict.fromkeys(("prompt_tokens", "completion_tokens"), _INT)),
}
_FINDING = dict.fromkeys(("code", "severity", "session", "file"), _TEXT)
_PIECE = 1 << 20
"""Bytes of a report that are parsed at once."""
_WHY = 200
"""Characters that are told of why they cannot be, in which polars repeats values."""


def sessions(folder: Folder) -> pl.DataFrame:
    """The session table, a row for each of its lines in their order; raises ``UsageError`` for none of chatsquash.

    ``nth`` is which session of the run a row is about, since one may have several records.
    """
    findings, replies, usage = (pl.col(name).struct for name in ("findings", "replies", "usage"))
    without = pl.when(pl.col("row").is_null()).then(pl.lit("none"))
    outcome = pl.coalesce(pl.col("left_out"), pl.col("filtered"), without, pl.lit(WRITTEN))
    logged, carried, rewritten = (replies.field(name).fill_null(0) for name in ("logged", "carried", "rewritten"))
    tokens = [usage.field(name) for name in ("prompt_tokens", "completion_tokens")]
    columns = [
        *map(pl.col, ("file", "row", "offset", "log", "line", "session")),
        _cut(pl.col("start")),
        *map(pl.col, ("entries", "turns")),
        *(_cut(pl.col(name)).cast(pl.Categorical) for name in ("format", "model", "kind")),
        _cut(outcome).cast(pl.Categorical).alias("outcome"),
        *(findings.field(name).fill_null(0).alias(f"{name}s") for name in ("error", "warning", "info")),
        (logged - carried - rewritten).alias("lost"),
        pl.when(pl.any_horizontal(each.is_not_null() for each in tokens))
        .then(pl.sum_horizontal(tokens))
        .alias("tokens"),
        _key("log", "session").alias("key"),
        pl.all_horizontal(pl.col(name).fill_null(1) == 1 for name in ("record", "sample")).alias("nth"),
    ]
    return _read(folder, SESSIONS, _SESSION, columns).with_columns(pl.col("nth").cum_sum())


def findings(folder: Folder) -> pl.DataFrame:
    """The findings in their order, each with its code, its severity and the key of its session."""
    kinds = [_cut(pl.col(name)).cast(pl.Categorical) for name in ("code", "severity")]
    return _read(folder, FINDINGS, _FINDING, [*kinds, _key("file", "session").alias("key")])


def most_frequent(column: pl.Series, most: int) -> list[tuple[str, int]]:
    """The values of a column and how often each stands there, the most frequent first."""
    counts = column.cast(pl.String).drop_nulls().value_counts(sort=True).head(most)
    return [(value, count) for value, count in counts.iter_rows()]


def _cut(text: pl.Expr) -> pl.Expr:
    """A text that is shown or chosen, and may be of any length in a log."""
    return pl.when(text.str.len_chars() > LONGEST).then(text.str.slice(0, LONGEST - 1) + "…").otherwise(text)


def _key(*names: str) -> pl.Expr:
    """What tells the sessions of a result apart, as long as this process lives."""
    return pl.concat_str([pl.col(name).fill_null("") for name in names], separator="\0").hash()


def _read(folder: Folder, name: str, schema: dict[str, Any], columns: list[pl.Expr]) -> pl.DataFrame:
    """Columns of a report, in pieces, since all of its text takes far more memory than they do."""
    try:
        with folder.reading(name) as file:
            empty = pl.DataFrame(schema=schema).select(columns)
            frames = [_parse(piece, schema).select(columns) for piece in _pieces(file)]
        return pl.concat([empty, *frames]).with_row_index("at")
    except FileNotFoundError:
        raise UsageError(f"{folder.path / name}: is not there: name a folder that chatsquash convert wrote") from None
    except OSError as problem:
        raise UsageError(f"{folder.path / name}: cannot be read ({problem.strerror})") from None
    except (ValueError, pl.exceptions.PolarsError) as problem:
        why = str(problem)[:_WHY].partition("\n")[0]
        raise UsageError(f"{folder.path / name}: is none of this version of chatsquash: {why}") from None


def _parse(piece: bytes, schema: dict[str, Any]) -> pl.DataFrame:
    """The lines of a piece, each of them a row: else rows and lines would not belong together."""
    frame = pl.read_ndjson(piece, schema=schema)
    count = piece.count(b"\n") + (not piece.endswith(b"\n"))
    if frame.height != count:
        raise ValueError(f"{count:,} lines hold {frame.height:,} objects")
    return frame


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    """What is in a file, in pieces that end with a line."""
    rest = b""
    while chunk := file.read(_PIECE):
        stop = chunk.rfind(b"\n") + 1
        if stop:
            yield rest + chunk[:stop]
            rest = b""
        rest += chunk[stop:]
    if rest.strip():
        yield rest
