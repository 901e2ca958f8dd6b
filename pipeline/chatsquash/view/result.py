"""The output of a conversion as the viewer opened it: compact frames in memory, and lines read on demand."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from threading import Lock
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeVar, cast

from chatsquash.core.errors import ChatsquashError
from chatsquash.core.outcome import Place
from chatsquash.core.text import escape
from chatsquash.dataset.claim import FINDINGS
from chatsquash.dataset.session_table import SESSIONS
from chatsquash.records.places import Records, read_all
from chatsquash.results.output import Lines, ResultFolder
from chatsquash.results.titles import title_of_line
from chatsquash.results.types import FindingRow, SessionRow
from chatsquash.storage.commit import RUN
from chatsquash.storage.folder import Folder
from chatsquash.view.frames import finding_frame, session_frame

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")
_FACETS = 500
"""Values of a column that are offered as filters."""
_FINDINGS = 1_000
"""Findings read per session."""
_TITLES = 20_000
"""Titles that are cached."""
_SECONDS = 0.5
"""Time limit for reading the titles of a page; the remaining ones are read with the next request."""


class ReplacedError(ChatsquashError):
    """Another run has written to the folder since it was opened."""


class ViewerResult(ResultFolder):
    """A result: its sessions and findings as compact frames, its records on disk."""

    def __init__(self, path: Path, title: str = "") -> None:
        """Open a result; ``title`` is its display name. Raises ``UsageError`` if the folder contains no result."""
        self.path = path
        self.title = title or escape(str(path))
        self._lock = Lock()
        self._read: dict[str, object] = {}
        self.identity = identity(path)
        self._titles: dict[int, str | None] = {}
        super().__init__(Folder(path))
        self.typed_counts("unreadable")
        self.records = Records(self.folder)

    def is_replaced(self) -> bool:
        """Return whether another run has written to the folder since."""
        return identity(self.path) != self.identity

    # Read once, on first use, by any thread

    @property
    def sessions(self) -> pl.DataFrame:
        """The session table, one row per line."""
        return self._once("sessions", lambda: session_frame(self.folder))

    @property
    def findings(self) -> pl.DataFrame:
        """The findings, each with its code, its severity and the key of its session."""
        return self._once("findings", lambda: finding_frame(self.folder))

    @property
    def session_lines(self) -> Lines:
        """The lines of the session table with all members."""
        return self._once("session_lines", lambda: Lines(self.folder, SESSIONS, SessionRow))

    @property
    def finding_lines(self) -> Lines:
        """The findings with all members."""
        return self._once("finding_lines", lambda: Lines(self.folder, FINDINGS, FindingRow))

    def _once(self, name: str, read: Callable[[], T]) -> T:
        with self._lock:
            if name not in self._read:
                self._read[name] = read()
            return cast("T", self._read[name])

    @cached_property
    def facets(self) -> dict[str, list[tuple[str, int]]]:
        """The values of the filter columns with their numbers of rows, the most frequent first.

        For findings, the number is that of sessions with the code; findings about files without a session do not count.
        """
        columns = {name: self.sessions[name] for name in ("format", "model", "outcome")}
        of_sessions = self.findings.filter(self.findings["key"].is_in(self.sessions["key"].unique().implode()))
        columns["finding"] = of_sessions.unique(["code", "key"])["code"]
        return {name: _most_frequent(column, _FACETS) for name, column in columns.items()}

    def findings_of(self, key: int) -> list[dict[str, Any]]:
        """Return the findings of a session in their order, up to a limit."""
        frame = self.findings
        rows = frame.filter(frame["key"] == key)["at"].head(_FINDINGS).to_list()
        return [self.finding_lines[at] for at in rows]

    def titles(self, rows: Iterable[int]) -> dict[int, str]:
        """Return the first prompts of records by row, if they have one and could be read in time."""
        missing = [at for at in rows if at not in self._titles]
        by_file: dict[str, dict[Place, int]] = {}
        for at in missing:
            if place := self.place(at):
                by_file.setdefault(place.file, {})[place] = at
        ends = monotonic() + _SECONDS
        new_titles: dict[int, str | None] = {}
        for name, places in by_file.items():
            with suppress(ChatsquashError):  # the page of a damaged record reports the problem
                for place, data in read_all(self.folder, name, places):
                    new_titles[places[place]] = title_of_line(data)
                    if monotonic() > ends:
                        break
            if monotonic() > ends:
                break
        if len(self._titles) > _TITLES:
            self._titles = {}
        self._titles |= new_titles
        titles = {at: new_titles[at] if at in new_titles else self._titles.get(at) for at in rows}
        return {at: title for at, title in titles.items() if title}

    def children(self, rows: Iterable[int]) -> dict[int, list[dict[str, Any]]]:
        """Return the rows of sub-agents by the row of the session that started them."""
        frame = self.sessions
        parents = list(rows)
        children: dict[int, list[dict[str, Any]]] = {}
        for row in frame.filter(frame["under"].is_in(parents)).iter_rows(named=True):
            children.setdefault(row["under"], []).append(row)
        return children

    def place(self, at: int) -> Place | None:
        """Return the location of the record of a row, or ``None`` if there is no record."""
        row = self.sessions.row(at, named=True)
        if row["file"] is None or row["row"] is None:
            return None
        return Place(row["file"], row["row"], row["offset"])


def identity(path: Path) -> tuple[int, ...] | None:
    """Return a value that identifies the run that wrote a result, or ``None`` if there is no result."""
    try:
        status = (path / RUN).stat(follow_symlinks=False)
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


def _most_frequent(column: pl.Series, most: int) -> list[tuple[str, int]]:
    """Return the values of a column with their counts, the most frequent first."""
    import polars as pl

    counts = column.cast(pl.String).drop_nulls().value_counts(sort=True).head(most)
    return [(value, count) for value, count in counts.iter_rows()]
