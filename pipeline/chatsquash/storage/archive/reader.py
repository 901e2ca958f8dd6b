"""Read the bytes of an archived file at any offset."""

from __future__ import annotations

from array import array
from bisect import bisect_right
from itertools import accumulate

from chatsquash.storage.archive.layout import ID_BYTES, DamageError, FileContent, split_ids
from chatsquash.storage.archive.repository import Archive


class ContentReader:
    """The bytes of a file in an archive."""

    def __init__(self, archive: Archive, content: FileContent) -> None:
        self._archive = archive
        self.size = content.size
        self._ids = archive.ids(content)
        sizes = (archive.place_of(each).size for each in split_ids(self._ids))
        self._starts = array("q", accumulate(sizes, initial=0))
        if self._starts[-1] != content.size:
            raise DamageError(5, f"{archive.place}: a file has another size than in its snapshot")

    def read(self, size: int, offset: int) -> bytes:
        """Return at most ``size`` bytes from an offset; fewer are returned only at the end."""
        end = min(self.size, offset + size)
        if offset >= end:
            return b""
        pieces = list[memoryview]()
        at = bisect_right(self._starts, offset) - 1
        start = self._starts[at]
        while start < end:
            chunk = self._archive.chunk(self._ids[at * ID_BYTES : (at + 1) * ID_BYTES])
            pieces.append(chunk[max(0, offset - start) : end - start])
            start += len(chunk)
            at += 1
        return b"".join(pieces)
