"""Calls that only POSIX systems have; Windows is untested."""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def start_method() -> str:
    """How worker processes start: by a fork where nothing with threads is loaded, which takes milliseconds."""
    threaded = threading.active_count() > 1 or "polars" in sys.modules
    return "fork" if sys.platform.startswith("linux") and not threaded else "spawn"


def private(path: Path, *, exclusive: bool = False) -> int:
    """A descriptor of a new file that only its owner can read."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | (os.O_EXCL if exclusive else os.O_TRUNC), 0o600)


def sync_folder(path: Path) -> None:
    """Make sure that the names in a folder reach the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
