"""What a conversion wrote, as it was when the viewer opened it: frames that are small enough to stay in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, BinaryIO, TypeVar, cast

from chatsquash.core.errors import ChatsquashError, UsageError
from chatsquash.core.outcome import Place
from chatsquash.core.text import error_text, escape
from chatsquash.dataset.reports.findings import FINDINGS
from chatsquash.dataset.session_table import SESSIONS
from chatsquash.records.places import Records
from chatsquash.results.output import Lines, ResultFolder
from chatsquash.results.types import FindingRow, SessionRow
from chatsquash.storage.commit import RUN
from chatsquash.storage.folder import Folder

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")
_FACETS = 500
"""Values of a column that can be chosen."""
_FINDINGS = 1_000
"""Findings of a session that are read."""

WRITTEN = "written"
"""The outcome of a session whose record is there."""
LONGEST = 200
"""Characters of a name, such as that of a model."""
_TEXTS = (
    *("file", "log", "session", "format", "model", "start", "left_out", "filtered"),
    *("kind", "conversation", "parent", "finish", "last_user"),
)
_NUMBERS = ("row", "offset", "record", "sample", "line", "entries", "turns")
_STRUCTS = {
    "findings": ("error", "warning", "info"),
    "replies": ("logged", "carried", "rewritten"),
    "usage": ("prompt_tokens", "completion_tokens"),
}
"""Columns of the session table that are read."""
_PIECE = 1 << 20
"""Bytes of a report that are parsed at once."""


class ReplacedError(ChatsquashError):
    """Another run wrote to the folder since it was opened."""


class ViewerResult(ResultFolder):
    """A result: its sessions and findings in small, its records where they stand."""

    def __init__(self, path: Path, title: str = "") -> None:
        """``title`` is what is shown, in words.  Raises ``UsageError`` for a folder that holds no result."""
        self.path = path
        self.title = title or escape(str(path))
        self._lock = Lock()
        self._read: dict[str, object] = {}
        self.identity = identity(path)
        super().__init__(Folder(path))
        self.typed_counts("unreadable")
        self.records = Records(self.folder)

    def is_replaced(self) -> bool:
        """Whether another run wrote there since."""
        return identity(self.path) != self.identity

    # What is read once, when it is first asked for, by whichever thread

    @property
    def sessions(self) -> pl.DataFrame:
        """The session table, a row for each of its lines."""
        return self._once("sessions", lambda: _session_frame(self.folder))

    @property
    def findings(self) -> pl.DataFrame:
        """The findings, each with its code, its severity and the key of its session."""
        return self._once("findings", lambda: _finding_frame(self.folder))

    @property
    def session_lines(self) -> Lines:
        """The lines of the session table with all their members."""
        return self._once("session_lines", lambda: Lines(self.folder, SESSIONS, SessionRow))

    @property
    def finding_lines(self) -> Lines:
        """The findings with all their members."""
        return self._once("finding_lines", lambda: Lines(self.folder, FINDINGS, FindingRow))

    def _once(self, name: str, read: Callable[[], T]) -> T:
        with self._lock:
            if name not in self._read:
                self._read[name] = read()
            return cast("T", self._read[name])

    @cached_property
    def facets(self) -> dict[str, list[tuple[str, int]]]:
        """The values of some columns and how many rows have each, the most frequent first.

        Of findings that is how many sessions have one of a code; those about files alone are of no session.
        """
        columns = {name: self.sessions[name] for name in ("format", "model", "outcome")}
        of_sessions = self.findings.filter(self.findings["key"].is_in(self.sessions["key"].unique().implode()))
        columns["finding"] = of_sessions.unique(["code", "key"])["code"]
        return {name: _most_frequent(column, _FACETS) for name, column in columns.items()}

    def findings_of(self, key: int) -> list[dict[str, Any]]:
        """The findings of a session, in their order, at most so many as people read."""
        frame = self.findings
        rows = frame.filter(frame["key"] == key)["at"].head(_FINDINGS).to_list()
        return [self.finding_lines[at] for at in rows]

    def place(self, at: int) -> Place | None:
        """Where the record of a row of the session table stands; ``None`` for one without."""
        row = self.sessions.row(at, named=True)
        if row["file"] is None or row["row"] is None:
            return None
        return Place(row["file"], row["row"], row["offset"])


def identity(path: Path) -> tuple[int, ...] | None:
    """What tells the result in a folder from that of another run; ``None`` while there is none."""
    try:
        status = (path / RUN).stat(follow_symlinks=False)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _session_frame(folder: Folder) -> pl.DataFrame:
    """The session table, a row for each of its lines in their order; raises ``UsageError`` for none of chatsquash.

    ``nth`` is which session of the run a row is about, since one may have several records.
    """
    import polars as pl

    schema = {
        **dict.fromkeys(_TEXTS, pl.String),
        **dict.fromkeys(_NUMBERS, pl.Int64),
        **{name: pl.Struct(dict.fromkeys(members, pl.Int64)) for name, members in _STRUCTS.items()},
    }
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
    return _read(folder, SESSIONS, schema, columns).with_columns(pl.col("nth").cum_sum())


def _finding_frame(folder: Folder) -> pl.DataFrame:
    """The findings in their order, each with its code, its severity and the key of its session."""
    import polars as pl

    schema = dict.fromkeys(("code", "severity", "session", "file"), pl.String)
    kinds = [_cut(pl.col(name)).cast(pl.Categorical) for name in ("code", "severity")]
    return _read(folder, FINDINGS, schema, [*kinds, _key("file", "session").alias("key")])


def _most_frequent(column: pl.Series, most: int) -> list[tuple[str, int]]:
    """The values of a column and how often each stands there, the most frequent first."""
    import polars as pl

    counts = column.cast(pl.String).drop_nulls().value_counts(sort=True).head(most)
    return [(value, count) for value, count in counts.iter_rows()]


def _cut(text: pl.Expr) -> pl.Expr:
    """A text that is shown or chosen, and may be of any length in a log."""
    import polars as pl

    return pl.when(text.str.len_chars() > LONGEST).then(text.str.slice(0, LONGEST - 1) + "…").otherwise(text)


def _key(*names: str) -> pl.Expr:
    """What tells the sessions of a result apart, as long as this process lives."""
    import polars as pl

    return pl.concat_str([pl.col(name).fill_null("") for name in names], separator="\0").hash()


def _read(folder: Folder, name: str, schema: dict[str, Any], columns: list[pl.Expr]) -> pl.DataFrame:
    """Columns of a report, in pieces, since all of its text takes far more memory than they do."""
    import polars as pl  # which takes time

    try:
        with folder.reading(name) as file:
            empty = pl.DataFrame(schema=schema).select(columns)
            frames = [_parse(piece, schema).select(columns) for piece in _pieces(file)]
        return pl.concat([empty, *frames]).with_row_index("at")
    except FileNotFoundError:
        raise UsageError(f"{folder.path / name}: is not there: name a folder that chatsquash convert wrote") from None
    except OSError as problem:
        raise UsageError(f"{folder.path / name}: cannot be read ({problem.strerror})") from None
    except (ValueError, pl.exceptions.PolarsError, pl.exceptions.PanicException) as problem:
        why = error_text(problem)
        raise UsageError(f"{folder.path / name}: is none of this version of chatsquash: {why}") from None


def _parse(piece: bytes, schema: dict[str, Any]) -> pl.DataFrame:
    """The lines of a piece, each of them a row: else rows and lines would not belong together."""
    import polars as pl

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
