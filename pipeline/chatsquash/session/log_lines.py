"""Collect the lines of a log with their sessions while it is read, for grouping by chain or also for its conversion."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterator
from typing import BinaryIO, Protocol

from msgspec.structs import replace

from chatsquash.core.log import Log
from chatsquash.core.model import Entry, SkippedLine
from chatsquash.core.options import Options
from chatsquash.reading.reader import Reader, Reading
from chatsquash.reading.sessions import document_parts
from chatsquash.session.parts import UNKNOWN, pack_time
from chatsquash.sources.compression import ExpandedFile
from chatsquash.sources.identity import limit_to_discovered_size


class DocumentError(Exception):
    """A log is a document, whose sessions are its conversations and not its lines."""


class LogLines:
    """The lines of one log.

    Args:
        reader: Reads the log.
        options: The options of the run.
        add: Returns the session of the next entry.
    """

    def __init__(self, reader: Reader, options: Options, add: Callable[[Entry], int]) -> None:
        self._reader, self._options, self._add = reader, options, add
        self.spans, self.sessions, self.times = array("Q"), array("q"), array("q")
        self.is_complete = False
        """Whether the log was read to its end."""
        self.is_compressed = False
        self.problem: str | None = None
        """The reason why the rest of a compressed file was not read."""
        self.parts: list[Log] = []
        """The conversations of a document."""

    def read(self, file: BinaryIO, log: Log, hashed: Callable[[memoryview], object]) -> Reading:
        """Return the entries of a log, as ``Reader.read``, and collect its lines while they are consumed.

        Raises:
            DocumentError: The log is a document.
        """
        expanded = file if isinstance(file, ExpandedFile) else None
        self.is_compressed = expanded is not None
        complete_file = file if expanded else limit_to_discovered_size(file, log)
        reading = self._reader.read(complete_file, log, hashed, self.spans)
        if reading.document is None:
            return replace(reading, items=self._watch(reading.items, expanded))
        if any(isinstance(item, Entry) for item in reading.items):
            self.parts = document_parts(log, file, self._options)
        self.is_complete = True
        raise DocumentError

    def _watch(
        self, items: Iterator[Entry | SkippedLine], expanded: ExpandedFile | None
    ) -> Iterator[Entry | SkippedLine]:
        """Pass on the items of a log and collect its lines."""
        for item in items:
            if isinstance(item, Entry):
                self.sessions.append(self._add(item))
                self.times.append(pack_time(item.at))
                if item.line == 1 and item.size > self.spans[2] + self.spans[3]:  # an exchange that spans several lines
                    self.spans = array("Q", (1, 0, item.size, 0))
            elif item.lines:
                self.sessions.append(UNKNOWN)
                self.times.append(UNKNOWN)
            yield item
        self.problem = expanded.problem if expanded else None
        self.is_complete = True


class LogConverter(Protocol):
    """Converts logs while they are read for the first time."""

    def convert(self, log: Log, lines: LogLines) -> bool:
        """Convert a log and collect its lines; return ``False`` without reading it if its outcome is known."""

    @property
    def digest(self) -> str:
        """The hash of the last log."""
