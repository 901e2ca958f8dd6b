"""The identity of a log, used to detect changes: path, size, time, head and tail."""

from __future__ import annotations

import io
import os
from typing import Any, BinaryIO, TypeGuard

from xxhash import xxh3_128, xxh3_128_digest

from chatsquash.core.log import Log
from chatsquash.core.urls import is_remote
from chatsquash.sources.names import ARCHIVE_SCHEME, container
from chatsquash.storage.folder import NEVER_WAITING

_READING = os.O_RDONLY | NEVER_WAITING
"""The flags for opening a log without blocking, even if it was replaced by a pipe."""
_ENDS = 4096
"""The size in bytes of a log's head and of its tail."""


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
