"""The result of an earlier run in the output folder, and checks whether it may be replaced."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import NamedTuple

import msgspec
from msgspec import Struct, field
from xxhash import xxh3_128

from chatsquash.core.errors import UsageError
from chatsquash.core.log import Log
from chatsquash.core.text import pluralize, printable
from chatsquash.dataset.summary import Summary
from chatsquash.results.types import Input
from chatsquash.sources.open import raw

_MAX_FOLDERS = 3  # folders named in an error


class _OldWritten(Struct):
    written: int


class _OldCounts(Struct):
    sessions: _OldWritten
    conversations: _OldWritten | None = None
    """Missing in results of old versions, which had one conversation per session."""


class _OldRun(Struct):
    """The relevant members of an old ``run.json``."""

    counts: _OldCounts
    inputs: list[Input]
    options: dict[str, object] = field(default_factory=dict)


class OldResult(NamedTuple):
    """The result of an earlier run with at least one record."""

    folder: str
    records: int
    logs: list[Input]
    time: datetime
    options: dict[str, object]

    def other_options(self, options: dict[str, object]) -> list[str]:
        """Return the options that had other values."""
        now = msgspec.json.decode(msgspec.json.encode(options))
        return [name for name, value in self.options.items() if name in now and now[name] != value]

    def refuse_other_logs(self, candidates: Iterable[Log], digest: Callable[[str], str]) -> None:
        """Raise ``UsageError`` if none of its logs is among the candidates, by path or by content.

        Args:
            candidates: The logs of this run.
            digest: Returns the digest of a path, which identifies paths with replaced private values.
        """
        hidden = {each.path_digest for each in self.logs} - {""}
        if hidden and any(digest(printable(log.display_path)) in hidden for log in candidates):
            return
        paths = {os.path.abspath(each.path) for each in self.logs if not each.path_digest}  # noqa: PTH100 - of any text
        if any(os.path.abspath(printable(log.display_path)) in paths for log in candidates):  # noqa: PTH100
            return
        hashes = {(each.size, each.xxh3_128) for each in self.logs}
        sizes = {size for size, _ in hashes}
        if not any(log.size in sizes and (log.size, _hash(log)) in hashes for log in candidates):
            raise UsageError(f"{self._description()}, but none of these logs is read in this run; {_HINT}")

    def refuse(self) -> None:
        """Raise ``UsageError``, since the result may only be replaced on request."""
        raise UsageError(f"{self._description()}; {_HINT}")

    def refuse_nothing(self, summary: Summary) -> None:
        """Raise ``UsageError`` if the new run has no records."""
        if not summary.written:
            now = pluralize(summary.sessions, "session")
            raise UsageError(f"{self._description()}, but {now} of this run produced no record; {_HINT}")

    def _description(self) -> str:
        folders = list(dict.fromkeys(os.path.dirname(each.path) or "." for each in self.logs))  # noqa: PTH120
        roots = _roots(folders)
        logs = ", ".join(roots[:_MAX_FOLDERS]) + (
            f" and {len(roots) - _MAX_FOLDERS} more" if len(roots) > _MAX_FOLDERS else ""
        )
        when = f"{self.time:%Y-%m-%d %H:%M} UTC"
        return f"{self.folder}: contains {pluralize(self.records, 'record')} of {logs}, written at {when}"


def _roots(folders: list[str]) -> list[str]:
    """Return the common parent folder, or else the top-level folders."""
    try:
        common = os.path.commonpath(folders)
    except ValueError:  # a mixture of absolute and relative paths
        return folders
    return [common] if common else list(dict.fromkeys(folder.split("/")[0] for folder in folders))


_HINT = "nothing was replaced; choose another folder with --output, or add --replace"


def old_result(folder: str, manifest: bytes, changed: float) -> OldResult | None:
    """Parse the ``run.json`` of a result, with its modification time; return ``None`` if it has no records."""
    try:
        run = msgspec.json.decode(manifest, type=_OldRun)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    records = (run.counts.conversations or run.counts.sessions).written
    if not records:
        return None
    return OldResult(folder, records, run.inputs, datetime.fromtimestamp(changed, UTC), run.options)


def _hash(log: Log) -> str:
    """Return the hash of a log, or an empty string if it cannot be read, which its conversion reports."""
    try:
        with raw(log.path) as file:
            return hashlib.file_digest(file, xxh3_128).hexdigest()
    except OSError:
        return ""
