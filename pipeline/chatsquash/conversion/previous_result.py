"""What a run may put in the place of the result that an earlier one left in its output folder."""

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

_NAMED = 3  # folders of an old result, in an error


class _OldWritten(Struct):
    written: int


class _OldCounts(Struct):
    sessions: _OldWritten
    conversations: _OldWritten | None = None
    """Those of before had one for each session."""


class _OldRun(Struct):
    """What counts of an old ``run.json``."""

    counts: _OldCounts
    inputs: list[Input]
    options: dict[str, object] = field(default_factory=dict)


class OldResult(NamedTuple):
    """What an earlier run left in an output folder; one without records is none."""

    folder: str
    records: int
    logs: list[Input]
    written: datetime
    options: dict[str, object]

    def other_options(self, options: dict[str, object]) -> list[str]:
        """The options that it was made with other values of."""
        now = msgspec.json.decode(msgspec.json.encode(options))
        return [name for name, value in self.options.items() if name in now and now[name] != value]

    def refuse_other_logs(self, candidates: Iterable[Log], digest: Callable[[str], str]) -> None:
        """Raise ``UsageError`` where none of its logs is among these, by path or by what they hold.

        ``digest`` tells paths apart in which something private was replaced.
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
            raise UsageError(f"{self._said()}, and none of those logs is among the ones found now; {_HINT}")

    def refuse(self) -> None:
        """Raise ``UsageError``, since nothing may replace it unasked."""
        raise UsageError(f"{self._said()}; {_HINT}")

    def refuse_nothing(self, summary: Summary) -> None:
        """Raise ``UsageError`` where a run has no records."""
        if not summary.written:
            now = pluralize(summary.sessions, "session")
            raise UsageError(f"{self._said()}, and {now} found now gave no record; {_HINT}")

    def _said(self) -> str:
        folders = list(dict.fromkeys(os.path.dirname(each.path) or "." for each in self.logs))  # noqa: PTH120
        roots = _roots(folders)
        logs = ", ".join(roots[:_NAMED]) + (f" and {len(roots) - _NAMED} more" if len(roots) > _NAMED else "")
        when = f"{self.written:%Y-%m-%d %H:%M} UTC"
        return f"{self.folder}: holds {pluralize(self.records, 'record')} of {logs}, written at {when}"


def _roots(folders: list[str]) -> list[str]:
    """The folder in which all of these are, or the first ones that they are in."""
    try:
        common = os.path.commonpath(folders)
    except ValueError:  # some are named from the root, others from where one is
        return folders
    return [common] if common else list(dict.fromkeys(folder.split("/")[0] for folder in folders))


_HINT = "nothing was replaced: choose another folder with --output, or replace it with --replace"


def old_result(folder: str, written: bytes, changed: float) -> OldResult | None:
    """The result in an output folder by its ``run.json``, changed at that time; ``None`` where it has no records."""
    try:
        run = msgspec.json.decode(written, type=_OldRun)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
    records = (run.counts.conversations or run.counts.sessions).written
    if not records:
        return None
    return OldResult(folder, records, run.inputs, datetime.fromtimestamp(changed, UTC), run.options)


def _hash(log: Log) -> str:
    """The hash of a log's bytes; empty where it cannot be read, which converting it will say."""
    try:
        with raw(log.path) as file:
            return hashlib.file_digest(file, xxh3_128).hexdigest()
    except OSError:
        return ""
