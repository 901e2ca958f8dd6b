"""Run chatsquash and write, as JSON, where its CPU time went: run as ``python sample.py FILE ARGUMENTS``.

A process of its own that loads nothing else, so that loading chatsquash takes what it always does.  Samples are taken
as often as the system's clock ticks, and each weighs the CPU time since the one before, since none comes while C code
runs.
"""

import json
import signal
import sys
import time
from types import FrameType

_EVERY = 0.001  # seconds; most systems take more
_IMPORTS = "<frozen importlib._bootstrap>"

Place = tuple[str, str]
"""A module, as a path in the package, and a function."""


class Sampler:
    """Adds up the time that passes at each stack."""

    def __init__(self) -> None:
        self.seconds: dict[tuple[Place, ...], float] = {}
        self._package = ""
        self._last = time.process_time()

    def begin(self) -> None:
        """Take samples from now on."""
        signal.signal(signal.SIGPROF, self.take)
        signal.setitimer(signal.ITIMER_PROF, _EVERY, _EVERY)

    def end(self) -> None:
        """Take no more."""
        signal.setitimer(signal.ITIMER_PROF, 0)
        self.take(0, None)

    def take(self, _: int, frame: FrameType | None) -> None:
        """Count what has passed for the stack of a frame."""
        now = time.process_time()
        stack = tuple(self._places(frame))
        self.seconds[stack] = self.seconds.get(stack, 0.0) + now - self._last
        self._last = now

    def _places(self, frame: FrameType | None) -> list[Place]:
        """Our functions and those that load modules, the innermost first."""
        if not self._package and "chatsquash" in sys.modules:
            self._package = str(sys.modules["chatsquash"].__file__).removesuffix("__init__.py")
        found = []
        while frame is not None:
            name = frame.f_code.co_filename
            if name == _IMPORTS:
                found.append(("", "import"))
            elif self._package and name.startswith(self._package):
                found.append((name[len(self._package) :], frame.f_code.co_qualname))
            frame = frame.f_back
        return found


def main() -> None:
    """Run the command in this process."""
    file, sys.argv[1:] = sys.argv[1], sys.argv[2:]
    sampler = Sampler()
    sampler.begin()
    try:
        from chatsquash.__main__ import main as run

        run()
    finally:
        sampler.end()
        with open(file, "w", encoding="utf-8") as out:
            json.dump(list(sampler.seconds.items()), out)


if __name__ == "__main__":
    main()
