"""Outcomes of logs that were converted while their lines were grouped into sessions.

They are in the journal of the run, and count only for logs that turn out to contain one complete session each.
"""

from __future__ import annotations

import os
from array import array
from contextlib import suppress

import msgspec

from chatsquash.conversion.journal import Frame, Journals, PackedOutcome
from chatsquash.conversion.workers import attempt, needs_lines
from chatsquash.core.log import Log
from chatsquash.core.options import Options
from chatsquash.core.outcome import Outcome
from chatsquash.session.converter import Converter
from chatsquash.session.lineages import Lineages
from chatsquash.session.log_lines import DocumentError, LogLines

_SEEN = 16
"""The size in bytes of the result of ``identify``."""


class EarlyOutcomes:
    """Converts logs of a run while they are read for the first time, and returns their outcomes later.

    Args:
        options: The options of the run.
        lineages: The lineages of the run.
        journals: The journals, which receive the outcomes.
        count: The number of logs.
    """

    def __init__(self, options: Options, lineages: Lineages, journals: Journals, count: int) -> None:
        self.converter = Converter(options, lineages)
        """The converter, also for sessions that are converted later."""
        self._journals, self._needs_lines = journals, needs_lines(options)
        self._resumes = not journals.is_empty()
        self._journal = ""
        self._places = array("Q", bytes(16 * count))
        """The offset and size of each log's payload in the journal; the size is 0 without an outcome."""
        self._seen = bytearray(_SEEN * count)

    def convert(self, log: Log, lines: LogLines) -> bool:
        """Convert a log and collect its lines; return ``False`` without reading it if its outcome is known."""
        if self._resumes and self._journals.find(log):
            return False
        self.converter.lines = lines
        with suppress(DocumentError, MemoryError):
            _, outcome = attempt(self.converter, self._journals.writer, log)
            if outcome:
                self._keep(log.number, outcome)
        self.converter.lines = None  # the log may not have been opened
        return True

    @property
    def digest(self) -> str:
        """The hash of the last log."""
        return self.converter.hashed.hexdigest()

    def _keep(self, number: int, outcome: PackedOutcome) -> None:
        self._journal, size = outcome.journal, len(outcome.payload)
        self._places[2 * number], self._places[2 * number + 1] = outcome.offset - size, size
        self._seen[_SEEN * number : _SEEN * (number + 1)] = outcome.seen

    def offer(self) -> None:
        """Let the journals find the outcomes."""
        if self._journal and self._journals.writer.flush():
            self._journals.early = self

    def find(self, log: Log) -> tuple[Frame, bytes] | None:
        """Return the place of a session's outcome if it is an entire log, as ``Journals.find``."""
        if log.is_part or log.pieces or log.join:
            return None
        offset, size = self._places[2 * log.number : 2 * log.number + 2]
        seen = bytes(self._seen[_SEEN * log.number : _SEEN * (log.number + 1)])
        return (Frame(self._journal, offset, size), seen) if size else None

    def contains(self, frame: Frame) -> bool:
        """Return whether a frame is one of these outcomes."""
        return frame.journal == self._journal

    def get(self, frame: Frame) -> Outcome | None:
        """Read an outcome; its record lines stay in the journal unless the run needs them."""
        try:
            payload = os.pread(self._journals.descriptor_of(frame.journal), frame.size, frame.offset)
            outcome = PackedOutcome(b"", payload, frame.journal, frame.offset + frame.size).outcome
            return self._journals.fill(outcome) if self._needs_lines else outcome
        except (OSError, msgspec.MsgspecError):
            return None
