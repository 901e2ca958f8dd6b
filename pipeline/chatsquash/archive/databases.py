"""Consistent copies of SQLite databases that other programs may be writing to."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from urllib.parse import quote

from chatsquash.archive.stable import ChangingError

_MARK = b"SQLite format 3\0"
_WAL = "-wal"
_TRIES = 5


def is_database(descriptor: int) -> bool:
    """Return whether an open file is an SQLite database."""
    return os.pread(descriptor, len(_MARK), 0) == _MARK


def log_state(path: str) -> tuple[int, int]:
    """Return the size and modification time of the write-ahead log of a database."""
    try:
        status = os.lstat(path + _WAL)
    except OSError:
        return 0, 0
    return status.st_size, status.st_mtime_ns


def copy(path: str, target: Path) -> None:
    """Copy a database, including the committed changes in its write-ahead log.

    Raises:
        OSError: It cannot be read, or it is damaged.
        ChangingError: It changed whenever it was read.
    """
    # A read-only connection takes part in locking. Without the shared memory of its writers, SQLite would create files
    # next to the database: nobody has it open then, so that a copy of the files is consistent.
    try:
        if os.path.exists(f"{path}-shm") or not _uses_log(path):  # noqa: PTH110
            _back_up(f"file:{quote(path)}?mode=ro", target)
            return
        _copy_files(path, target)
    except sqlite3.Error as problem:
        raise OSError(5, f"the database cannot be copied ({problem})") from None


def _uses_log(path: str) -> bool:
    with open(path, "rb") as file:
        return file.read(20)[18:20] == b"\2\2"


def _back_up(url: str, target: Path) -> None:
    with closing(sqlite3.connect(url, uri=True, timeout=30)) as source, closing(sqlite3.connect(target)) as copy:
        source.backup(copy)


def _copy_files(path: str, target: Path) -> None:
    """Copy a database and its log as files in a moment in which neither changes, and merge the log into it."""
    files = target.with_name("files.db")
    for _ in range(_TRIES):
        before = _states(path)
        shutil.copyfile(path, files, follow_symlinks=False)
        log = files.with_name(files.name + _WAL)
        log.unlink(missing_ok=True)
        if os.path.exists(path + _WAL):  # noqa: PTH110
            shutil.copyfile(path + _WAL, log, follow_symlinks=False)
        if before == _states(path):
            _back_up(f"file:{quote(str(files))}", target)
            return
    raise ChangingError


def _states(path: str) -> tuple[int, ...]:
    status = os.lstat(path)
    return status.st_size, status.st_mtime_ns, status.st_ino, *log_state(path)
