"""HTTP archives compressed with zlib, as saved by mitmproxy with the suffix ``.zhar``."""

from __future__ import annotations

import re
import zlib
from collections.abc import Iterator

from chatsquash.sources.arrays import Readable
from chatsquash.sources.unfold import har

NAME = "zipped HAR"
WHAT = "the same, compressed with zlib"
SUFFIXES = (".zhar",)
COPIES = False

BEGINS = rb"\x78[\x01\x5e\x9c\xda]"
_GLANCE = 1 << 12
_PIECE = 1 << 18


def fits(head: bytes) -> str | None:
    """Return the evidence for a zlib stream that contains an HTTP archive, or ``None``."""
    try:
        archive = zlib.decompressobj().decompress(head, _GLANCE)
    except zlib.error:
        return None
    return har.fits(archive) if re.match(har.BEGINS, archive) else None


def lines(file: Readable) -> Iterator[bytes]:
    """Yield the lines of the HTTP archive."""
    yield from har.lines(_Inflated(file))


class _Inflated:
    def __init__(self, file: Readable) -> None:
        self._file, self._stream = file, zlib.decompressobj()

    def read(self, size: int) -> bytes:
        """Read at most ``size`` bytes; return empty bytes at the end."""
        while not self._stream.eof:
            data = self._stream.unconsumed_tail or self._file.read(_PIECE)
            if not data:
                raise ValueError("ends early")
            try:
                if expanded := self._stream.decompress(data, size):
                    return expanded
            except zlib.error:
                raise ValueError("is damaged") from None
        return b""
