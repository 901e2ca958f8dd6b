"""What a run may put in the place of the result that an earlier one left in its output folder."""

from __future__ import annotations

import os
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec import Struct
from xxhash import xxh3_128

from chatsquash.errors import UsageError
from chatsquash.model import Log
from chatsquash.report.summary import Summary
from chatsquash.text import counted, printable

_PIECE = 1 << 20
_NAMED = 3  # folders of an old result, in an error


class _Input(Struct):
    """A session of the old run: the log it is of, its bytes, and their hash."""

    path: str
    size: int
    xxh3_128: str


class _Sessions(Struct):
    written: int


class _Counts(Struct):
    sessions: _Sessions


class _Run(Struct):
    """What counts of an old ``run.json``."""

    counts: _Counts
    inputs: list[_Input]


class Result(NamedTuple):
    """What an earlier run left in an output folder; one without records is none."""

    folder: Path
    records: int
    logs: list[_Input]
    written: datetime

    def refuse_other_logs(self, found: Iterable[Log]) -> None:
        """Raise ``UsageError`` where none of its logs is among these, by path or by what they hold."""
        spelled = {each.path for each in self.logs}
        if any(printable(log.shown) in spelled for log in found):  # as it mostly is, and found out soonest
            return
        paths = set(map(os.path.abspath, spelled))
        if any(os.path.abspath(printable(log.shown)) in paths for log in found):  # noqa: PTH100 - of any text
            return
        hashes = {(each.size, each.xxh3_128) for each in self.logs}
        sizes = {size for size, _ in hashes}
        if not any(log.size in sizes and (log.size, _hash(log)) in hashes for log in found):
            raise UsageError(f"{self._said()}, and none of those logs is among the ones found now; {_HINT}")

    def refuse_nothing(self, summary: Summary) -> None:
        """Raise ``UsageError`` where a run has no records."""
        if not summary.written:
            now = counted(summary.sessions, "session")
            raise UsageError(f"{self._said()}, and {now} found now gave no record; {_HINT}")

    def _said(self) -> str:
        folders = list(dict.fromkeys(os.path.dirname(each.path) or "." for each in self.logs))  # noqa: PTH120
        roots = _roots(folders)
        logs = ", ".join(roots[:_NAMED]) + (f" and {len(roots) - _NAMED} more" if len(roots) > _NAMED else "")
        when = f"{self.written:%Y-%m-%d %H:%M} UTC"
        return f"{self.folder}: holds {counted(self.records, 'record')} of {logs}, written at {when}"


def _roots(folders: list[str]) -> list[str]:
    """The folder in which all of these are, or the first ones that they are in."""
    try:
        common = os.path.commonpath(folders)
    except ValueError:  # some are named from the root, others from where one is
        return folders
    return [common] if common else list(dict.fromkeys(folder.split("/")[0] for folder in folders))


_HINT = "nothing was replaced: choose another folder with --output, or replace it with --replace"


def old_result(folder: Path, written: bytes, changed: float) -> Result | None:
    """The result in an output folder by its ``run.json``, changed at that time; ``None`` where it has no records."""
    try:
        run = msgspec.json.decode(written, type=_Run)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    if not run.counts.sessions.written:
        return None
    return Result(folder, run.counts.sessions.written, run.inputs, datetime.fromtimestamp(changed, UTC))


def _hash(log: Log) -> str:
    """The hash of a log's bytes; empty where it cannot be read, which converting it will say."""
    digest = xxh3_128()
    try:
        with open(log.path, "rb") as file:
            while piece := file.read(_PIECE):
                digest.update(piece)
    except OSError:
        return ""
    return digest.hexdigest()
