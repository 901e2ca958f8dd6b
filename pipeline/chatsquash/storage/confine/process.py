"""Run work in a separate process with time and memory limits, which can be killed."""

from __future__ import annotations

import os
import select
import signal
import subprocess
import sys
import weakref
from collections.abc import Iterator
from errno import EFBIG
from time import monotonic
from typing import NoReturn

from chatsquash.storage.confine.inside import HEAD, NO_MEMORY

_PIECE = 1 << 16
"""The capacity of a pipe in bytes on most systems."""
_LONG = 3600
"""The maximum number of seconds to wait at a time."""
_START = 60
"""The number of seconds allowed for starting the process, even on a busy machine; not counted for answers."""
_GRACE = 1
"""The number of seconds after the deadline during which available output is still accepted."""
_BOOT = (
    "import sys; sys.path[:] = sys.argv[5:]; from chatsquash.storage.confine.inside import main; main(*sys.argv[1:5])"
)
_ENVIRONMENT = ("TZ", "TZDIR", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""The environment variables passed to the process: time zone, locale, and the search path of Python's libraries."""


class BeyondBoundsError(OSError):
    """Reading a file exceeds a time or memory limit; the message contains the limit and its option."""

    def __init__(self, text: str) -> None:
        super().__init__(EFBIG, text)


class EndedError(Exception):
    """The process did not finish its work; the message contains the reason."""


class OutOfTimeError(EndedError):
    """The process exceeded its time limit."""


class OutOfMemoryError(EndedError):
    """The process exceeded its memory limit, or its answer is too large."""


class Confined:
    """A process that runs ``answers`` of a module for one request at a time, with limits.

    It is killed and reaped when it is closed, when an answer takes too long, when reading an answer is aborted (also by
    Ctrl-C), and when this object is deleted. It also ends if this process is killed.
    """

    def __init__(self, module: str, memory: int, seconds: float) -> None:
        """Start the process.

        Args:
            module: The module with ``answers``.
            memory: The number of bytes allowed in addition to those of the module itself.
            seconds: The time limit for each answer.
        """
        self._seconds = seconds
        theirs, ours = os.pipe()  # closes when this process ends; nothing is written to it
        paths = [os.path.abspath(each) for each in sys.path]  # noqa: PTH100 - pathlib is slower
        arguments = [module, str(memory), str(seconds), str(theirs), *paths]
        try:
            process = subprocess.Popen(  # noqa: S603 - this Python with our own module
                [sys.executable, "-I", "-S", "-c", _BOOT, *arguments],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
                pass_fds=(theirs,),
                start_new_session=True,  # Ctrl-C reaches only this process, which then kills the confined one
            )
        except BaseException:
            os.close(ours)
            raise
        finally:
            os.close(theirs)
        self._process = process
        assert process.stdin
        assert process.stdout
        self._to, self._from = process.stdin.fileno(), process.stdout.fileno()
        os.set_blocking(self._to, False)
        self._pending: list[memoryview] = []
        self._read = bytearray()
        self._started = False
        self._readable, self._both = select.poll(), select.poll()
        for poller in (self._readable, self._both):
            poller.register(self._from, select.POLLIN)
        self._both.register(self._to, select.POLLOUT)
        self.close = weakref.finalize(self, _end, process, ours)

    def begin(self, *parts: bytes) -> None:
        """Begin to send a request in one or more parts; ``answers`` sends the rest and reads the answer."""
        first = sum(map(len, parts)).to_bytes(8) + parts[0]
        self._pending = [memoryview(part) for part in (first, *parts[1:]) if part]
        self._write()

    def answers(self, most: int, seconds: float | None = None) -> Iterator[bytes]:
        """Yield the frames of the answer to the request.

        Args:
            most: The maximum number of bytes of all frames.
            seconds: A shorter time limit, starting now.

        Raises:
            EndedError: The process did not finish the answer.
        """
        allowed = self._seconds if seconds is None else min(seconds, self._seconds)
        try:
            if not self._started:
                list(self._answers(0, monotonic() + _START))
                self._started = True
            yield from self._answers(most, monotonic() + allowed)
        except BaseException:  # includes Ctrl-C and closing the generator
            self.close()
            raise

    def answer(self, most: int, seconds: float | None = None) -> bytes:
        """Return the complete answer."""
        return b"".join(self.answers(most, seconds))

    def _answers(self, most: int, deadline: float) -> Iterator[bytes]:
        read, last = self._read, False
        while not last:
            while len(read) < HEAD:
                read += self._more(deadline)
            size, last = int.from_bytes(read[:8]), bool(read[8])
            most -= size
            if most < 0:
                raise OutOfMemoryError("its answer is too large")
            while len(read) < HEAD + size:
                read += self._more(deadline)
            frame = bytes(memoryview(read)[HEAD : HEAD + size])
            del read[: HEAD + size]
            yield frame

    def _more(self, deadline: float) -> bytes:
        """Return the next output, writing pending input in the meantime."""
        while True:
            remaining = deadline - monotonic()
            poller = self._both if self._pending else self._readable
            ready = {descriptor for descriptor, _ in poller.poll(min(max(remaining, 0), _LONG) * 1000)}
            if remaining < -_GRACE or (remaining <= 0 and not ready):
                raise OutOfTimeError("time ran out")
            if self._to in ready:
                self._write()
            if self._from in ready:
                return os.read(self._from, _PIECE) or self._raise_end()

    def _write(self) -> None:
        """Write as much pending input as the process accepts."""
        try:
            while self._pending:
                remaining = self._pending[0][os.write(self._to, self._pending[0]) :]
                self._pending[:1] = [remaining] if remaining else []
        except BlockingIOError:
            return
        except BrokenPipeError:  # the next read raises an error with the reason
            self._pending.clear()

    def _raise_end(self) -> NoReturn:
        code = self._process.wait()
        if code == NO_MEMORY:
            raise OutOfMemoryError("memory ran out")
        if code == -signal.SIGALRM:
            raise OutOfTimeError("time ran out")
        raise EndedError(f"its process ended with {signal.Signals(-code).name if code < 0 else f'exit code {code}'}")


def _end(process: subprocess.Popen[bytes], lifeline: int) -> None:
    process.kill()
    process.wait()
    for pipe in filter(None, (process.stdin, process.stdout)):
        pipe.close()
    os.close(lifeline)
