"""The session table and the findings of a result as data frames, with the columns that the list needs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from chatsquash.core.errors import UsageError
from chatsquash.core.text import error_text
from chatsquash.dataset.claim import FINDINGS
from chatsquash.dataset.session_table import SESSIONS
from chatsquash.storage.folder import Folder

if TYPE_CHECKING:
    import polars as pl

OUTCOME_WRITTEN = "written"
"""The outcome of a session with a record."""
_LONGEST = 200
"""Characters of a name, such as that of a model."""
_TEXTS = (
    *("file", "log", "session", "format", "model", "start", "end", "left_out", "filtered"),
    *("kind", "conversation", "parent"),
)
_NUMBERS = ("row", "offset", "record", "sample", "line", "entries", "turns")
_STRUCTS = {
    "findings": ("error", "warning", "info"),
    "replies": ("logged", "carried", "rewritten"),
    "usage": ("prompt_tokens", "completion_tokens"),
}
"""Struct columns of the session table, with the members that are read."""
_TIME = "%Y-%m-%dT%H:%M:%SZ"
_ANCESTORS = 8
"""Levels of sub-agents that are followed to find the session that started them."""
_PIECE = 1 << 20
"""Bytes of a report parsed at once."""


def session_frame(folder: Folder) -> pl.DataFrame:
    """Read the session table, one row per line, in the same order.

    ``nth`` is the number of the session, since a session may have several records. For sub-agents, ``caller`` is the
    row of the conversation that started it and ``under`` the row of the session below which it is listed.

    Raises:
        UsageError: The session table is missing or was not written by this version of chatsquash.
    """
    import polars as pl

    schema: dict[str, Any] = {
        **dict.fromkeys(_TEXTS, pl.String),
        **dict.fromkeys(_NUMBERS, pl.Int64),
        **{name: pl.Struct(dict.fromkeys(members, pl.Int64)) for name, members in _STRUCTS.items()},
    }
    return _with_callers(_read(folder, SESSIONS, schema, list(_columns()))).with_columns(pl.col("nth").cum_sum())


def _columns() -> Iterator[pl.Expr]:
    import polars as pl

    findings, replies, usage = (pl.col(name).struct for name in ("findings", "replies", "usage"))
    without = pl.when(pl.col("row").is_null()).then(pl.lit("none"))
    outcome = pl.coalesce(pl.col("left_out"), pl.col("filtered"), without, pl.lit(OUTCOME_WRITTEN))
    logged_count, carried_count, rewritten_count = (
        replies.field(name).fill_null(0) for name in ("logged", "carried", "rewritten")
    )
    tokens = [usage.field(name) for name in ("prompt_tokens", "completion_tokens")]
    start, end = (pl.col(name).str.to_datetime(_TIME, strict=False) for name in ("start", "end"))
    yield from map(pl.col, ("file", "offset", "log", "session"))
    yield from (pl.col(name).cast(pl.UInt32, strict=False) for name in ("row", "line", "entries", "turns"))
    yield _cut(pl.col("start"))
    yield (end - start).dt.total_seconds().cast(pl.Int32, strict=False).alias("duration")
    yield from (_cut(pl.col(name)).cast(pl.Categorical) for name in ("format", "model", "kind"))
    yield _cut(outcome).cast(pl.Categorical).alias("outcome")
    for name in ("error", "warning", "info"):
        yield findings.field(name).fill_null(0).cast(pl.UInt32, strict=False).alias(f"{name}s")
    yield (logged_count - carried_count - rewritten_count).cast(pl.Int32, strict=False).alias("lost")
    has_tokens = pl.any_horizontal(each.is_not_null() for each in tokens)
    yield pl.when(has_tokens).then(pl.sum_horizontal(tokens)).alias("tokens")
    yield _key("log", "session").alias("key")
    yield pl.all_horizontal(pl.col(name).fill_null(1) == 1 for name in ("record", "sample")).alias("nth")
    yield pl.col("conversation")
    yield pl.when(pl.col("kind") == "subagent").then(pl.col("parent")).alias("parent")


def _with_callers(frame: pl.DataFrame) -> pl.DataFrame:
    """Replace the ids of conversations by the columns ``caller`` and ``under``."""
    import polars as pl

    children = frame.select("at", "log", "parent").drop_nulls("parent")
    parents = frame.select("log", "conversation", caller="at").drop_nulls("conversation")
    remaining = frame.drop("conversation", "parent")
    near = parents.unique(["log", "conversation"], keep="first", maintain_order=True)
    far = parents.drop("log").unique("conversation", keep="first", maintain_order=True)
    callers = (
        children.join(near, left_on=["log", "parent"], right_on=["log", "conversation"], how="left")
        .join(far, left_on="parent", right_on="conversation", how="left", suffix="_far")
        .select("at", caller=pl.coalesce("caller", "caller_far"))
        .filter(pl.col("caller").is_not_null() & (pl.col("caller") != pl.col("at")))
    )
    above: dict[int, int] = dict(callers.iter_rows())
    callers = callers.with_columns(under=pl.Series([_root(at, above) for at in above], dtype=pl.UInt32))
    if not above:
        return remaining.with_columns(pl.lit(None, pl.UInt32).alias(name) for name in ("caller", "under"))
    return remaining.join(callers, on="at", how="left", maintain_order="left")


def _root(at: int, above: dict[int, int]) -> int | None:
    """Return the top-level session of a sub-agent, or ``None`` if the chain of callers is too long or cyclic."""
    for _ in range(_ANCESTORS):
        at = above[at]
        if at not in above:
            return at
    return None


def finding_frame(folder: Folder) -> pl.DataFrame:
    """Read the findings in their order, each with its code, its severity and the key of its session."""
    import polars as pl

    schema = dict.fromkeys(("code", "severity", "session", "file"), pl.String)
    kinds = [_cut(pl.col(name)).cast(pl.Categorical) for name in ("code", "severity")]
    return _read(folder, FINDINGS, schema, [*kinds, _key("file", "session").alias("key")])


def _cut(text: pl.Expr) -> pl.Expr:
    """Shorten a text for display and filters; texts from a log have no limit."""
    import polars as pl

    return pl.when(text.str.len_chars() > _LONGEST).then(text.str.slice(0, _LONGEST - 1) + "…").otherwise(text)


def _key(*names: str) -> pl.Expr:
    """Return a key that distinguishes the sessions of a result, valid only within this process."""
    import polars as pl

    return pl.concat_str([pl.col(name).fill_null("") for name in names], separator="\0").hash()


def _read(folder: Folder, name: str, schema: dict[str, Any], columns: list[pl.Expr]) -> pl.DataFrame:
    """Read columns of a report piece by piece, since its full text takes far more memory than the columns."""
    import polars as pl  # which takes time

    try:
        with folder.open_file(name) as file:
            empty = pl.DataFrame(schema=schema).select(columns)
            frames = [_parse(piece, schema).select(columns) for piece in _pieces(file)]
        return pl.concat([empty, *frames]).with_row_index("at")
    except FileNotFoundError:
        raise UsageError(f"{folder.path / name}: not found; use an output folder of chatsquash convert") from None
    except OSError as problem:
        raise UsageError(f"{folder.path / name}: cannot be read ({problem.strerror})") from None
    except (ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as problem:
        why = error_text(problem)
        raise UsageError(f"{folder.path / name}: file was not written by this version of chatsquash ({why})") from None


def _parse(piece: bytes, schema: dict[str, Any]) -> pl.DataFrame:
    """Parse the lines of a piece; raise ``ValueError`` unless each line is one row, since rows stand for lines."""
    import polars as pl

    frame = pl.read_ndjson(piece, schema=schema)
    count = piece.count(b"\n") + (not piece.endswith(b"\n"))
    if frame.height != count:
        raise ValueError(f"{count:,} lines contain {frame.height:,} objects")
    return frame


def _pieces(file: BinaryIO) -> Iterator[bytes]:
    """Yield the contents of a file in pieces of complete lines."""
    rest = b""
    while chunk := file.read(_PIECE):
        stop = chunk.rfind(b"\n") + 1
        if stop:
            yield rest + chunk[:stop]
            rest = b""
        rest += chunk[stop:]
    if rest.strip():
        yield rest
