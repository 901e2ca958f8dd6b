"""What expands one stream, with the methods that those of ``bz2`` and ``lzma`` have."""

from __future__ import annotations

import zlib
from typing import Any


class Gzip:
    """A member of gzip, with the methods that the others have."""

    def __init__(self) -> None:
        self._one = zlib.decompressobj(wbits=31)

    def decompress(self, data: bytes, most: int) -> bytes:
        """At most so many bytes of what is expanded."""
        return self._one.decompress(self._one.unconsumed_tail + data, most)

    @property
    def needs_input(self) -> bool:
        """Whether nothing is left of what it was given."""
        return not self._one.unconsumed_tail

    @property
    def eof(self) -> bool:
        """Whether the member has ended."""
        return self._one.eof

    @property
    def unused_data(self) -> bytes:
        """What stands behind the member."""
        return self._one.unused_data


class Zstandard:
    """A frame of zstd by the library for older Pythons; it knows no bound, so it is given little at a time."""

    needs_input = True

    def __init__(self, library: Any, window: int) -> None:
        self._one = library.ZstdDecompressor(max_window_size=window).decompressobj()

    def decompress(self, data: bytes, most: int) -> bytes:
        """All that can be expanded of what it is given."""
        del most
        made: bytes = self._one.decompress(data)
        return made

    def __getattr__(self, name: str) -> Any:
        return getattr(self._one, name)
