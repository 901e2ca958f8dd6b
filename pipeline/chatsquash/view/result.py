"""What a conversion wrote, as it was when the viewer opened it: frames that are small enough to stay in memory."""

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
from chatsquash.dataset.reports.findings import FINDINGS
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
"""Values of a column that can be chosen."""
_FINDINGS = 1_000
"""Findings of a session that are read."""
_TITLES = 20_000
"""Titles that stay in memory."""
_SECONDS = 0.5
"""What reading the titles of a page may take; those that are left come with the next request."""


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
        self._titles: dict[int, str | None] = {}
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
        return self._once("sessions", lambda: session_frame(self.folder))

    @property
    def findings(self) -> pl.DataFrame:
        """The findings, each with its code, its severity and the key of its session."""
        return self._once("findings", lambda: finding_frame(self.folder))

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

    def titles(self, rows: Iterable[int]) -> dict[int, str]:
        """The first prompts of the records of some rows, of those that have one and are read in time."""
        missing = [at for at in rows if at not in self._titles]
        by_file: dict[str, dict[Place, int]] = {}
        for at in missing:
            if place := self.place(at):
                by_file.setdefault(place.file, {})[place] = at
        ends = monotonic() + _SECONDS
        new_titles: dict[int, str | None] = {}
        for name, places in by_file.items():
            with suppress(ChatsquashError):  # the page of a damaged record says what is wrong with it
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
        """The rows of the sub-agents that sessions began, by the rows of these."""
        frame = self.sessions
        parents = list(rows)
        children: dict[int, list[dict[str, Any]]] = {}
        for row in frame.filter(frame["under"].is_in(parents)).iter_rows(named=True):
            children.setdefault(row["under"], []).append(row)
        return children

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


def _most_frequent(column: pl.Series, most: int) -> list[tuple[str, int]]:
    """The values of a column and how often each stands there, the most frequent first."""
    import polars as pl

    counts = column.cast(pl.String).drop_nulls().value_counts(sort=True).head(most)
    return [(value, count) for value, count in counts.iter_rows()]
