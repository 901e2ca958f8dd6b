"""The lock of an output folder: one run writes there at a time, in whatever process or thread."""

from __future__ import annotations

import fcntl
import os
import re
from contextlib import suppress
from errno import EAGAIN

from chatsquash.core import platform
from chatsquash.storage.folder import Folder

_OWNER = 400
"""Bytes that say who has a lock, at most."""
_TRIES = 10
"""How often another file may take the place of the one that was locked."""
_own_locks: dict[tuple[int, int], int] = {}
"""The locks of this process: which file, and its descriptor.  They keep threads apart where the system has no locks."""


def lock(folder: Folder, name: str) -> int:
    """A descriptor that locks a file until ``unlock``, or until this process ends, however it does.

    Where another run has the lock, raises ``BlockingIOError`` that says which process, as far as is known.
    """
    for _ in range(_TRIES):
        descriptor = folder.open(name, os.O_RDWR | os.O_CREAT)
        try:
            _take(descriptor)
            if _is_ours_alone(folder, name, descriptor):
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, owner().encode(), 0)
                return descriptor
        except BaseException:
            _drop(descriptor)
            raise
        _drop(descriptor)
    raise BlockingIOError(EAGAIN, "")


def unlock(descriptor: int) -> None:
    """Give up a lock, and no longer name this process as its owner; in a fork of that process does nothing."""
    if is_held(descriptor):
        with suppress(OSError):
            os.ftruncate(descriptor, 0)
        _drop(descriptor)


def is_held(descriptor: int) -> bool:
    """Whether this process has a lock, and is no fork of the one that has it."""
    return descriptor in _own_locks.values()


def owner() -> str:
    """This process, as locks name it."""
    return f"process {os.getpid()} on {os.uname().nodename}"


def _take(descriptor: int) -> None:
    """Lock an open file.

    By ``flock``, since it belongs to what was opened and not to the process: it keeps threads apart, and closing the
    file elsewhere in this process does not end it.
    """
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError) as problem:  # some systems say this, some that
        raise _lock_error(descriptor, problem.errno) from None
    except OSError as problem:  # a file system without locks
        if is_alive(os.pread(descriptor, _OWNER, 0)):
            raise _lock_error(descriptor, problem.errno) from None
    if _own_locks.setdefault(platform.identity(descriptor), descriptor) != descriptor:
        raise _lock_error(descriptor, EAGAIN)


def _drop(descriptor: int) -> None:
    if is_held(descriptor):
        del _own_locks[platform.identity(descriptor)]
    os.close(descriptor)


def _is_ours_alone(folder: Folder, name: str, descriptor: int) -> bool:
    """Whether what was locked still stands there and nowhere else; else it is not written to, and another is made."""
    status = folder.status(name)
    if status is None or (status.st_dev, status.st_ino) != platform.identity(descriptor):
        return False
    if status.st_nlink > 1:
        folder.remove(name)
        return False
    return True


def _lock_error(descriptor: int, number: int | None) -> BlockingIOError:
    owner = os.pread(descriptor, _OWNER, 0)
    return BlockingIOError(number, owner.decode("utf-8", "replace"))


def is_alive(owner: bytes) -> bool | None:
    """Whether a lock's owner is another process that runs; ``None`` for this one, and one that this host cannot see."""
    match = re.fullmatch(r"process (\d+) on (.*)", owner.decode("utf-8", "replace"))
    if not match or match[2] != os.uname().nodename or int(match[1]) == os.getpid():
        return None
    try:
        os.kill(int(match[1]), 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def _forget() -> None:
    """In a fork: close what would keep a lock after the process ended that has it."""
    for descriptor in _own_locks.values():
        with suppress(OSError):
            os.close(descriptor)
    _own_locks.clear()


os.register_at_fork(after_in_child=_forget)
