"""Lines of records outside of memory: in an unnamed file, or wherever another process wrote them."""

from __future__ import annotations

import os
from collections.abc import Callable
from errno import EIO, ENOSPC
from functools import partial
from typing import Any, BinaryIO

MOST = 16 << 20
"""Bytes of lines of a session that stay in memory."""


class SpooledLine:
    """A line that is read when it is needed; ``bytes`` returns it, also for another process."""

    __slots__ = ("_read", "_size")

    def __init__(self, read: Callable[[], bytes], size: int) -> None:
        self._read, self._size = read, size

    def __len__(self) -> int:
        return self._size

    def __bytes__(self) -> bytes:
        """Return the line; raise ``OSError`` if it cannot be read."""
        line = self._read()
        if len(line) != self._size:
            raise OSError(EIO, "a temporary file of this run is incomplete")
        return line

    def __reduce__(self) -> tuple[type[bytes], tuple[bytes]]:
        return bytes, (bytes(self),)


class _UnnamedFile:
    """A file that no other process can open, closed together with the last line in it."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._end = file, 0

    def __del__(self) -> None:
        self._file.close()

    def append(self, line: bytes) -> SpooledLine:
        """Append a line; raise ``OSError`` if there is not enough space."""
        offset, size = self._end, len(line)
        if self._file.write(line) != size:
            self._file.seek(offset)
            raise OSError(ENOSPC, "not enough space")
        self._end += size
        return SpooledLine(partial(self._read, offset, size), size)

    def _read(self, offset: int, size: int) -> bytes:
        return os.pread(self._file.fileno(), size, offset)


class LineSpool:
    """Keeps the lines of a session: the first ones in memory, the others in an unnamed file."""

    def __init__(self, most: int = MOST) -> None:
        self._remaining = most
        self._file: _UnnamedFile | None = None

    def keep(self, line: bytes) -> Any:
        """Return a line as it is, or as a ``SpooledLine``."""
        self._remaining -= len(line)
        if self._remaining >= 0:
            return line
        from tempfile import TemporaryFile  # few runs need it

        try:
            self._file = self._file or _UnnamedFile(TemporaryFile(buffering=0))  # noqa: SIM115 - closed later
            return self._file.append(line)
        except OSError:
            return line
