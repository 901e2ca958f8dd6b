"""A search for near-duplicate records based on their sketches, which needs less than 600 bytes per record."""

from __future__ import annotations

from array import array
from collections.abc import Iterator

from xxhash import xxh3_64_intdigest

from chatsquash.checks import dataset
from chatsquash.core.index import Names
from chatsquash.core.model import Violation
from chatsquash.core.options import Options
from chatsquash.core.outcome import Record
from chatsquash.records.sketch import MIN_EQUAL, SIZE, common, share
from chatsquash.session.fingerprints import of_record

_BANDS = 20
"""Number of bands for looking up a sketch; each band consists of some of its bytes."""
_WIDTH = 5
"""Bytes of a band: two sketches with 80 % in common share one with 1 - (1 - 0.8 ** 5) ** 20, which is 99.96 %."""
_LOAD = 2
"""Maximum average number of sketches per slot of a band."""
_MAX_COMPARISONS = 256
"""Maximum number of sketches compared per slot, which bounds the time for many similar sketches."""
_BLOCK = 1024
"""Sketches per block of memory; blocks are never moved as the index grows."""


class SketchIndex:
    """An index of sketches, numbered from 0, that finds those near a sketch.

    The sketches of a slot form a linked list: ``_heads`` contains the last one of each slot and ``_before`` the
    predecessor of each sketch, both counted from 1.
    """

    def __init__(self) -> None:
        self._blocks: list[bytearray] = []
        self._count = 0
        self._slots = _BLOCK
        self._heads = array("I", bytes(4 * _BANDS * self._slots))
        self._before = array("I")

    def _sketch(self, number: int) -> bytes:
        at = number % _BLOCK * SIZE
        return bytes(self._blocks[number // _BLOCK][at : at + SIZE])

    def add(self, sketch: bytes) -> None:
        """Add a sketch."""
        if self._count % _BLOCK == 0:
            self._blocks.append(bytearray(SIZE * _BLOCK))
        at = self._count % _BLOCK * SIZE
        self._blocks[-1][at : at + SIZE] = sketch
        self._before.extend([0] * _BANDS)
        self._link(self._count, sketch)
        self._count += 1
        if self._count > _LOAD * self._slots:
            self._slots *= 2
            del self._heads  # frees memory before the allocation of a larger array
            self._heads = array("I", bytes(4 * _BANDS * self._slots))
            for number in range(self._count):
                self._link(number, self._sketch(number))

    def find_near(self, sketch: bytes) -> Iterator[tuple[int, int]]:
        """Yield the numbers of sketches near a sketch, with the number of common bytes, in no particular order."""
        seen: set[int] = set()
        for band, slot in enumerate(self._places(sketch)):
            start, stop = band * _WIDTH, (band + 1) * _WIDTH
            part = sketch[start:stop]
            number, remaining = self._heads[slot], _MAX_COMPARISONS
            while number and remaining:
                block, at = self._blocks[(number - 1) // _BLOCK], (number - 1) % _BLOCK * SIZE
                remaining -= 1
                if block[at + start : at + stop] == part and number not in seen:
                    seen.add(number)
                    equal = common(sketch, bytes(block[at : at + SIZE]))
                    if equal >= MIN_EQUAL:
                        yield number - 1, equal
                number = self._before[(number - 1) * _BANDS + band]

    def _link(self, number: int, sketch: bytes) -> None:
        for band, slot in enumerate(self._places(sketch)):
            self._before[number * _BANDS + band] = self._heads[slot]
            self._heads[slot] = number + 1

    def _places(self, sketch: bytes) -> Iterator[int]:
        """Yield the slot of a sketch in each band."""
        last = self._slots - 1
        for band in range(_BANDS):
            part = sketch[band * _WIDTH : (band + 1) * _WIDTH]
            yield band * self._slots + (xxh3_64_intdigest(part) & last)


class NearDuplicates:
    """Rejects records near a record that was already written."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._written = SketchIndex()
        self._logs = Names()

    def check(self, record: Record, log: str) -> Violation | None:
        """See ``Duplicates``; the finding refers to the first of the near records."""
        sketch = of_record(record, self._options).sketch
        first = min(self._written.find_near(sketch), default=None)
        if first is not None:
            number, equal = first
            return dataset.duplicate_record(self._logs[number], "near", share(equal))
        self._written.add(sketch)
        self._logs.append(log)
        return None
