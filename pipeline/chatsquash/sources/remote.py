"""Read a log in a store with range requests and read-ahead, without a local copy."""

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
"""The size in bytes of the first request, which covers most logs."""
_STEP = 8 << 20
"""The size in bytes of further requests while a log is read sequentially."""
_SEEK_SIZE = 256 << 10
"""The size in bytes of a request after a seek."""
_AHEAD = 2
"""The number of requests to read ahead."""
_MAX_RANGES = 3
"""The number of ranges to keep in memory."""


class StoredLog(PositionedFile):
    """A file in a store, in the state in which it was opened.

    Sequential reads are requested ahead; after a seek, only the required range is requested.

    Raises:
        StaleError: The file was changed after it was opened.
    """

    def __init__(self, path: str) -> None:
        try:
            self._store, self._key = locate(path)
        except UsageError as problem:  # report it for this log only
            raise OSError(EINVAL, str(problem)) from None
        self.name = without_query(path)
        first = self._store.get(self._key, 0, FIRST, None)
        self.size, self.state, self._tag = first.size, first.state, first.tag
        self._ranges: OrderedDict[int, PendingCall[StoredBytes] | memoryview] = OrderedDict({0: memoryview(first.data)})
        self._ends = {0: len(first.data)}
        self._is_complete = len(first.data) >= self.size

    @property
    def identity(self) -> tuple[str, int, int | None]:
        """The name, size and state, which change when the file changes."""
        return self.name, self.size, self.state

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Set the position; nothing is requested yet."""
        self._at = max(0, offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size}[whence])
        return self._at

    def readinto(self, into: Any) -> int:
        """Fill the buffer; fewer bytes are returned only at the end."""
        with memoryview(into) as view:
            count = self._copy(view, self._at)
        self._at += count
        return count

    def read_at(self, size: int, offset: int) -> bytes:
        """Read bytes at an offset without moving the position."""
        data = bytearray(size)
        return bytes(data[: self._copy(memoryview(data), offset)])

    def close(self) -> None:
        """Release the ranges in memory."""
        self._ranges.clear()
        self._ends.clear()
        super().close()

    def _copy(self, view: memoryview, at: int) -> int:
        count = 0
        while count < len(view) and at + count < self.size:
            start = self._range_start(at + count, len(view) - count)
            piece = self._data(start)[at + count - start :][: len(view) - count]
            view[count : count + len(piece)] = piece
            count += len(piece)
        return count

    def _range_start(self, at: int, size: int) -> int:
        """Return the start of the range that contains an offset, requesting the range if necessary."""
        start = next((start for start, end in self._ends.items() if start <= at < end), None)
        if start is None:
            follows = at in self._ends.values()
            return self._request(at, _STEP if follows else max(size, _SEEK_SIZE))
        self._ranges.move_to_end(start)  # least recently used ranges are first
        if not self._is_complete and self._is_followed(start):
            self._request_ahead(start)
        return start

    def _is_followed(self, start: int) -> bool:
        """Return whether the previous range was read as well, which indicates sequential reading."""
        return start == 0 or start in self._ends.values()

    def _request_ahead(self, start: int) -> None:
        for _ in range(_AHEAD):
            end = self._ends[start]
            if end >= self.size:
                return
            start = end if end in self._ends else self._request(end, _STEP)

    def _request(self, start: int, size: int) -> int:
        size = min(size, self.size - start)
        self._ranges[start] = PendingCall(partial(self._store.get, self._key, start, size, self._tag))
        self._ends[start] = start + size
        while len(self._ranges) > _MAX_RANGES + _AHEAD:
            oldest, _ = self._ranges.popitem(last=False)
            del self._ends[oldest]
        return start

    def _data(self, start: int) -> memoryview:
        entry = self._ranges[start]
        if isinstance(entry, PendingCall):
            data = memoryview(entry.result().data)
            if len(data) < self._ends[start] - start:
                raise OSError(EIO, "the store returned less data than requested")
            entry = self._ranges[start] = data
        return entry
