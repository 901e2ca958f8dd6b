"""Other files that tell something of a log, such as which call began a sub-agent."""

from __future__ import annotations

import glob
import os
from pathlib import Path

from chatsquash.outcome import Relative


def look(pattern: str) -> Relative:
    """The first file that fits a glob, and what tells it from what it was."""
    path = _found(pattern)
    return Relative(os.fsencode(pattern), _state(path) if path else b"")


def path_of(pattern: str) -> str | None:
    """The first file that fits a glob."""
    return _found(pattern)


def is_same(relative: Relative) -> bool:
    """Whether nothing changed since somebody looked."""
    return look(os.fsdecode(relative.pattern)) == relative


def _found(pattern: str) -> str | None:
    return min(filter(os.path.isfile, glob.glob(pattern)), default=None)


def _state(path: str) -> bytes:
    try:
        status = Path(path).stat()
    except OSError:
        return b""
    return os.fsencode(path) + f" {status.st_size} {status.st_mtime_ns}".encode()
