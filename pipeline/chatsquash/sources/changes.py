"""Detect logs that change during a run; a log that grew is read up to its last complete line at discovery."""

from __future__ import annotations

import io
import os
from typing import Any, BinaryIO

from chatsquash.core.log import Log
from chatsquash.core.urls import is_remote
from chatsquash.sources.identity import is_raw
from chatsquash.sources.names import ARCHIVE_SCHEME, container, may_be_document

GROWTH, SHRINKAGE, REMOVAL, REWRITE = "grew", "shrank", "vanished", "was written to"
_STEP = 1 << 16


def change(log: Log, file: BinaryIO | None = None) -> str | None:
    """Return how a log changed since discovery, or ``None``; if the log consists of several files, the first change.

    ``file`` is the open log, if there is one. For a log in a store, its state when it was opened is compared.
    """
    if log.pieces:
        pieces = log.pieces
        return next(
            (how for each in pieces if (how := _file_change(each.display_path, each.size, each.modified))), None
        )
    if inside := container(log.display_path):
        return _archive_change(inside[0], log.modified)
    if file is not None and (identity := getattr(file, "identity", None)):
        return _compare(identity[1], identity[2], log.file_size, log.modified)
    return _file_change(log.display_path, log.file_size, log.modified)


def _file_change(path: str, size: int, modified: int | None) -> str | None:
    if modified is None:
        return None
    if is_remote(path):
        return _stored_change(path, size, modified)
    try:
        status = os.stat(path)  # noqa: PTH116 - faster than a Path
    except OSError:
        return REMOVAL
    return _compare(status.st_size, status.st_mtime_ns, size, modified)


def _archive_change(path: str, modified: int | None) -> str | None:
    """Return how the archive of a log changed."""
    # For an archive in a store, the ETag is compared when the archive is read.
    if modified is None or is_remote(path) or path.startswith(ARCHIVE_SCHEME):
        return None
    try:
        return None if os.stat(path).st_mtime_ns == modified else REWRITE  # noqa: PTH116 - as above
    except OSError:
        return REMOVAL


def _stored_change(path: str, size: int, modified: int) -> str | None:
    """Return how a log in a store changed, or ``None`` if its status is not available."""
    from chatsquash.storage.stores import locate  # not needed for local files

    try:
        store, key = locate(path)
        status = store.status(key)
    except OSError:
        return None
    return _compare(status.size, status.state, size, modified) if status else REMOVAL


def _compare(size: int, modified: int | None, before: int, now: int | None) -> str | None:
    if now is None:
        return None
    if size != before:
        return GROWTH if size > before else SHRINKAGE
    return REWRITE if modified != now else None


# Documents are not limited, because they have no lines at which they could end.
def limit_to_discovered_size(file: BinaryIO, log: Log) -> BinaryIO:
    """Limit a log that grew to its last complete line at discovery; return any other file unchanged."""
    is_complete_log = (
        log.part is None and not log.unit and not log.is_copy
    )  # neither a document nor a copy of a compressed log
    is_text = is_complete_log and not may_be_document(log.display_path) and is_raw(file)
    if not is_text or change(log, file) != GROWTH:
        return file
    return _LimitedFile(file, _last_line_end(file, log.file_size))


def _last_line_end(file: BinaryIO, size: int) -> int:
    """Return the offset after the last complete line in the first ``size`` bytes."""
    while size > 0:
        start = max(0, size - _STEP)
        file.seek(start)
        place = file.read(size - start).rfind(b"\n")
        if place >= 0:
            return start + place + 1
        size = start
    return 0


class _LimitedFile(io.RawIOBase, BinaryIO):
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
        """Seek relative to the limited end."""
        offset, whence = (self._end + offset, os.SEEK_SET) if whence == os.SEEK_END else (offset, whence)
        return self._file.seek(offset, whence)

    def readinto(self, buffer: Any) -> int:
        """Read up to the limited end."""
        with memoryview(buffer) as view, view[: max(0, self._end - self._file.tell())] as free:
            return self._file.readinto(free)  # type: ignore[attr-defined, no-any-return]
