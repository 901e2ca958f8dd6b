"""Other files that tell something of a log, such as which call began a sub-agent."""

from __future__ import annotations

import glob
import os
from pathlib import Path

from xxhash import xxh3_128

from chatsquash.outcome import Relative


def look(pattern: str) -> Relative:
    """The files that fit a glob, and what tells them from what they were."""
    digest = xxh3_128()
    for path in paths_of(pattern):
        digest.update(_state(path))
    return Relative(os.fsencode(pattern), digest.digest())


def path_of(pattern: str) -> str | None:
    """The first file that fits a glob."""
    return next(iter(paths_of(pattern)), None)


def paths_of(pattern: str) -> list[str]:
    """All files that fit a glob, in order."""
    return sorted(filter(os.path.isfile, glob.glob(pattern)))


def is_same(relative: Relative) -> bool:
    """Whether nothing changed since somebody looked."""
    return look(os.fsdecode(relative.pattern)) == relative


def _state(path: str) -> bytes:
    try:
        status = Path(path).stat()
    except OSError:
        return b""
    return os.fsencode(path) + f" {status.st_size} {status.st_mtime_ns}\n".encode()
