"""Records that are the beginnings of others, which is known once all were looked at."""

from __future__ import annotations

from collections.abc import Iterator
from struct import Struct
from typing import BinaryIO, NamedTuple

from chatsquash.checks import dataset
from chatsquash.core.model import Violation
from chatsquash.core.outcome import Likeness
from chatsquash.dataset.duplicates import Names
from chatsquash.session.fingerprints import SIZE

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
        self._ends[alike.begins[-SIZE:]] = number
        self._scratch.write(_HEAD.pack(number, len(alike.begins) // SIZE - 1))
        self._scratch.write(alike.begins)

    def settle(self) -> None:
        """Find which records others begin with."""
        for number, messages, begins in self._seen():
            for at in range(0, messages * SIZE, SIZE):
                shorter = self._ends.get(begins[at : at + SIZE])
                if shorter is not None and self._longer.get(shorter, _NONE).messages < messages:
                    self._longer[shorter] = _Longest(messages, number)
        self._firsts.clear()
        self._ends.clear()

    def _seen(self) -> Iterator[tuple[int, int, bytes]]:
        self._scratch.seek(0)
        while head := self._scratch.read(_HEAD.size):
            number, messages = _HEAD.unpack(head)
            yield number, messages, self._scratch.read((messages + 1) * SIZE)

    def look(self, number: int) -> Violation | None:
        """That another record stands for one; ``None`` where it is written."""
        first = self._equal.get(number, number)
        if first in self._longer:
            return dataset.duplicate_record(self._logs[self._longer[first].number], "prefix")
        return dataset.duplicate_record(self._logs[first], "ids") if first != number else None


_NONE = _Longest(0, 0)
