"""The bytes of a log, whichever way they lie on the disk, or in a store."""

from __future__ import annotations

import io
import os
import stat
from errno import EINVAL, EISDIR, EMFILE, ENFILE, ENOMEM
from typing import BinaryIO

from chatsquash.errors import ShortageError
from chatsquash.options import Options
from chatsquash.sources.compression import HEAD, Expanded, recognise
from chatsquash.sources.places import read_at
from chatsquash.urls import is_remote

_SCARCE = frozenset((EMFILE, ENFILE, ENOMEM))
"""Why a log cannot be opened that has nothing to do with the log."""


def raw(path: str | os.PathLike[str]) -> io.FileIO:
    """The bytes of a file as it stands on a disk or in a store, unbuffered; raises as ``opened``."""
    # Without waiting for a pipe's other end, which may have taken the place of a file since that was found.
    if isinstance(path, str) and is_remote(path):
        from chatsquash.sources.stored import StoredLog  # which local files do not need

        return StoredLog(path)  # type: ignore[return-value]
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise OSError(EINVAL, os.strerror(EISDIR) if stat.S_ISDIR(mode) else "it is no regular file")
    file = io.FileIO(descriptor)
    file.name = os.fspath(path)  # as files have it that were opened by name
    return file


def opened(path: str | os.PathLike[str], options: Options | None = None) -> BinaryIO:
    """A log, unbuffered; a compressed one is expanded as it is read, as far as the options allow.

    Raises ``OSError`` for what is no regular file, opening which might wait forever, and where the library of its
    compression is not at hand, and ``ShortageError`` where the machine has too little of something to open any.
    """
    try:
        return _opened(path, options or Options())
    except OSError as problem:
        if problem.errno in _SCARCE:
            raise shortage(os.fspath(path), "opened", problem) from None
        raise


def _opened(path: str | os.PathLike[str], options: Options) -> BinaryIO:
    file = raw(path)
    try:
        kind = recognise(read_at(file, HEAD, 0))
        return Expanded(file, kind, options) if kind else file  # type: ignore[return-value]
    except BaseException:
        file.close()
        raise


def shortage(path: str, what: str, problem: OSError) -> ShortageError:
    """The error for a log of which something cannot be done for want of what the machine should have."""
    why = problem.strerror or type(problem).__name__
    todo = "make room or raise the limit, then run the same command again"
    return ShortageError(f"{path}: cannot be {what} ({why}), which is no fault of the log: {todo}")
