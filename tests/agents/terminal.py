"""An agent at a terminal: keys are typed, the screen's output is recorded, and what programs ask a terminal is answered."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios
import threading
import time
from pathlib import Path
from typing import NamedTuple

ROWS, COLUMNS = 50, 140
ANSWERS = {b"\x1b[6n": b"\x1b[1;1R", b"\x1b[c": b"\x1b[?62;c", b"\x1b]11;?": b"\x1b]11;rgb:0000/0000/0000\x1b\\"}
"""What a terminal answers: the place of the cursor, its kind, and its background."""
_CONTROLS = re.compile(r"\x1b\][^\x07\x1b]*(?:\x07|\x1b\\)|\x1b\[[0-?]*[ -/]*[@-~]|\x1b.|[\x00-\x09\x0b-\x1f]")


ESCAPE, ENTER, UP, CLEAR, LEAVE = "\x1b", "\r", "\x1b[A", "\x15", "\x03"


class Keys(NamedTuple):
    """Keys to press once some words were written, or, without words, once nothing is written any more."""

    words: str
    keys: tuple[str, ...]


class Terminal:
    """A process at a pseudo-terminal, in a process group of its own; its output goes to a file."""

    def __init__(self, command: list[str], work: Path, env: dict[str, str], output: Path) -> None:
        self._main, secondary = pty.openpty()
        fcntl.ioctl(secondary, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.process = subprocess.Popen(
            command, cwd=work, env=env, stdin=secondary, stdout=secondary, stderr=secondary, start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )  # fmt: skip
        os.close(secondary)
        self._seen, self._last, self._output = b"", time.monotonic(), output
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        with self._output.open("ab") as file:
            while True:
                try:
                    data = os.read(self._main, 65536)
                except OSError:  # the process has ended
                    return
                if not data:
                    return
                file.write(data)
                file.flush()
                self._seen, self._last = self._seen + data, time.monotonic()
                for question, answer in ANSWERS.items():
                    os.write(self._main, answer * data.count(question))

    @property
    def text(self) -> str:
        """What was written since the last keys, without controls and blanks."""
        return re.sub(r"\s+", "", _CONTROLS.sub("", self._seen.decode(errors="replace")))

    def wait(self, words: str = "", seconds: float = 40) -> bool:
        """Wait until some words were written, or else until nothing is written for a second; whether it happened."""
        wanted, end = re.sub(r"\s+", "", words), time.monotonic() + seconds
        while time.monotonic() < end and self.process.poll() is None:
            if wanted in self.text if wanted else (self._seen and time.monotonic() - self._last > 1):
                return True
            time.sleep(0.1)
        return False

    def follow(self, *steps: Keys) -> None:
        """Press keys at their time."""
        for step in steps:
            self.wait(step.words)
            self.press(*step.keys)

    def press(self, *keys: str) -> None:
        """Type keys, one after another, as slowly as programs need to tell keys from pasted text."""
        self._seen = b""
        time.sleep(0.4)
        for key in keys:
            os.write(self._main, key.encode())
            time.sleep(0.4)
