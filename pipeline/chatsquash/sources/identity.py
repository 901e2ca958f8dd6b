"""The identity of a log, which detects changes: path, size, time, head and tail.

A log that grew during a run is read up to its last complete line at discovery.
"""

from __future__ import annotations

import io
import os
from typing import Any, BinaryIO, TypeGuard

from xxhash import xxh3_128, xxh3_128_digest

from chatsquash.core.log import Log
from chatsquash.sources.names import ARCHIVE_SCHEME, container, may_be_document
from chatsquash.storage import is_remote
from chatsquash.storage.folder import NEVER_WAITING

_READING = os.O_RDONLY | NEVER_WAITING
"""The flags for opening a log without blocking, even if it was replaced by a pipe."""
_ENDS = 4096
"""The size in bytes of a log's head and of its tail."""
GROWTH, SHRINKAGE, REMOVAL, REWRITE = "grew", "shrank", "vanished", "was written to"
_STEP = 1 << 16


class LogHash:
    """The hash of the bytes read from a log, with the head and tail of the log."""

    def __init__(self) -> None:
        self._digest = xxh3_128()
        self._size = 0
        self._head = self._tail = b""

    def update(self, data: memoryview) -> None:
        """Add the next bytes."""
        self._digest.update(data)
        if self._size < _ENDS:
            self._head += bytes(data[: _ENDS - self._size])
        last = bytes(data[-_ENDS:])
        self._tail = last if len(last) == _ENDS else (self._tail + last)[-_ENDS:]
        self._size += len(data)

    def hexdigest(self) -> str:
        """Return the hash of everything read."""
        return self._digest.hexdigest()

    def ends(self, log: Log) -> bytes | None:
        """Return the head and tail of a log, if the entire file was read."""
        if self._size != log.file_size or log.is_part:
            return None
        return self._head + self._tail if self._size > _ENDS else self._head


def identify(log: Log, file: BinaryIO | None = None, hashed: LogHash | None = None) -> bytes:
    """Return a digest that changes when the log changes, without reading all of the log.

    ``file`` is the open log, but not a copy of an archive member. ``hashed`` covers the bytes read from it.

    Raises:
        OSError: The log cannot be read.
    """
    if log.pieces:
        logs = (Log(each.display_path, each.display_path, "", each.size, modified=each.modified) for each in log.pieces)
        return xxh3_128_digest(b"".join(map(identify, logs)))
    state = f"{log.display_path}\0{log.name}\0{log.file_size}\0{log.modified}\0"
    return xxh3_128_digest(state.encode("utf-8", "surrogateescape") + _ends(log, file, hashed))


def _ends(log: Log, file: BinaryIO | None, hashed: LogHash | None) -> bytes:
    if type(file) is io.FileIO and log.path == log.display_path:  # not in an archive or a store
        return (hashed and hashed.ends(log)) or _read_ends(log, file.fileno())
    if inside := container(log.display_path):
        return _archive_ends(inside[0])
    if is_remote(log.display_path):  # ``modified`` contains the ETag; if there is none, the log counts as changed
        return b"" if log.modified is not None else os.urandom(16)
    if file is not None and not log.is_copy:
        return (hashed and hashed.ends(log)) or _read_ends(log, file.fileno())
    descriptor = os.open(log.display_path, _READING)
    try:
        return _read_ends(log, descriptor)
    finally:
        os.close(descriptor)


def _archive_ends(path: str) -> bytes:
    """Return the head and tail of an archive."""
    if is_remote(path) or path.startswith(ARCHIVE_SCHEME):  # the log has a version
        return b""
    with open(os.open(path, _READING), "rb", buffering=0) as file:
        # The tail of a zip file contains its directory.
        size = file.seek(0, os.SEEK_END)
        return os.pread(file.fileno(), _ENDS, 0) + os.pread(file.fileno(), _ENDS, max(0, size - _ENDS))


def _read_ends(log: Log, descriptor: int) -> bytes:
    head = os.pread(descriptor, _ENDS, 0)
    return head + os.pread(descriptor, _ENDS, log.file_size - _ENDS) if log.file_size > _ENDS else head


def is_raw(file: object) -> TypeGuard[io.FileIO]:
    """Return whether a file provides the stored bytes of a log at any offset."""
    return type(file) is io.FileIO or hasattr(file, "read_at")


def read_at(file: Any, size: int, offset: int) -> bytes:
    """Read bytes at an offset of a raw file without moving its position."""
    if type(file) is io.FileIO:
        return os.pread(file.fileno(), size, offset)
    data: bytes = file.read_at(size, offset)
    return data


def status_of(file: Any) -> tuple[object, ...] | None:
    """Return a value that changes when an open file changes, or ``None`` for a file that is not stored anywhere."""
    if identity := getattr(file, "identity", None):
        return tuple(identity)
    try:
        status = os.fstat(file.fileno())
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


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
