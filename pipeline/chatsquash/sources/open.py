"""Open logs on disk, in an archive or in a store, whether compressed or not."""

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
from chatsquash.sources.names import ARCHIVE_SCHEME, MARK, container
from chatsquash.storage.folder import NEVER_WAITING

_SHORTAGES = frozenset((EMFILE, ENFILE, ENOMEM))
"""Errors caused by the machine and not by the log."""


def raw(path: str | os.PathLike[str]) -> io.FileIO:
    """Open the stored bytes of a file on disk or in a store, unbuffered; raise the same errors as ``open_file``."""
    if isinstance(path, str) and MARK in path and (inside := container(path)):
        return _open_member(*inside)
    if isinstance(path, str) and is_remote(path):
        from chatsquash.sources.remote import StoredLog  # not needed for local files

        return StoredLog(path)  # type: ignore[return-value]
    # Opened without blocking, because the file may have been replaced by a pipe since discovery.
    descriptor = os.open(path, os.O_RDONLY | NEVER_WAITING)
    mode = os.fstat(descriptor).st_mode
    if not stat.S_ISREG(mode):
        os.close(descriptor)
        raise OSError(EINVAL, os.strerror(EISDIR) if stat.S_ISDIR(mode) else "not a regular file")
    file = io.FileIO(descriptor)
    file.name = os.fspath(path)  # as for files opened by name
    return file


def _open_member(archive: str, name: str) -> io.FileIO:
    """Open a member of an archive like a file."""
    from chatsquash.sources import archives  # few runs need it

    if archive.startswith(ARCHIVE_SCHEME):
        from chatsquash.sources import archive_logs  # few runs need it

        return archive_logs.open_member(archive, name)  # type: ignore[return-value]
    file = open_archive(archive)
    try:
        return archives.open_member(file, name)  # type: ignore[return-value]
    except BaseException:
        file.close()
        raise


def open_archive(path: str) -> io.FileIO:
    """Open an archive, or an uncompressed copy of a compressed one; raise the same errors as ``open_file``."""
    file = raw(path)
    try:
        kind = recognise(read_at(file, HEAD, 0))
        if kind is None:
            return file
        from chatsquash.sources import scratch  # few runs need it

        with ExpandedFile(file, kind, Options()) as compressed:
            return raw(scratch.expand_tar_once(compressed, status_of(file)))
    except BaseException:
        file.close()
        raise


_last_plain: tuple[object, ...] | None = None
"""The status of the last file of several sessions, if it is neither compressed nor an export."""


def open_file(path: str | os.PathLike[str], options: Options | None = None, *, is_part: bool = False) -> BinaryIO:
    """Open a log unbuffered; compressed logs are decompressed while they are read, within the limits of the options.

    Args:
        path: The path or URL.
        options: The options of the run.
        is_part: Whether its file has several sessions; the beginning is then examined once and not for each of them.

    Raises:
        OSError: The path is not a regular file, which could block, or the compression library is missing.
        ShortageError: The machine is out of file handles or memory.
    """
    try:
        return _open(path, options or Options(), is_part=is_part)
    except OSError as problem:
        if problem.errno in _SHORTAGES:
            raise shortage(os.fspath(path), "opened", problem) from None
        raise


def _open(path: str | os.PathLike[str], options: Options, *, is_part: bool) -> BinaryIO:
    global _last_plain  # noqa: PLW0603 - only one per process
    file = raw(path)
    try:
        status = status_of(file) if is_part else None
        if status and status == _last_plain:
            return file
        plain: io.FileIO | ExpandedFile = file
        head = _head(file)
        if kind := recognise(head):
            plain = ExpandedFile(file, kind, options)
            head = _head(plain)
        export = unfold.recognise(head)
        if status and plain is file and not export:
            _last_plain = status
        if not export:
            return plain  # type: ignore[return-value]
        from chatsquash.sources.unfolding import UnfoldedFile  # few runs need it

        return UnfoldedFile(plain, export, options)  # type: ignore[return-value]
    except BaseException:
        file.close()
        raise


def _head(file: io.FileIO | ExpandedFile) -> bytes:
    """Return the bytes that show how a file is read; the position is at the beginning afterwards."""
    if is_raw(file):
        return read_at(file, unfold.HEAD, 0)
    head = file.read(unfold.HEAD) or b""
    file.seek(0)
    return head


def shortage(path: str, what: str, problem: OSError) -> ShortageError:
    """Return the error for a log that cannot be read because the machine is out of a resource."""
    why = problem.strerror or type(problem).__name__
    todo = "free some resources or raise the limit, then run the same command again"
    return ShortageError(f"{path}: cannot be {what} ({why}), for a reason unrelated to the log: {todo}")
