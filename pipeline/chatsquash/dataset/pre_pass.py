"""The pass over all records before the first is written, for prefix duplicates and clusters."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from struct import Struct
from typing import BinaryIO, NamedTuple

from msgspec.structs import replace

from chatsquash.checks import dataset
from chatsquash.core.index import Names
from chatsquash.core.log import Log
from chatsquash.core.model import Violation
from chatsquash.core.options import Options
from chatsquash.core.outcome import Family, Likeness, Outcome, Record
from chatsquash.dataset.filters import Duplicates, Filters, duplicate_detector
from chatsquash.dataset.near_duplicates import SketchIndex
from chatsquash.records.sketch import SIZE
from chatsquash.session.fingerprints import SIZE as DIGEST
from chatsquash.session.fingerprints import of_record
from chatsquash.sources.compression import stem


class PrePass:
    """Collects the records that pass all filters, in order, and then checks the same records in the same order.

    Args:
        options: The options of the run.
        scratch: Returns a new temporary file.
    """

    def __init__(self, options: Options, scratch: Callable[[], BinaryIO]) -> None:
        self._options = options
        self._prefixes = Prefixes(scratch()) if options.duplicate_mode == "prefix" else None
        self._clusters = Clusters() if options.clusters else None
        self._duplicates: Duplicates = duplicate_detector(options)
        self._at = -1

    def add(self, log: Log, outcome: Outcome, records: list[Record]) -> None:
        """Add the records of a session."""
        with_likeness = [replace(record, alike=of_record(record, self._options)) for record in records]
        for record in with_likeness:
            if self._prefixes and record.alike:
                self._prefixes.add(record.alike, log.display_path)
        if self._clusters:
            self._clusters.add(with_likeness, outcome.output.family)

    def finish(self) -> None:
        """Evaluate the records after the last one was added."""
        if self._prefixes:
            self._prefixes.finish()
        if self._clusters:
            self._clusters.finish()

    def check(self, record: Record, log: str) -> Violation | None:
        """See ``Duplicates``."""
        self._at += 1
        return self._prefixes.check(self._at) if self._prefixes else self._duplicates.check(record, log)

    def with_cluster(self, log: Log, outcome: Outcome) -> Outcome:
        """Return the outcome whose records were checked last, with the family of its cluster."""
        if not self._clusters or not outcome.records:
            return outcome
        family = Family(outcome.session, self._clusters.of(self._at), stem(log), outcome.output.day)
        return replace(outcome, output=replace(outcome.output, family=family))


def run_pre_pass(
    outcomes: Iterable[tuple[Log, Outcome]], filters: Filters, options: Options, scratch: Callable[[], BinaryIO]
) -> PrePass:
    """Run the pre-pass over all sessions, and make it the detector of duplicates."""
    pre_pass = PrePass(options, scratch)
    for log, outcome in outcomes:
        pre_pass.add(log, outcome, filters.remaining_records(log, outcome))
    pre_pass.finish()
    filters.duplicates = pre_pass
    return pre_pass


class Clusters:
    """Clusters of records that are near, begin alike or belong to one session; records are numbered in order.

    The name of a cluster is the smallest digest of its records, so that it does not depend on their order.
    """

    def __init__(self) -> None:
        self._parents = array("I")
        self._names = bytearray()
        self._first_records: dict[bytes, int] = {}
        """The first record with each beginning."""
        self._near = SketchIndex()
        self._sketch_records = array("I")
        """The record of each sketch."""

    def add(self, records: list[Record], family: Family | None) -> None:
        """Add the records of a session, or of one conversation of an agent session."""
        first = len(self._parents)
        for number, record in enumerate(records, start=first):
            self._parents.append(number)
            self._unite(number, first)
            assert record.alike
            begins = [record.alike.prompt, bytes.fromhex(_prefix(record, family))]
            self._names += min(filter(None, begins), default=record.digest)
            for begin in filter(None, begins):
                self._unite(number, self._first_records.setdefault(begin, number))
            self._link_similar(number, record.alike.sketch)

    def _link_similar(self, number: int, sketch: bytes) -> None:
        """Unite a record with near ones; its sketch is only indexed if it is new."""
        is_indexed = False
        for other, equal in self._near.find_near(sketch):
            self._unite(number, self._sketch_records[other])
            is_indexed = is_indexed or equal == SIZE
        if not is_indexed:
            self._near.add(sketch)
            self._sketch_records.append(number)

    def _unite(self, one: int, other: int) -> None:
        low, high = sorted((self._root(one), self._root(other)))
        self._parents[high] = low

    def _root(self, number: int) -> int:
        while (parent := self._parents[number]) != number:
            self._parents[number] = number = self._parents[parent]
        return number

    def finish(self) -> None:
        """Compute the names of the clusters."""
        self._first_records.clear()
        self._near, self._sketch_records = SketchIndex(), array("I")
        for number in range(len(self._parents)):
            root = self._root(number)
            least = min(self._name(root), self._name(number))
            self._names[root * DIGEST : (root + 1) * DIGEST] = least

    def of(self, number: int) -> str:
        """Return the name of a record's cluster."""
        return self._name(self._root(number)).hex()

    def _name(self, number: int) -> bytes:
        return bytes(self._names[number * DIGEST : (number + 1) * DIGEST])


def _prefix(record: Record, family: Family | None) -> str:
    """Return the digest of the beginning of a record's session, which may not be part of the record."""
    if family:
        return family.prefix
    return record.facts.prefix if record.facts else ""


_HEAD = Struct("<QQ")
"""The number of a record, and its number of messages."""


class _Longest(NamedTuple):
    """The longest record that begins with a shorter one."""

    messages: int
    number: int


class Prefixes:
    """Finds records that are the beginning of another one; records are numbered in order.

    Such a record is replaced by the longest record that begins with it, the first in case of a tie. No other record
    begins with the longest one, so it is written. Of records that differ only in ids and flags, the first is kept, as
    with ``ids``.
    """

    def __init__(self, scratch: BinaryIO) -> None:
        self._scratch = scratch
        self._logs = Names()
        self._firsts: dict[bytes, int] = {}
        """The first of equal records, by their common digest."""
        self._ends: dict[bytes, int] = {}
        """Records by the digest of all their messages; of equal ones only the first."""
        self._equal: dict[int, int] = {}
        """The first of equal records, by each of the others."""
        self._longer: dict[int, _Longest] = {}

    def add(self, alike: Likeness, log: str) -> None:
        """Add the next record."""
        number = len(self._logs)
        self._logs.append(log)
        if (first := self._firsts.setdefault(alike.same, number)) != number:
            self._equal[number] = first
            return
        self._ends[alike.begins[-DIGEST:]] = number
        self._scratch.write(_HEAD.pack(number, len(alike.begins) // DIGEST - 1))
        self._scratch.write(alike.begins)

    def finish(self) -> None:
        """Find the records that are the beginning of others."""
        # All beginnings of the records in the file are compared with the complete shorter records.
        for number, messages, begins in self._signatures():
            for at in range(0, messages * DIGEST, DIGEST):
                shorter = self._ends.get(begins[at : at + DIGEST])
                if shorter is not None and self._longer.get(shorter, _NONE).messages < messages:
                    self._longer[shorter] = _Longest(messages, number)
        self._firsts.clear()
        self._ends.clear()

    def _signatures(self) -> Iterator[tuple[int, int, bytes]]:
        self._scratch.seek(0)
        while head := self._scratch.read(_HEAD.size):
            number, messages = _HEAD.unpack(head)
            yield number, messages, self._scratch.read((messages + 1) * DIGEST)

    def check(self, number: int) -> Violation | None:
        """Return a violation if a record duplicates another one."""
        first = self._equal.get(number, number)
        if first in self._longer:
            return dataset.duplicate_record(self._logs[self._longer[first].number], "prefix")
        return dataset.duplicate_record(self._logs[first], "ids") if first != number else None


_NONE = _Longest(0, 0)
