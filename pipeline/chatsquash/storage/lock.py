"""Locks of output folders, so that only one run writes at a time, across processes and threads."""

from __future__ import annotations

import fcntl
import os
import re
from contextlib import suppress
from errno import EAGAIN

from chatsquash.core import platform
from chatsquash.storage.folder import Folder

_OWNER = 400
"""The maximum size of the owner in a lock file in bytes."""
_TRIES = 10
"""The number of attempts if the locked file was replaced meanwhile."""
# Excludes other threads if the file system does not support locks.
_own_locks: dict[tuple[int, int], int] = {}
"""The locks of this process: descriptors by file identity."""


def lock(folder: Folder, name: str) -> int:
    """Lock a file until ``unlock``, or until this process ends in any way; return the descriptor.

    Raises:
        BlockingIOError: Another run has the lock; the message contains its process, if known.
    """
    for _ in range(_TRIES):
        descriptor = folder.open(name, os.O_RDWR | os.O_CREAT)
        try:
            _acquire(descriptor)
            if _is_current(folder, name, descriptor):
                os.ftruncate(descriptor, 0)
                os.pwrite(descriptor, owner().encode(), 0)
                return descriptor
        except BaseException:
            _release(descriptor)
            raise
        _release(descriptor)
    raise BlockingIOError(EAGAIN, "")


def unlock(descriptor: int) -> None:
    """Release a lock and remove this process as its owner; do nothing in a fork of the owner."""
    if is_held(descriptor):
        with suppress(OSError):
            os.ftruncate(descriptor, 0)
        _release(descriptor)


def is_held(descriptor: int) -> bool:
    """Return whether this process itself has a lock, rather than the process from which it was forked."""
    return descriptor in _own_locks.values()


def owner() -> str:
    """Return the description of this process in lock files."""
    return f"process {os.getpid()} on {os.uname().nodename}"


def _acquire(descriptor: int) -> None:
    """Lock an open file."""
    # flock locks belong to the open file and not to the process: they exclude threads, and closing another descriptor
    # of the file does not release them.
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError) as problem:  # depending on the system
        raise _lock_error(descriptor, problem.errno) from None
    except OSError as problem:  # a file system without locks
        if is_alive(os.pread(descriptor, _OWNER, 0)):
            raise _lock_error(descriptor, problem.errno) from None
    if _own_locks.setdefault(platform.identity(descriptor), descriptor) != descriptor:
        raise _lock_error(descriptor, EAGAIN)


def _release(descriptor: int) -> None:
    if is_held(descriptor):
        del _own_locks[platform.identity(descriptor)]
    os.close(descriptor)


def _is_current(folder: Folder, name: str, descriptor: int) -> bool:
    """Return whether the locked file still has its name and no other; otherwise the caller retries with a new file."""
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
    """Return whether a lock's owner is another running process, or ``None`` for this process or another host."""
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


def _close_inherited_locks() -> None:
    """Close inherited descriptors in a fork, which would otherwise keep a lock after its owner has ended."""
    for descriptor in _own_locks.values():
        with suppress(OSError):
            os.close(descriptor)
    _own_locks.clear()


os.register_at_fork(after_in_child=_close_inherited_locks)
