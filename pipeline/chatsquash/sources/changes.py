"""A log that changes while a run goes on is read as it was found, up to its last whole line then."""

from __future__ import annotations

import io
import os
from typing import Any, BinaryIO

from chatsquash.core.log import Log
from chatsquash.core.urls import is_remote
from chatsquash.sources.identity import is_raw
from chatsquash.sources.names import container, may_be_document

GREW, SHRANK, VANISHED, REWRITTEN = "grew", "shrank", "vanished", "was written to"
_STEP = 1 << 16


def change(log: Log, file: BinaryIO | None = None) -> str | None:
    """What happened to a log since it was found; to the first of its files that changed, where it has several.

    ``file`` is the log, where it is open: of one in a store that is what it was when it was opened.
    """
    if log.pieces:
        pieces = log.pieces
        return next((how for each in pieces if (how := _change(each.display_path, each.size, each.modified))), None)
    if inside := container(log.display_path):
        return _archive_change(inside[0], log.modified)
    if file is not None and (identity := getattr(file, "identity", None)):
        return _differs(identity[1], identity[2], log.file_size, log.modified)
    return _change(log.display_path, log.file_size, log.modified)


def _change(path: str, size: int, modified: int | None) -> str | None:
    if modified is None:
        return None
    if is_remote(path):
        return _stored_change(path, size, modified)
    try:
        status = os.stat(path)  # noqa: PTH116 - a Path takes longer
    except OSError:
        return VANISHED
    return _differs(status.st_size, status.st_mtime_ns, size, modified)


def _archive_change(path: str, modified: int | None) -> str | None:
    """What happened to the archive of a log; of one in a store its tag tells when it is read."""
    if modified is None or is_remote(path):
        return None
    try:
        return None if os.stat(path).st_mtime_ns == modified else REWRITTEN  # noqa: PTH116 - as above
    except OSError:
        return VANISHED


def _stored_change(path: str, size: int, modified: int) -> str | None:
    """The same of a log in a store; one whose address is shown only in part cannot be asked about, and was read."""
    from chatsquash.storage.stores import locate  # which local files do not need

    try:
        store, key = locate(path)
        status = store.status(key)
    except OSError:
        return None
    return _differs(status.size, status.state, size, modified) if status else VANISHED


def _differs(size: int, modified: int | None, before: int, now: int | None) -> str | None:
    if now is None:
        return None
    if size != before:
        return GREW if size > before else SHRANK
    return REWRITTEN if modified != now else None


def as_found(file: BinaryIO, log: Log) -> BinaryIO:
    """A log that grew as it was when it was found, up to its last whole line then; any other as it is.

    What is no text of lines, such as a document, has none to stop at.
    """
    is_whole = (
        log.part is None and not log.unit and not log.is_copy
    )  # neither a document nor a copy of a compressed log
    is_text = is_whole and not may_be_document(log.display_path) and is_raw(file)
    if not is_text or change(log, file) != GREW:
        return file
    return _UpTo(file, _whole_lines(file, log.file_size))


def _whole_lines(file: BinaryIO, size: int) -> int:
    """Where, within so many bytes, the last whole line ends."""
    while size > 0:
        start = max(0, size - _STEP)
        file.seek(start)
        place = file.read(size - start).rfind(b"\n")
        if place >= 0:
            return start + place + 1
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
