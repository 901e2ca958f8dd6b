"""The bytes of a log in a store, read in ranges ahead of whoever reads, without a copy of it anywhere."""

from __future__ import annotations

import os
from collections import OrderedDict
from errno import EINVAL, EIO
from functools import partial
from typing import Any

from chatsquash.core.errors import UsageError
from chatsquash.sources.compression import PositionedFile
from chatsquash.storage.stores import StoredBytes, locate, without_query
from chatsquash.storage.stores.base import PendingCall

FIRST = 4 << 20
"""Bytes that are asked for when a log is opened: all of most logs."""
_STEP = 8 << 20
"""Bytes of each further request, once it is known that a log is read on."""
_JUMP = 256 << 10
"""Bytes that are asked for at another place."""
_AHEAD = 2
"""Requests that are under way for what comes next."""
_KEPT = 3
"""Ranges that stay at hand."""


class StoredLog(PositionedFile):
    """A file in a store as it was when it was opened; raises ``StaleError`` where it has changed since.

    What is read one behind the other is asked for ahead, in requests that grow; at another place only what is needed.
    """

    def __init__(self, path: str) -> None:
        try:
            self._store, self._key = locate(path)
        except UsageError as problem:  # of this log, then
            raise OSError(EINVAL, str(problem)) from None
        self.name = without_query(path)
        first = self._store.get(self._key, 0, FIRST, None)
        self.size, self.state, self._tag = first.size, first.state, first.tag
        self._ranges: OrderedDict[int, PendingCall[StoredBytes] | memoryview] = OrderedDict({0: memoryview(first.data)})
        self._ends = {0: len(first.data)}
        self._known = len(first.data) >= self.size

    @property
    def identity(self) -> tuple[str, int, int | None]:
        """What tells it from any other, and from what it was."""
        return self.name, self.size, self.state

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place; nothing is asked for yet."""
        self._at = max(0, offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size}[whence])
        return self._at

    def readinto(self, into: Any) -> int:
        """As many bytes as there is room for, fewer at the end only."""
        with memoryview(into) as view:
            filled = self._copy(view, self._at)
        self._at += filled
        return filled

    def read_at(self, size: int, offset: int) -> bytes:
        """Bytes from another place; this one stays where it stands."""
        data = bytearray(size)
        return bytes(data[: self._copy(memoryview(data), offset)])

    def close(self) -> None:
        """Let go of what was read."""
        self._ranges.clear()
        self._ends.clear()
        super().close()

    def _copy(self, view: memoryview, at: int) -> int:
        filled = 0
        while filled < len(view) and at + filled < self.size:
            start = self._range(at + filled, len(view) - filled)
            piece = self._data(start)[at + filled - start :][: len(view) - filled]
            view[filled : filled + len(piece)] = piece
            filled += len(piece)
        return filled

    def _range(self, at: int, wanted: int) -> int:
        """Where a range begins that holds a place; what follows it is asked for where it, too, followed another."""
        start = next((start for start, end in self._ends.items() if start <= at < end), None)
        if start is None:
            follows = at in self._ends.values()
            return self._ask(at, _STEP if follows else max(wanted, _JUMP))
        self._ranges.move_to_end(start)  # which goes last now
        if not self._known and self._is_followed(start):
            self._ask_ahead(start)
        return start

    def _is_followed(self, start: int) -> bool:
        """Whether what stands before a range was read, too, so that what stands behind it will be."""
        return start == 0 or start in self._ends.values()

    def _ask_ahead(self, start: int) -> None:
        for _ in range(_AHEAD):
            end = self._ends[start]
            if end >= self.size:
                return
            start = end if end in self._ends else self._ask(end, _STEP)

    def _ask(self, start: int, size: int) -> int:
        size = min(size, self.size - start)
        self._ranges[start] = PendingCall(partial(self._store.get, self._key, start, size, self._tag))
        self._ends[start] = start + size
        while len(self._ranges) > _KEPT + _AHEAD:
            gone, _ = self._ranges.popitem(last=False)
            del self._ends[gone]
        return start

    def _data(self, start: int) -> memoryview:
        known = self._ranges[start]
        if isinstance(known, PendingCall):
            data = memoryview(known.result().data)
            if len(data) < self._ends[start] - start:
                raise OSError(EIO, "the store gave less than there is")
            known = self._ranges[start] = data
        return known
