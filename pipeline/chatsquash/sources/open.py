"""The bytes of a log, whichever way they lie on the disk, or in a store."""

from __future__ import annotations

import io
import os
import stat
from errno import EINVAL, EISDIR, EMFILE, ENFILE, ENOMEM
from typing import BinaryIO

from chatsquash.core.errors import ShortageError
from chatsquash.core.options import Options
from chatsquash.core.urls import is_remote
from chatsquash.sources import unfold
from chatsquash.sources.compression import HEAD, ExpandedFile, recognise
from chatsquash.sources.identity import is_raw, read_at, status_of
from chatsquash.sources.names import MARK, container
from chatsquash.sources.unfolding import UnfoldedFile
from chatsquash.storage.folder import NEVER_WAITING

_SCARCE = frozenset((EMFILE, ENFILE, ENOMEM))
"""Why a log cannot be opened that has nothing to do with the log."""


def raw(path: str | os.PathLike[str]) -> io.FileIO:
    """The bytes of a file as it stands on a disk or in a store, unbuffered; raises as ``opened``."""
    if isinstance(path, str) and MARK in path and (inside := container(path)):
        return _member(*inside)
    # Without waiting for a pipe's other end, which may have taken the place of a file since that was found.
    if isinstance(path, str) and is_remote(path):
        from chatsquash.sources.remote import StoredLog  # which local files do not need

        return StoredLog(path)  # type: ignore[return-value]
    descriptor = os.open(path, os.O_RDONLY | NEVER_WAITING)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise OSError(EINVAL, os.strerror(EISDIR) if stat.S_ISDIR(mode) else "it is not a regular file")
    file = io.FileIO(descriptor)
    file.name = os.fspath(path)  # as files have it that were opened by name
    return file


def _member(archive: str, name: str) -> io.FileIO:
    """A member of an archive, as the file that it would be."""
    from chatsquash.sources import archives  # which other files do not need

    file = opened_archive(archive)
    try:
        return archives.member(file, name)  # type: ignore[return-value]
    except BaseException:
        file.close()
        raise


def opened_archive(path: str) -> io.FileIO:
    """An archive, of one that is compressed a copy that is not; raises as ``opened``."""
    file = raw(path)
    try:
        kind = recognise(read_at(file, HEAD, 0))
        if kind is None:
            return file
        from chatsquash.sources import scratch  # which few runs need

        with ExpandedFile(file, kind, Options()) as compressed:
            return raw(scratch.tar_of(compressed, status_of(file)))
    except BaseException:
        file.close()
        raise


def open_file(path: str | os.PathLike[str], options: Options | None = None) -> BinaryIO:
    """A log, unbuffered; a compressed one is expanded as it is read, as far as the options allow.

    Raises ``OSError`` for what is no regular file, opening which might wait forever, and where the library of its
    compression is not at hand, and ``ShortageError`` where the machine has too little of something to open any.
    """
    try:
        return _open(path, options or Options())
    except OSError as problem:
        if problem.errno in _SCARCE:
            raise shortage(os.fspath(path), "opened", problem) from None
        raise


def _open(path: str | os.PathLike[str], options: Options) -> BinaryIO:
    file = raw(path)
    try:
        kind = recognise(_head(file, HEAD))
        return _unfold(ExpandedFile(file, kind, options) if kind else file, options)
    except BaseException:
        file.close()
        raise


def _unfold(file: io.FileIO | ExpandedFile, options: Options) -> BinaryIO:
    """A file whose exchanges are no lines as the lines that are made of it; any other as it is."""
    kind = unfold.recognise(_head(file, unfold.HEAD))
    return UnfoldedFile(file, kind, options) if kind else file  # type: ignore[return-value]


def _head(file: io.FileIO | ExpandedFile, size: int) -> bytes:
    """What a file begins with, which stands at its beginning then."""
    if is_raw(file):
        return read_at(file, size, 0)
    head = file.read(size) or b""
    file.seek(0)
    return head


def shortage(path: str, what: str, problem: OSError) -> ShortageError:
    """The error for a log of which something cannot be done for want of what the machine should have."""
    why = problem.strerror or type(problem).__name__
    todo = "make room or raise the limit, then run the same command again"
    return ShortageError(f"{path}: cannot be {what} ({why}), which is not a fault of the log: {todo}")
