"""The inside of a process for work that is confined: requests come on standard input, answers go to standard output.

What this needs is loaded in a few milliseconds; the module that answers has ``answers(request)``, a generator of bytes.
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
"""The exit code of a process that needs more memory than it may have."""
OUT_OF_MEMORY = (MemoryError, SystemError)
"""What Python raises where memory runs out; a ``SystemError`` if there is none left for the exception itself."""
HEAD = 9
"""Bytes before each frame of an answer: its length, and whether it is the last one."""
_MOST = 1 << 50
"""Bytes that the system takes as a bound."""
_LATE = 5
"""Seconds behind the deadline at which this process ends by itself, if the other side did not end it."""


def main(module: str, memory: str, seconds: str, lifeline: str) -> None:
    """Answer requests until there are no more."""
    _end_with_parent(int(lifeline))
    answers = import_module(module).answers
    _limit(min(int(memory), _MOST))
    late = min(float(seconds) + _LATE, 1 << 30)
    _send(b"", last=True)  # which says that it is there
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
    """Have the system end this process, whatever it is busy with, when the other end of a pipe is closed."""
    for number in (signal.SIGIO, signal.SIGALRM):
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    fcntl.fcntl(lifeline, fcntl.F_SETOWN, os.getpid())
    fcntl.fcntl(lifeline, fcntl.F_SETFL, os.O_ASYNC)


def _limit(memory: int) -> None:
    """Allow so many bytes of memory beyond those that are taken already."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform != "linux":  # where such limits are not kept
        _watch(memory)
        return
    with open("/proc/self/statm", "rb") as file:
        taken = int(file.read().split()[0]) * resource.getpagesize()
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    most = taken + memory if hard == resource.RLIM_INFINITY else min(taken + memory, hard)
    resource.setrlimit(resource.RLIMIT_AS, (most, most))


def _watch(memory: int) -> None:
    """End this process when it took more memory; a single call may take more before that is seen."""
    import threading
    from time import sleep

    unit = 1 if sys.platform == "darwin" else 1024
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit + memory

    def look() -> None:
        while resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit <= most:
            sleep(0.05)
        os._exit(NO_MEMORY)

    threading.Thread(target=look, daemon=True).start()


def _requests() -> Iterator[memoryview]:
    source = open(0, "rb", closefd=False)  # noqa: SIM115 - as long as this process
    while len(head := source.read(8)) == 8:
        request = bytearray(int.from_bytes(head))
        with memoryview(request) as view:
            filled = 0
            while filled < len(request) and (count := source.readinto(view[filled:])):
                filled += count
            if filled < len(request):
                return
            yield view


def _send(frame: bytes, *, last: bool) -> None:
    with memoryview(b"".join((len(frame).to_bytes(8), bytes([last]), frame))) as left:
        at = 0
        while at < len(left):
            at += os.write(1, left[at:])
