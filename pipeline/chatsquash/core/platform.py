"""Calls that only POSIX systems have; on others, Windows among them, what needs them says so."""

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
from importlib.util import find_spec

_BUFFER_SIZE = 1 << 20
_MAX_THREADS = 8
"""Calls that wait for the disk at one time."""
_MODULES = ("fcntl", "resource")
_CALLS = ("O_CLOEXEC", "O_DIRECTORY", "O_NOFOLLOW", "O_NONBLOCK", "pread", "pwrite", "register_at_fork", "uname")
"""Of ``os``: what locks, bounds of memory and folders that no link leads out of are made with."""


def missing() -> str:
    """The first of the calls that only POSIX systems have which this Python lacks; empty where all are there."""
    modules = [name for name in _MODULES if find_spec(name) is None]
    calls = [f"os.{name}" for name in _CALLS if not hasattr(os, name)]
    return next(iter([*modules, *calls]), "")


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
    # Nor do the clients of stores outlive a fork.
    threaded = threading.active_count() > 1 or not {"polars", "ray", "obstore", "fsspec"}.isdisjoint(sys.modules)
    return "fork" if sys.platform.startswith("linux") and not threaded else "spawn"


def identity(descriptor: int) -> tuple[int, int]:
    """What tells an open file from all others, whatever it is called."""
    status = os.fstat(descriptor)
    return status.st_dev, status.st_ino


def mount(descriptor: int) -> tuple[int, str]:
    """What tells the file system of an open folder, and where that is mounted: no rename leads from one to another."""
    try:
        with open(f"/proc/self/fdinfo/{descriptor}", "rb") as file:
            mounted = next((line for line in file if line.startswith(b"mnt_id:")), b"")
    except OSError:
        mounted = b""  # a system that does not tell
    return os.fstat(descriptor).st_dev, mounted.decode()


def name_full_folder(problem: BaseException, folder: object) -> None:
    """Name a folder in an error about a full disk that names no file."""
    if isinstance(problem, OSError) and problem.errno in (ENOSPC, EDQUOT):
        problem.filename = problem.filename or str(folder)


def sync(descriptor: int) -> None:
    """Make sure that the bytes of an open file, or the names in an open folder, reach the disk."""
    os.fsync(descriptor)


def copy_range(source: int, offset: int, size: int, target: int) -> None:
    """Copy bytes of an open file to where another one stands; raises ``OSError`` where there are not so many.

    Where the system can do that by itself, they do not pass through this process.
    """
    while size:
        count = 0
        try:
            count = os.copy_file_range(source, target, size, offset)
        except (AttributeError, OSError) as problem:
            if getattr(problem, "errno", None) in (ENOSPC, EDQUOT, EFBIG):
                raise
        # Some file systems copy nothing and call that no error.
        count = count or os.write(target, os.pread(source, min(size, _BUFFER_SIZE), offset))
        if not count:
            raise OSError(EIO, "a file of this run ends before it should")
        offset, size = offset + count, size - count


def run_concurrently(calls: Iterable[Callable[[], object]]) -> None:
    """Make calls that wait for the disk, several at a time; no thread is left when they are over.

    Raises what the first raised that failed.
    """
    todo = deque(calls)
    problems: list[Exception] = []

    def work() -> None:
        with suppress(IndexError):  # when nothing is left
            while not problems:
                call = todo.popleft()
                try:
                    call()
                except Exception as problem:  # noqa: BLE001
                    problems.append(problem)

    threads = [threading.Thread(target=work) for _ in range(min(_MAX_THREADS, len(todo)) - 1)]
    try:
        with suppress(RuntimeError):  # there may be no more of them
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
    """Make a worker process deaf to Ctrl-C, which reaches its parent, too; it was started while that did not listen."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})


def end_with_parent() -> None:
    """End a worker process with its parent, which cannot do that when it is killed: nobody waits for it any more."""
    from multiprocessing import parent_process

    def wait() -> None:
        if parent := parent_process():
            parent.join()
            os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


@contextmanager
def uninterrupted() -> Iterator[None]:
    """Ctrl-C waits until what is inside is done."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def available_memory() -> int | None:
    """Bytes that this process may still take, where it has a limit of its own; ``None`` where it has none."""
    if find_spec("resource") is None:
        return None
    import resource

    remaining = []
    for limit, column in ((resource.RLIMIT_AS, 0), (resource.RLIMIT_DATA, 5)):
        most = resource.getrlimit(limit)[0]
        if most != resource.RLIM_INFINITY:
            remaining.append(most - _bytes_in_use(column))
    return max(0, min(remaining)) if remaining else None


def _bytes_in_use(column: int) -> int:
    """Bytes that this process has: of all addresses (0), or of data (5); 0 where the system does not tell."""
    try:
        with open("/proc/self/statm", "rb") as file:
            return int(file.read().split()[column]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0
