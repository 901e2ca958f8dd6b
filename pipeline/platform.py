"""Calls that only POSIX systems have; Windows is untested."""

from __future__ import annotations

import fcntl
import gc
import os
import re
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

_OWNER = 400
"""Bytes that say who has a lock, at most."""


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def collect_less() -> None:
    """Look for garbage in cycles less often: conversations are trees, and going through them all takes time."""
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def start_method() -> str:
    """How worker processes start: by a fork where nothing with threads is loaded, which takes milliseconds."""
    threaded = threading.active_count() > 1 or "polars" in sys.modules
    return "fork" if sys.platform.startswith("linux") and not threaded else "spawn"


def private(path: Path) -> int:
    """A descriptor of a new file that only its owner can read."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)


def lock(path: Path) -> int:
    """A descriptor that locks a file until ``unlock``, or until this process ends, however it does.

    Where another process has the lock, raises ``BlockingIOError`` that says which, as far as is known.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError) as problem:  # POSIX leaves open which
        raise _locked(descriptor, problem) from None
    except OSError as problem:  # a file system without locks
        if _is_alive(os.pread(descriptor, _OWNER, 0)):
            raise _locked(descriptor, problem) from None
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"process {os.getpid()} on {os.uname().nodename}".encode(), 0)
    return descriptor


def unlock(descriptor: int) -> None:
    """Give up a lock, and no longer name this process as its owner."""
    with suppress(OSError):
        os.ftruncate(descriptor, 0)
    os.close(descriptor)


def _locked(descriptor: int, problem: OSError) -> BlockingIOError:
    owner = os.pread(descriptor, _OWNER, 0)
    os.close(descriptor)
    return BlockingIOError(problem.errno, owner.decode("utf-8", "replace"))


def _is_alive(owner: bytes) -> bool:
    """Whether a lock's owner is another process of this host that still runs."""
    found = re.fullmatch(r"process (\d+) on (.*)", owner.decode("utf-8", "replace"))
    if not found or found[2] != os.uname().nodename or int(found[1]) == os.getpid():
        return False
    try:
        os.kill(int(found[1]), 0)
    except PermissionError:
        return True
    except (OSError, OverflowError):
        return False
    return True


def clear(folder: Path) -> None:
    """Remove a folder with all that is in it, as far as that can be; there may be none."""
    if os.path.lexists(folder):
        from shutil import rmtree  # which loads every way to compress

        rmtree(folder, ignore_errors=True)


def sync(path: Path) -> None:
    """Make sure that a file's bytes, or the names in a folder, reach the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def leave_interrupts_to_parent() -> None:
    """Make a worker process deaf to Ctrl-C, which reaches its parent, too; it was started while that did not listen."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until what is inside is done."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def memory_left() -> int | None:
    """Bytes that this process may still take, where it has a limit of its own; ``None`` where it has none."""
    import resource

    left = []
    for limit, column in ((resource.RLIMIT_AS, 0), (resource.RLIMIT_DATA, 5)):
        most = resource.getrlimit(limit)[0]
        if most != resource.RLIM_INFINITY:
            left.append(most - _taken(column))
    return max(0, min(left)) if left else None


def _taken(column: int) -> int:
    """Bytes that this process has: of all addresses (0), or of data (5); 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[column]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
