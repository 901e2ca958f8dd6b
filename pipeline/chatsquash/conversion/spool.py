"""Outcomes that wait in a file until all are there."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from struct import Struct
from typing import BinaryIO

import msgspec

from chatsquash.core.log import Log
from chatsquash.core.outcome import Outcome

_SIZES = Struct("<QQ")
"""The bytes of a log and of its outcome."""


class Spool:
    """Outcomes in order, with their logs, in a file without a name, which nobody else can write to."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def add(self, log: Log, outcome: Outcome) -> None:
        """Add an outcome."""
        told, came_to = pickle.dumps(log), _packed(outcome)
        self._file.write(_SIZES.pack(len(told), len(came_to)))
        self._file.write(told)
        self._file.write(came_to)

    def read(self) -> Iterator[tuple[Log, Outcome]]:
        """All of them."""
        decoder = msgspec.msgpack.Decoder(Outcome)
        self._file.seek(0)
        while sizes := self._file.read(_SIZES.size):
            log, outcome = map(self._file.read, _SIZES.unpack(sizes))
            is_packed = outcome[:1] == b"m"
            found = decoder.decode(memoryview(outcome)[1:]) if is_packed else pickle.loads(outcome[1:])  # noqa: S301
            yield pickle.loads(log), found  # noqa: S301 - of a file that only this process has


def _packed(outcome: Outcome) -> bytes:
    try:
        return b"m" + msgspec.msgpack.encode(outcome)
    except UnicodeEncodeError:  # the names of files may be no text
        return b"p" + pickle.dumps(outcome)
