"""What has to be known of all records before one of them is written."""

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
from chatsquash.dataset.duplicates import Duplicates, streamed
from chatsquash.dataset.filters import Filters
from chatsquash.dataset.near_duplicates import Nearness
from chatsquash.records.sketch import SIZE
from chatsquash.session.fingerprints import SIZE as DIGEST
from chatsquash.session.fingerprints import of_record
from chatsquash.sources.compression import stem


class Foresight:
    """Sees the records that no filter leaves out, in order; then they come once more, to be told apart.

    ``scratch`` gives a file without a name.
    """

    def __init__(self, options: Options, scratch: Callable[[], BinaryIO]) -> None:
        self._options = options
        self._prefixes = Prefixes(scratch()) if options.duplicate_mode == "prefix" else None
        self._clusters = Clusters() if options.clusters else None
        self._otherwise: Duplicates = streamed(options)
        self._at = -1

    def see(self, log: Log, outcome: Outcome, records: list[Record]) -> None:
        """Take note of the records of a session."""
        compared = [replace(record, alike=of_record(record, self._options)) for record in records]
        for record in compared:
            if self._prefixes and record.alike:
                self._prefixes.see(record.alike, log.display_path)
        if self._clusters:
            self._clusters.see(compared, outcome.output.family)

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

    def place(self, log: Log, outcome: Outcome) -> Outcome:
        """The outcome whose records were looked at last, as of the family of its cluster."""
        if not self._clusters or not outcome.records:
            return outcome
        family = Family(outcome.session, self._clusters.of(self._at), stem(log), outcome.output.day)
        return replace(outcome, output=replace(outcome.output, family=family))


def foreseen(
    outcomes: Iterable[tuple[Log, Outcome]], filters: Filters, options: Options, scratch: Callable[[], BinaryIO]
) -> Foresight:
    """What is to be known of all sessions, by which filters tell duplicates apart from then on."""
    foresight = Foresight(options, scratch)
    for log, outcome in outcomes:
        foresight.see(log, outcome, filters.remaining_records(log, outcome))
    foresight.settle()
    filters.duplicates = foresight
    return foresight


class Clusters:
    """Records by number, in order, united where they are near, begin alike, or are of one session.

    A cluster has the least of its records' digests for a name, so that it depends on no order.
    """

    def __init__(self) -> None:
        self._parents = array("I")
        self._names = bytearray()
        self._begun: dict[bytes, int] = {}
        """The first record that begins so."""
        self._near = Nearness()
        self._of_near = array("I")
        """The records of the sketches."""

    def see(self, records: list[Record], family: Family | None) -> None:
        """Take note of the next records, which are those of a session, or of a conversation of an agent's session."""
        first = len(self._parents)
        for number, record in enumerate(records, start=first):
            self._parents.append(number)
            self._unite(number, first)
            assert record.alike
            begins = [record.alike.prompt, bytes.fromhex(_begins(record, family))]
            self._names += min(filter(None, begins), default=record.digest)
            for begin in filter(None, begins):
                self._unite(number, self._begun.setdefault(begin, number))
            self._look(number, record.alike.sketch)

    def _look(self, number: int, sketch: bytes) -> None:
        """Unite a record with those that are near; one that has the same sketch stands for it from then on."""
        is_there = False
        for other, equal in self._near.near(sketch):
            self._unite(number, self._of_near[other])
            is_there = is_there or equal == SIZE
        if not is_there:
            self._near.add(sketch)
            self._of_near.append(number)

    def _unite(self, one: int, other: int) -> None:
        low, high = sorted((self._root(one), self._root(other)))
        self._parents[high] = low

    def _root(self, number: int) -> int:
        while (parent := self._parents[number]) != number:
            self._parents[number] = number = self._parents[parent]
        return number

    def settle(self) -> None:
        """Name the clusters."""
        self._begun.clear()
        self._near, self._of_near = Nearness(), array("I")
        for number in range(len(self._parents)):
            root = self._root(number)
            least = min(self._name(root), self._name(number))
            self._names[root * DIGEST : (root + 1) * DIGEST] = least

    def of(self, number: int) -> str:
        """The name of a record's cluster."""
        return self._name(self._root(number)).hex()

    def _name(self, number: int) -> bytes:
        return bytes(self._names[number * DIGEST : (number + 1) * DIGEST])


def _begins(record: Record, family: Family | None) -> str:
    """What the session of a record begins with, which may not be written itself."""
    if family:
        return family.prefix
    return record.facts.prefix if record.facts else ""


_HEAD = Struct("<QQ")
"""The number of a record, and how many messages it has."""


class _Longest(NamedTuple):
    """A record that begins with another one."""

    messages: int
    number: int


class Prefixes:
    """Records by number, in order, and which of them another one begins with.

    The longest one that begins with a record stands for it, of equally long ones the first; nothing begins with that,
    so it is written.  Records that are equal but for ids and flags are told apart as by ``ids``.  The digests of all
    beginnings lie in a file, in which those are looked for by which a record ends.
    """

    def __init__(self, scratch: BinaryIO) -> None:
        self._scratch = scratch
        self._logs = Names()
        self._firsts: dict[bytes, int] = {}
        """The first one of equal records, by what these have alike."""
        self._ends: dict[bytes, int] = {}
        """The records by what they end with, the first of equal ones alone."""
        self._equal: dict[int, int] = {}
        """The first one of equal records, by the others."""
        self._longer: dict[int, _Longest] = {}

    def see(self, alike: Likeness, log: str) -> None:
        """Take note of the next record."""
        number = len(self._logs)
        self._logs.append(log)
        if (first := self._firsts.setdefault(alike.same, number)) != number:
            self._equal[number] = first
            return
        self._ends[alike.begins[-DIGEST:]] = number
        self._scratch.write(_HEAD.pack(number, len(alike.begins) // DIGEST - 1))
        self._scratch.write(alike.begins)

    def settle(self) -> None:
        """Find which records others begin with."""
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

    def look(self, number: int) -> Violation | None:
        """That another record stands for one; ``None`` where it is written."""
        first = self._equal.get(number, number)
        if first in self._longer:
            return dataset.duplicate_record(self._logs[self._longer[first].number], "prefix")
        return dataset.duplicate_record(self._logs[first], "ids") if first != number else None


_NONE = _Longest(0, 0)
