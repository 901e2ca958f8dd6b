"""The bytes of a log, whichever way they lie on the disk."""

from __future__ import annotations

import io
import os
import stat
from errno import EINVAL, EISDIR, EMFILE, ENFILE, ENOMEM
from typing import BinaryIO

from chatsquash.errors import ShortageError
from chatsquash.options import Options
from chatsquash.sources.compression import HEAD, Expanded, recognise

_SCARCE = frozenset((EMFILE, ENFILE, ENOMEM))
"""Why a log cannot be opened that has nothing to do with the log."""


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
    # Without waiting for a pipe's other end, which may have taken the place of a file since that was found.
    descriptor = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        kind = recognise(_first(descriptor))
        file = io.FileIO(descriptor)
        file.name = os.fspath(path)  # as files have it that were opened by name
        return Expanded(file, kind, options) if kind else file  # type: ignore[return-value]
    except BaseException:
        os.close(descriptor)
        raise


def _first(descriptor: int) -> bytes:
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        raise OSError(EINVAL, os.strerror(EISDIR) if stat.S_ISDIR(mode) else "it is no regular file")
    return os.pread(descriptor, HEAD, 0)


def shortage(path: str, what: str, problem: OSError) -> ShortageError:
    """The error for a log of which something cannot be done for want of what the machine should have."""
    why = problem.strerror or type(problem).__name__
    todo = "make room or raise the limit, then run the same command again"
    return ShortageError(f"{path}: cannot be {what} ({why}), which is no fault of the log: {todo}")
