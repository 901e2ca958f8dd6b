"""Open logs on disk, in an archive or in a store, whether compressed or not; several files of a session as one."""

from __future__ import annotations

import io
import os
import stat
from bisect import bisect_right
from collections import OrderedDict
from errno import EINVAL, EISDIR, EMFILE, ENFILE, ENOMEM
from typing import Any, BinaryIO

from chatsquash.core.errors import ShortageError
from chatsquash.core.log import Log, Piece
from chatsquash.core.options import Options
from chatsquash.sources import unfold
from chatsquash.sources.compression import HEAD, ExpandedFile, PositionedFile, recognise
from chatsquash.sources.identity import is_raw, read_at, status_of
from chatsquash.sources.names import ARCHIVE_SCHEME, MARK, container
from chatsquash.storage import is_remote
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


_OPEN = 16
"""The maximum number of files of a session that are open at the same time."""


def open_log(log: Log, options: Options | None = None) -> BinaryIO:
    """Open a log with ``open_file``, or all of its files as one."""
    if log.pieces:
        return JoinedFile(log.pieces, options)  # type: ignore[return-value]
    return open_file(log.path, options, is_part=log.is_part)


class JoinedFile(PositionedFile):
    """A concatenation of files, of which the most recently read ones stay open."""

    def __init__(self, pieces: tuple[Piece, ...], options: Options | None) -> None:
        self._pieces, self._options = pieces, options
        self._starts = [piece.offset for piece in pieces]
        self._open: OrderedDict[int, BinaryIO] = OrderedDict()
        self.name = pieces[0].path

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Seek relative to the beginning or the current position."""
        self._at = offset + (self._at if whence == os.SEEK_CUR else 0)
        return self._at

    def readinto(self, into: Any) -> int:
        """Read at most to the end of one file; nothing is read at the end of the last one."""
        while len(into):
            number = bisect_right(self._starts, self._at) - 1
            file, start = self._file(number), self._starts[number]
            stop = self._starts[number + 1] if number + 1 < len(self._starts) else None
            view = memoryview(into)[: None if stop is None else stop - self._at]
            if file.tell() != self._at - start:
                file.seek(self._at - start)
            if count := file.readinto(view):  # type: ignore[attr-defined]
                self._at += count
                return int(count)
            if stop is None:
                break
            self._at = stop
        return 0

    def close(self) -> None:
        """Close all files."""
        while self._open:
            self._open.popitem()[1].close()
        super().close()

    def _file(self, number: int) -> BinaryIO:
        if number in self._open:
            self._open.move_to_end(number)
            return self._open[number]
        file = self._open[number] = open_file(self._pieces[number].path, self._options)
        if len(self._open) > _OPEN:
            self._open.popitem(last=False)[1].close()
        return file
