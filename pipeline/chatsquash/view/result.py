"""What a conversion wrote, as it was when the viewer opened it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec

from chatsquash.core.errors import ChatsquashError
from chatsquash.core.outcome import Place
from chatsquash.core.text import escaped
from chatsquash.dataset.commit import RUN
from chatsquash.dataset.reports.findings import FINDINGS
from chatsquash.dataset.session_table import SESSIONS
from chatsquash.records.places import Records
from chatsquash.results.output import Lines, ResultFolder, damaged
from chatsquash.storage.folder import Folder

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")
_FACETS = 500
"""Values of a column that can be chosen."""
_FINDINGS = 1_000
"""Findings of a session that are read."""


class ReplacedError(ChatsquashError):
    """Another run wrote to the folder since it was opened."""


class _Finding(msgspec.Struct):
    """What is shown of a finding, by its type."""

    code: str
    severity: str
    text: str = ""
    message: int | None = None
    line: int | None = None
    record: str | None = None


class _Session(msgspec.Struct):
    """What is looked at of a whole line of the session table, by its type."""

    conversation: str | None = None
    record: int | None = None
    sample: int | None = None


class _Lost(msgspec.Struct):
    lost: dict[str, int]


class _LeftOut(msgspec.Struct):
    left_out: dict[str, int]


class _Unreadable(msgspec.Struct):
    unreadable: int


class _Counts(msgspec.Struct):
    """What is shown of the counts of ``run.json``, by its type."""

    sessions: _LeftOut
    lines: _Unreadable
    replies: _Lost
    pairs: dict[str, int]
    findings: dict[str, dict[str, int]]
    filtered_findings: dict[str, dict[str, int]]
    other_files: dict[str, int]


class _Typed(Lines):
    """The lines of a report; raises ``UsageError`` for one that is not as chatsquash writes it."""

    def __init__(self, folder: Folder, name: str, kind: type[msgspec.Struct]) -> None:
        super().__init__(folder, name)
        self._kind = kind

    def __getitem__(self, at: int) -> dict[str, Any]:
        try:
            line = super().__getitem__(at)
            msgspec.convert(line, self._kind)
        except (IndexError, msgspec.ValidationError):
            raise damaged(self._folder, self._name) from None
        return line


class ViewerResult(ResultFolder):
    """A result: its sessions and findings in small, its records where they stand."""

    def __init__(self, path: Path, title: str = "") -> None:
        """``title`` is what is shown, in words.  Raises ``UsageError`` for a folder that holds no result."""
        self.path = path
        self.title = title or escaped(str(path))
        self._lock = Lock()
        self._read: dict[str, object] = {}
        self.identity = identity(path)
        super().__init__(Folder(path))
        try:
            msgspec.convert(self.counts, _Counts)
        except msgspec.ValidationError:
            raise damaged(self.folder, RUN) from None
        self.records = Records(self.folder)

    def is_replaced(self) -> bool:
        """Whether another run wrote there since."""
        return identity(self.path) != self.identity

    # What is read once, when it is first asked for, by whichever thread

    @property
    def sessions(self) -> pl.DataFrame:
        """The session table, as ``table.sessions`` has it."""
        from chatsquash.view import table  # which takes time to import

        return self._once("sessions", lambda: table.sessions(self.folder))

    @property
    def findings(self) -> pl.DataFrame:
        """The findings, as ``table.findings`` has them."""
        from chatsquash.view import table

        return self._once("findings", lambda: table.findings(self.folder))

    @property
    def session_lines(self) -> Lines:
        """The lines of the session table with all that they hold."""
        return self._once("session_lines", lambda: _Typed(self.folder, SESSIONS, _Session))

    @property
    def finding_lines(self) -> Lines:
        """The findings with all that they hold."""
        return self._once("finding_lines", lambda: _Typed(self.folder, FINDINGS, _Finding))

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
        from chatsquash.view import table

        columns = {name: self.sessions[name] for name in ("format", "model", "outcome")}
        of_sessions = self.findings.filter(self.findings["key"].is_in(self.sessions["key"].unique().implode()))
        columns["finding"] = of_sessions.unique(["code", "key"])["code"]
        return {name: table.most_frequent(column, _FACETS) for name, column in columns.items()}

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
