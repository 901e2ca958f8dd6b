"""What a conversion wrote, as it was when the viewer opened it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar, cast

import msgspec
from xxhash import xxh3_64

from chatsquash.errors import ChatsquashError, UsageError
from chatsquash.folder import Folder
from chatsquash.report.session_table import SESSIONS
from chatsquash.text import escaped
from chatsquash.view.records import Place, Records
from chatsquash.view.reports import FINDINGS, Lines

if TYPE_CHECKING:
    import polars as pl

T = TypeVar("T")
RUN = "run.json"
_FACETS = 500
"""Values of a column that can be chosen."""
_FINDINGS = 1_000
"""Findings of a session that are read."""


class ReplacedError(ChatsquashError):
    """Another run wrote to the folder since it was opened."""


class _File(msgspec.Struct):
    path: str
    size: int = 0


class Input(msgspec.Struct):
    """A log as ``run.json`` has it."""

    path: str
    size: int
    xxh3_128: str = ""
    path_digest: str = ""


class _Manifest(msgspec.Struct):
    chatsquash_version: str
    options: dict[str, Any]
    outputs: list[_File]


class _Inputs(msgspec.Struct):
    inputs: list[Input]


class Result:
    """A result: its sessions and findings in small, its records where they stand."""

    def __init__(self, path: Path, title: str = "") -> None:
        """``title`` is what is shown, in words.  Raises ``UsageError`` for a folder that holds no result."""
        self.path = path
        self.title = title or escaped(str(path))
        self.folder = Folder(path)
        self._lock = Lock()
        self._read: dict[str, object] = {}
        self.identity = identity(path)
        try:
            data = self.folder.read(RUN)
            manifest = msgspec.json.decode(data, type=_Manifest)
        except FileNotFoundError:
            raise UsageError(f"{path / RUN}: is not there: a run writes it at its end") from None
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise UsageError(f"{path / RUN}: is none of this version of chatsquash") from None
        self.tag = xxh3_64(data).hexdigest()
        """Tells this result from those that other runs write there."""
        self.options = manifest.options
        self.version = manifest.chatsquash_version
        self.outputs = {file.path: file.size for file in manifest.outputs}
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
        return self._once("session_lines", lambda: Lines(self.folder, SESSIONS))

    @property
    def finding_lines(self) -> Lines:
        """The findings with all that they hold."""
        return self._once("finding_lines", lambda: Lines(self.folder, FINDINGS))

    def _once(self, name: str, read: Callable[[], T]) -> T:
        with self._lock:
            if name not in self._read:
                self._read[name] = read()
            return cast("T", self._read[name])

    @cached_property
    def facets(self) -> dict[str, list[tuple[str, int]]]:
        """The values of some columns and how many sessions have each, the most frequent first."""
        from chatsquash.view import table

        columns = {name: self.sessions[name] for name in ("format", "model", "outcome")}
        columns["finding"] = self.findings["code"]
        return {name: table.most_frequent(column, _FACETS) for name, column in columns.items()}

    def inputs(self, path: str) -> list[Input]:
        """What ``run.json`` tells of a log."""
        try:
            told = msgspec.json.decode(self.folder.read(RUN), type=_Inputs)
        except (OSError, msgspec.MsgspecError):
            return []
        return [each for each in told.inputs if each.path == path]

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


def is_result(path: Path) -> bool:
    """Whether a folder holds what a conversion wrote."""
    return (path / RUN).is_file() and (path / SESSIONS).is_file()
