"""Several files read as one, for sessions that span files."""

from __future__ import annotations

import os
from bisect import bisect_right
from collections import OrderedDict
from typing import Any, BinaryIO

from chatsquash.core.log import Log, Piece
from chatsquash.core.options import Options
from chatsquash.sources.compression import PositionedFile
from chatsquash.sources.open import open_file

_OPEN = 16
"""The maximum number of files of a session that are open at the same time."""


def open_log(log: Log, options: Options | None = None) -> BinaryIO:
    """Open a log with ``open_file``, or all of its files as one."""
    if log.pieces:
        return JoinedFile(log.pieces, options)  # type: ignore[return-value]
    return open_file(log.path, options, is_part=log.is_part)


class JoinedFile(PositionedFile):
    """A concatenation of files, of which the most recently read ones stay open."""

    def __init__(self, pieces: tuple[Piece, ...], options: Options | None) -> None:
        self._pieces, self._options = pieces, options
        self._starts = [piece.offset for piece in pieces]
        self._open: OrderedDict[int, BinaryIO] = OrderedDict()
        self.name = pieces[0].path

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Seek relative to the beginning or the current position."""
        self._at = offset + (self._at if whence == os.SEEK_CUR else 0)
        return self._at

    def readinto(self, into: Any) -> int:
        """Read at most to the end of one file; nothing is read at the end of the last one."""
        while len(into):
            number = bisect_right(self._starts, self._at) - 1
            file, start = self._file(number), self._starts[number]
            stop = self._starts[number + 1] if number + 1 < len(self._starts) else None
            view = memoryview(into)[: None if stop is None else stop - self._at]
            if file.tell() != self._at - start:
                file.seek(self._at - start)
            if count := file.readinto(view):  # type: ignore[attr-defined]
                self._at += count
                return int(count)
            if stop is None:
                break
            self._at = stop
        return 0

    def close(self) -> None:
        """Close all files."""
        while self._open:
            self._open.popitem()[1].close()
        super().close()

    def _file(self, number: int) -> BinaryIO:
        if number in self._open:
            self._open.move_to_end(number)
            return self._open[number]
        file = self._open[number] = open_file(self._pieces[number].path, self._options)
        if len(self._open) > _OPEN:
            self._open.popitem(last=False)[1].close()
        return file
