"""System calls that only POSIX systems have, and limits of the process.

On other systems, such as Windows, ``missing`` returns the first missing call, and ``storage`` refuses to run.
"""

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from errno import EDQUOT, EFBIG, EIO, ENOSPC
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from types import ModuleType

_BUFFER_SIZE = 1 << 20
_MAX_THREADS = 8
"""The maximum number of simultaneous calls that wait for the disk."""
_MODULES = ("fcntl", "resource")
_CALLS = ("O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "pread", "pwrite", "register_at_fork", "uname")
"""Members of ``os`` required for locks, memory limits and folders that no link can leave."""


def missing() -> str:
    """Return the first required POSIX call that is missing from this Python, or an empty string."""
    modules = [name for name in _MODULES if find_spec(name) is None]
    calls = [f"os.{name}" for name in _CALLS if not hasattr(os, name)]
    return next(iter([*modules, *calls]), "")


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def collect_less() -> None:
    """Run the garbage collector less often."""
    # Conversations have no cycles, and traversing them takes time.
    gc.freeze()
    gc.set_threshold(50_000, 20, 100)


def start_method() -> str:
    """Return the start method for worker processes: ``fork``, the fastest, unless threads may be running."""
    # Clients of object stores do not survive a fork either.
    threaded = threading.active_count() > 1 or not {"polars", "ray", "obstore", "fsspec"}.isdisjoint(sys.modules)
    return "fork" if sys.platform.startswith("linux") and not threaded else "spawn"


def identity(descriptor: int) -> tuple[int, int]:
    """Return the identity of an open file, independent of its name."""
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


def mount(descriptor: int) -> tuple[int, str]:
    """Return the file system and the mount of an open folder."""
    # Files cannot be renamed across mounts, even within one file system.
    try:
        with open(f"/proc/self/fdinfo/{descriptor}", "rb") as file:
            mounted = next((line for line in file if line.startswith(b"mnt_id:")), b"")
    except OSError:
        mounted = b""  # a system without /proc
    return os.fstat(descriptor).st_dev, mounted.decode()


def name_full_folder(problem: BaseException, folder: object) -> None:
    """Add a folder to an error about a full disk that does not mention a file."""
    if isinstance(problem, OSError) and problem.errno in (ENOSPC, EDQUOT):
        problem.filename = problem.filename or str(folder)


def sync(descriptor: int) -> None:
    """Flush the bytes of an open file, or the names in an open folder, to the disk."""
    os.fsync(descriptor)


def copy_range(source: int, offset: int, size: int, target: int) -> None:
    """Copy ``size`` bytes from ``offset`` of an open file to the current position of another one.

    If the system supports it, the bytes do not pass through this process.

    Raises:
        OSError: The source has fewer bytes, or the disk is full.
    """
    while size:
        count = 0
        try:
            count = os.copy_file_range(source, target, size, offset)
        except (AttributeError, OSError) as problem:
            if getattr(problem, "errno", None) in (ENOSPC, EDQUOT, EFBIG):
                raise
        # Some file systems copy nothing without reporting an error.
        count = count or os.write(target, os.pread(source, min(size, _BUFFER_SIZE), offset))
        if not count:
            raise OSError(EIO, "a file of this run is shorter than expected")
        offset, size = offset + count, size - count


def run_concurrently(calls: Iterable[Callable[[], object]]) -> None:
    """Run calls that wait for the disk in several threads, and return when all have ended.

    The first exception is raised again.
    """
    todo = deque(calls)
    problems: list[Exception] = []

    def work() -> None:
        with suppress(IndexError):  # no calls remain
            while not problems:
                call = todo.popleft()
                try:
                    call()
                except Exception as problem:  # noqa: BLE001
                    problems.append(problem)

    threads = [threading.Thread(target=work) for _ in range(min(_MAX_THREADS, len(todo)) - 1)]
    try:
        with suppress(RuntimeError):  # the system may refuse more threads
            for thread in threads:
                thread.start()
        work()
    finally:
        todo.clear()
        for thread in threads:
            if thread.ident:
                thread.join()
    if problems:
        raise problems[0]


def leave_interrupts_to_parent() -> None:
    """Ignore Ctrl-C in a worker process, and unblock the signals that its parent had blocked."""
    # The parent also receives Ctrl-C and then stops its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})


def end_with_parent() -> None:
    """End a worker process when its parent ends."""
    # A parent that was killed cannot stop its workers.
    from multiprocessing import parent_process

    def wait() -> None:
        if parent := parent_process():
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Delay Ctrl-C until the end of the body."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def available_memory() -> int | None:
    """Return the bytes of memory that this process may still allocate, or ``None`` without a limit."""
    resource = _resource()
    if resource is None:
        return None
    remaining = []
    for limit, column in ((resource.RLIMIT_AS, 0), (resource.RLIMIT_DATA, 5)):
        most = resource.getrlimit(limit)[0]
        if most != resource.RLIM_INFINITY:
            remaining.append(most - _bytes_in_use(column))
    return max(0, min(remaining)) if remaining else None


@cache
def _resource() -> ModuleType | None:
    return import_module("resource") if find_spec("resource") else None


def _bytes_in_use(column: int) -> int:
    """Return the bytes of address space (column 0) or data (5) of this process; 0 on systems without ``/proc``."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[column]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
