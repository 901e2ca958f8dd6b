"""The main loop of a confined process, which reads requests from standard input and writes answers to standard output.

It only imports modules that load in a few milliseconds. The module that answers requests defines a generator of bytes,
``answers(request)``.
"""

from __future__ import annotations

import fcntl
import os
import resource
import signal
import sys
from collections.abc import Iterator
from importlib import import_module

NO_MEMORY = 70
"""The exit code of a process that exceeds its memory limit."""
OUT_OF_MEMORY = (MemoryError, SystemError)
"""The errors raised by Python when memory runs out; ``SystemError`` if none is left for the exception itself."""
HEAD = 9
"""The size in bytes of the header of each answer frame: its length, and whether it is the last frame."""
_MOST = 1 << 50
"""The maximum memory limit that the system accepts."""
_LATE = 5
"""The number of seconds after the deadline at which this process ends itself if its parent did not end it."""


def main(module: str, memory: str, seconds: str, lifeline: str) -> None:
    """Answer requests until standard input ends."""
    _end_with_parent(int(lifeline))
    answers = import_module(module).answers
    # Set after the import, so that the limit does not include the memory of the module.
    _limit(min(int(memory), _MOST))
    late = min(float(seconds) + _LATE, 1 << 30)
    _send(b"", last=True)  # report that the process has started
    try:
        for request in _requests():
            signal.setitimer(signal.ITIMER_REAL, late)
            data = b""
            for number, frame in enumerate(answers(request)):
                if number:
                    _send(data, last=False)
                data = frame
            _send(data, last=True)
            signal.setitimer(signal.ITIMER_REAL, 0)
            del request, data
    except OUT_OF_MEMORY:
        os._exit(NO_MEMORY)
    except BrokenPipeError:
        os._exit(1)


def _end_with_parent(lifeline: int) -> None:
    """Make the system end this process, even during a long call, when its parent closes a pipe."""
    for number in (signal.SIGIO, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, os.O_ASYNC)


def _limit(memory: int) -> None:
    """Limit memory to ``memory`` bytes in addition to those already in use."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform != "linux":  # other systems do not enforce such limits
        _watch(memory)
        return
    with open("/proc/self/statm", "rb") as file:
        in_use = int(file.read().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = in_use + memory if hard == resource.RLIM_INFINITY else min(in_use + memory, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _watch(memory: int) -> None:
    """End this process when it exceeds its memory limit; a single call may exceed it before that is detected."""
    import threading
    from time import sleep

    unit = 1 if sys.platform == "darwin" else 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit + memory

    def check_memory() -> None:
        while resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit <= most:
            sleep(0.05)
        os._exit(NO_MEMORY)

    threading.Thread(target=check_memory, daemon=True).start()


def _requests() -> Iterator[memoryview]:
    source = open(0, "rb", closefd=False)  # noqa: SIM115 - as long as this process
    while len(head := source.read(8)) == 8:
        request = bytearray(int.from_bytes(head))
        with memoryview(request) as view:
            size = 0
            while size < len(request) and (count := source.readinto(view[size:])):
                size += count
            if size < len(request):
                return
            yield view


def _send(frame: bytes, *, last: bool) -> None:
    with memoryview(b"".join((len(frame).to_bytes(8), bytes([last]), frame))) as remaining:
        at = 0
        while at < len(remaining):
            at += os.write(1, remaining[at:])
