"""Places in an open log, whether it lies on a disk or in a store."""

from __future__ import annotations

import io
import os
from typing import Any, TypeGuard


def is_raw(file: object) -> TypeGuard[io.FileIO]:
    """Whether a file gives the bytes of a log as they lie there, at any place."""
    return type(file) is io.FileIO or hasattr(file, "read_at")


def read_at(file: Any, size: int, offset: int) -> bytes:
    """Bytes from a place of a raw file, which stays where it stands."""
    if type(file) is io.FileIO:
        return os.pread(file.fileno(), size, offset)
    data: bytes = file.read_at(size, offset)
    return data


def status_of(file: Any) -> tuple[object, ...] | None:
    """What tells an open file from any other, and from what it was; ``None`` for what lies nowhere."""
    if identity := getattr(file, "identity", None):
        return tuple(identity)
    try:
        status = os.fstat(file.fileno())
    except (OSError, ValueError):
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns
