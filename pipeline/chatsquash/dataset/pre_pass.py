"""What has to be known of all records before one of them is written."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import BinaryIO

from msgspec.structs import replace

from chatsquash.core.log import Log
from chatsquash.core.model import Violation
from chatsquash.core.options import Options
from chatsquash.core.outcome import Family, Outcome, Record
from chatsquash.dataset.clusters import Clusters
from chatsquash.dataset.duplicates import Duplicates, streamed
from chatsquash.dataset.filters import Filters
from chatsquash.dataset.prefixes import Prefixes
from chatsquash.session.fingerprints import of_record
from chatsquash.sources.compression import stem


class Foresight:
    """Sees the records that no filter leaves out, in order; then they come once more, to be told apart.

    ``scratch`` gives a file without a name.
    """

    def __init__(self, options: Options, scratch: Callable[[], BinaryIO]) -> None:
        self._options = options
        self._prefixes = Prefixes(scratch()) if options.told_apart == "prefix" else None
        self._clusters = Clusters() if options.clusters else None
        self._otherwise: Duplicates = streamed(options)
        self._at = -1

    def see(self, log: Log, outcome: Outcome, records: list[Record]) -> None:
        """Take note of the records of a session."""
        told = [replace(record, alike=of_record(record, self._options)) for record in records]
        for record in told:
            if self._prefixes and record.alike:
                self._prefixes.see(record.alike, log.shown)
        if self._clusters:
            self._clusters.see(told, outcome.family)

    def settle(self) -> None:
        """No record is left to be seen."""
        if self._prefixes:
            self._prefixes.settle()
        if self._clusters:
            self._clusters.settle()

    def look(self, record: Record, log: str) -> Violation | None:
        """As ``Duplicates`` has it."""
        self._at += 1
        return self._prefixes.look(self._at) if self._prefixes else self._otherwise.look(record, log)

    def placed(self, log: Log, outcome: Outcome) -> Outcome:
        """The outcome whose records were looked at last, as of the family of its cluster."""
        if not self._clusters or not outcome.records:
            return outcome
        return replace(outcome, family=Family(outcome.session, self._clusters.of(self._at), stem(log), outcome.day))


def foreseen(
    found: Iterable[tuple[Log, Outcome]], filters: Filters, options: Options, scratch: Callable[[], BinaryIO]
) -> Foresight:
    """What is to be known of all sessions, by which filters tell duplicates apart from then on."""
    foresight = Foresight(options, scratch)
    for log, outcome in found:
        foresight.see(log, outcome, filters.wanted(log, outcome))
    foresight.settle()
    filters.duplicates = foresight
    return foresight
