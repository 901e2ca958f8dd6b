"""A log that changes while a run goes on is read as it was found, up to its last whole line then."""

from __future__ import annotations

import io
import os
from typing import Any, BinaryIO

from chatsquash.log import Log
from chatsquash.sources.find import DOCUMENTS

GREW, SHRANK, VANISHED, REWRITTEN = "grew", "shrank", "vanished", "was written to"
_STEP = 1 << 16


def change(log: Log) -> str | None:
    """What happened to a log since it was found; to the first of its files that changed, where it has several."""
    if log.pieces:
        return next((how for each in log.pieces if (how := _change(each.shown, each.size, each.modified))), None)
    return _change(log.shown, log.file_size, log.modified)


def _change(path: str, size: int, modified: int | None) -> str | None:
    if modified is None:
        return None
    try:
        status = os.stat(path)  # noqa: PTH116 - a Path takes longer
    except OSError:
        return VANISHED
    if status.st_size != size:
        return GREW if status.st_size > size else SHRANK
    return REWRITTEN if status.st_mtime_ns != modified else None


def as_found(file: BinaryIO, log: Log) -> BinaryIO:
    """A log that grew as it was when it was found, up to its last whole line then; any other as it is.

    What is no text of lines, such as a document, has none to stop at.
    """
    is_whole = log.part is None and log.path == log.shown  # neither a document nor a copy of a compressed log
    is_text = is_whole and not log.path.endswith(DOCUMENTS) and isinstance(file, io.FileIO)
    if not is_text or change(log) != GREW:
        return file
    return _UpTo(file, _whole_lines(file, log.file_size))


def _whole_lines(file: BinaryIO, size: int) -> int:
    """Where, within so many bytes, the last whole line ends."""
    while size > 0:
        start = max(0, size - _STEP)
        file.seek(start)
        found = file.read(size - start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        size = start
    return 0


class _UpTo(io.RawIOBase, BinaryIO):
    """A file that ends earlier."""

    def __init__(self, file: BinaryIO, end: int) -> None:
        self._file = file
        self._end = end
        file.seek(0)

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """As a file does it, with its own end."""
        offset, whence = (self._end + offset, os.SEEK_SET) if whence == os.SEEK_END else (offset, whence)
        return self._file.seek(offset, whence)

    def readinto(self, buffer: Any) -> int:
        """As a file does it, up to its own end."""
        with memoryview(buffer) as view, view[: max(0, self._end - self._file.tell())] as free:
            return self._file.readinto(free)  # type: ignore[attr-defined, no-any-return]
