"""A data file with the samples of ``--samples forest``, in rows that share messages."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msgspec import Struct

from chatsquash.core.log import Log
from chatsquash.core.outcome import Outcome, Record
from chatsquash.core.text import printable
from chatsquash.dataset.columns import with_metadata
from chatsquash.dataset.data_files import Shard
from chatsquash.records.forest import Forest


class Origin(Struct):
    """The origin of the sample that is written next."""

    session: str = ""
    source: str = ""

    def set(self, log: Log, outcome: Outcome, record: Record) -> None:
        """Take the origin of a record; it is the session and line of ``reports/sessions.jsonl``."""
        file, line = log.at(record.entry.line if record.entry else None)
        name = log.name if file == log.display_path else file
        self.session = printable(outcome.session)
        self.source = printable(name if line is None else f"{name}:{line}")


class ForestFile:
    """A file whose samples are divided into rows; ``count`` is called with the size of each row."""

    def __init__(self, file: Shard, origin: Origin, flag: str, count: Callable[[int], None]) -> None:
        self._file, self._origin, self._flag, self._count = file, origin, flag, count
        self._forest = Forest()

    def add(self, record: bytes, extra: dict[str, Any], images: Mapping[str, bytes]) -> None:
        """Add a sample with its metadata."""
        line = with_metadata(record, extra)
        for row in self._forest.add(line, self._origin.session, self._origin.source, self._flag):
            self._file.add(row, {}, images)
            self._count(len(row) + 1)

    def finish(self) -> None:
        """Write the remaining data."""
        self._file.finish()
