"""What a log begins and ends with, by which it is known when it is met once more."""

from __future__ import annotations

import os

from xxhash import xxh3_128

from chatsquash.log import Log

_ENDS = 4096
"""Bytes of a log's head, and of its tail."""


class Hashed:
    """The hash of what is read of a log, and its head and tail."""

    def __init__(self) -> None:
        self._digest = xxh3_128()
        self._size = 0
        self._head = self._tail = b""

    def update(self, data: memoryview) -> None:
        """Take what was read next."""
        self._digest.update(data)
        if self._size < _ENDS:
            self._head += bytes(data[: _ENDS - self._size])
        last = bytes(data[-_ENDS:])
        self._tail = last if len(last) == _ENDS else (self._tail + last)[-_ENDS:]
        self._size += len(data)

    def hexdigest(self) -> str:
        """The hash of all that was read."""
        return self._digest.hexdigest()

    def ends(self, log: Log) -> bytes | None:
        """What ``ends`` gives of a log, where all of its file was read."""
        if self._size != log.file_size or log.spans is not None or log.part is not None:
            return None
        return self._head + self._tail if log.file_size > _ENDS else self._head


def ends(log: Log, descriptor: int) -> bytes:
    """The head of an open log, and its tail behind it."""
    head = os.pread(descriptor, _ENDS, 0)
    return head + os.pread(descriptor, _ENDS, log.file_size - _ENDS) if log.file_size > _ENDS else head
