"""A process that works for this one within bounds of time and memory, and can be killed."""

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
"""Bytes that a pipe holds, of most systems."""
_LONG = 3600
"""Seconds to wait at a time."""
_START = 60
"""Seconds in which a process has to be there, which a busy machine may need; they count for no answer."""
_GRACE = 1
"""Seconds after which also what is there already comes too late."""
_BOOT = (
    "import sys; sys.path[:] = sys.argv[5:]; from chatsquash.storage.confine.inside import main; main(*sys.argv[1:5])"
)
_ENVIRONMENT = ("TZ", "TZDIR", "LANG", "LC_ALL", "LC_CTYPE", "LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH")
"""What the process is told of the variables: what clocks and texts go by, and where Python finds its own libraries."""


class BeyondBoundsError(OSError):
    """A file takes more time or memory to read than it may; the text names the bound and its option."""

    def __init__(self, text: str) -> None:
        super().__init__(EFBIG, text)


class EndedError(Exception):
    """The process did not finish its work; the text says why."""


class OutOfTimeError(EndedError):
    """It took longer than it may."""


class OutOfMemoryError(EndedError):
    """It needs more memory than it may have, or would send more than is taken."""


class Confined:
    """A process that runs ``answers`` of a module on what it is sent, one request at a time, with bounds.

    It is killed and reaped when it is closed, when a request is not answered in time, when the work on an answer is
    given up, also by Ctrl-C, and when this object goes.  If this process is killed, the other one ends, too.
    """

    def __init__(self, module: str, memory: int, seconds: float) -> None:
        """``memory``: bytes beyond those of the module itself; ``seconds``: for each answer."""
        self._seconds = seconds
        theirs, ours = os.pipe()  # nothing is ever written to it: that it ends says that this process has ended
        paths = [os.path.abspath(each) for each in sys.path]  # noqa: PTH100 - as quick as can be
        given = [module, str(memory), str(seconds), str(theirs), *paths]
        try:
            process = subprocess.Popen(  # noqa: S603 - this Python with a module of ours
                [sys.executable, "-I", "-S", "-c", _BOOT, *given],
                bufsize=0,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd="/",
                env={name: os.environ[name] for name in _ENVIRONMENT if name in os.environ},
                pass_fds=(theirs,),
                start_new_session=True,  # Ctrl-C is for this process, which then kills that one
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
        """Send a request, which may be given in parts, as far as it is taken now; its answer has to be asked for."""
        first = sum(map(len, parts)).to_bytes(8) + parts[0]
        self._pending = [memoryview(part) for part in (first, *parts[1:]) if part]
        self._write()

    def answers(self, most: int, seconds: float | None = None) -> Iterator[bytes]:
        """The frames of the answer to the request; ``most``: bytes of all of them.

        ``seconds`` may allow less time than there is for each answer, which begins now.  Raises ``EndedError``.
        """
        allowed = self._seconds if seconds is None else min(seconds, self._seconds)
        try:
            if not self._started:
                list(self._answers(0, monotonic() + _START))
                self._started = True
            yield from self._answers(most, monotonic() + allowed)
        except BaseException:  # also Ctrl-C, and whoever asks for no more
            self.close()
            raise

    def answer(self, most: int, seconds: float | None = None) -> bytes:
        """The only frame of an answer."""
        return b"".join(self.answers(most, seconds))

    def _answers(self, most: int, deadline: float) -> Iterator[bytes]:
        read, last = self._read, False
        while not last:
            while len(read) < HEAD:
                read += self._more(deadline)
            size, last = int.from_bytes(read[:8]), bool(read[8])
            most -= size
            if most < 0:
                raise OutOfMemoryError("it sends more than is taken")
            while len(read) < HEAD + size:
                read += self._more(deadline)
            frame = bytes(memoryview(read)[HEAD : HEAD + size])
            del read[: HEAD + size]
            yield frame

    def _more(self, deadline: float) -> bytes:
        """What can be read next, until when is written what is pending, as far as the other side takes it."""
        while True:
            left = deadline - monotonic()
            poller = self._both if self._pending else self._readable
            ready = {descriptor for descriptor, _ in poller.poll(min(max(left, 0), _LONG) * 1000)}
            if left < -_GRACE or (left <= 0 and not ready):
                raise OutOfTimeError("time ran out")
            if self._to in ready:
                self._write()
            if self._from in ready:
                return os.read(self._from, _PIECE) or self._raise_end()

    def _write(self) -> None:
        """Write as much of what is pending as is taken."""
        try:
            while self._pending:
                left = self._pending[0][os.write(self._to, self._pending[0]) :]
                self._pending[:1] = [left] if left else []
        except BlockingIOError:
            return
        except BrokenPipeError:  # reading will tell why
            self._pending.clear()

    def _raise_end(self) -> NoReturn:
        code = self._process.wait()
        if code == NO_MEMORY:
            raise OutOfMemoryError("memory ran out")
        if code == -signal.SIGALRM:
            raise OutOfTimeError("time ran out")
        raise EndedError(f"its process ended by {signal.Signals(-code).name if code < 0 else f'exit code {code}'}")


def _end(process: subprocess.Popen[bytes], lifeline: int) -> None:
    process.kill()
    process.wait()
    for pipe in filter(None, (process.stdin, process.stdout)):
        pipe.close()
    os.close(lifeline)
