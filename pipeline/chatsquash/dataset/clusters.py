"""Which records are so alike that they belong in one split."""

from __future__ import annotations

from array import array

from chatsquash.core.outcome import Family, Record
from chatsquash.dataset.near_duplicates import Nearness
from chatsquash.records.sketch import SIZE
from chatsquash.session.fingerprints import SIZE as DIGEST


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
