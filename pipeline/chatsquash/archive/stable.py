"""Read files that other programs may be writing to, in a state that they had."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import EINVAL, ELOOP, ESTALE
from typing import TypeVar

T = TypeVar("T")

_TRIES = 6
_OPEN = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class ChangingError(OSError):
    """A file changed whenever it was read."""

    def __init__(self) -> None:
        super().__init__(ESTALE, "it changed while being read; the next run copies it")


@contextmanager
def open_stable(path: str, status: os.stat_result) -> Iterator[int]:
    """Open a regular file without following a link; yield its descriptor.

    Raises:
        OSError: It cannot be read, or another file has this path by now.
    """
    try:
        descriptor = os.open(path, _OPEN)
    except OSError as problem:
        if problem.errno != ELOOP:
            raise
        descriptor = os.open(os.path.realpath(path), _OPEN)  # a path of the user, which is checked below
    try:
        now = os.fstat(descriptor)
        if not stat.S_ISREG(now.st_mode):
            raise OSError(EINVAL, "not a regular file")
        if (now.st_dev, now.st_ino) != (status.st_dev, status.st_ino):
            raise ChangingError
        yield descriptor
    finally:
        os.close(descriptor)


def read_stable(descriptor: int, start: int, add: Callable[[Callable[[int], bytes]], T]) -> tuple[T, os.stat_result]:
    """Read an open file from an offset to its end, in a state that it had.

    Args:
        descriptor: The open file.
        start: The offset.
        add: Takes a call that returns the next bytes, and returns a value that is equal for equal bytes.

    Returns:
        The value, and the status of the file in that state.

    Raises:
        ChangingError: The file changed whenever it was read.
    """
    for _ in range(_TRIES):
        status = os.fstat(descriptor)
        value = add(_reader(descriptor, start, status.st_size))
        after = os.fstat(descriptor)
        if signature(after) == signature(status):
            return value, status
        # It may only have grown: bytes that are the same twice were in the file together in between.
        if after.st_size >= status.st_size and add(_reader(descriptor, start, status.st_size)) == value:
            return value, status
    raise ChangingError


def _reader(descriptor: int, start: int, end: int) -> Callable[[int], bytes]:
    """Return a call that returns the next bytes between two offsets."""
    at = start

    def read(size: int) -> bytes:
        nonlocal at
        data = os.pread(descriptor, max(0, min(size, end - at)), at)
        at += len(data)
        return data

    return read


def signature(status: os.stat_result) -> tuple[int, ...]:
    """Return what changes if a file changes."""
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_ino
