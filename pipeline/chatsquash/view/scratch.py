"""A private folder for what logs come to while they are shown."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from time import time

from chatsquash.storage.folder import Folder
from chatsquash.storage.lock import lock, unlock

_PREFIX = "chatsquash-view-"
_LOCK = "lock"
_OLD = 3_600
"""Seconds after which a folder without a lock is none of a viewer that begins or ends."""


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder among the system's temporary ones that its owner alone can read; it goes at the end."""
    path = Path(tempfile.mkdtemp(prefix=_PREFIX))
    folder = Folder(path)
    held = lock(folder, _LOCK)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        unlock(held)
        folder.close()


def clear() -> None:
    """Remove what viewers left that were killed: folders of ours in which none has its lock any more."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            status = path.lstat()
            if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
                continue
            folder = Folder(path)
            try:
                if folder.status(_LOCK):
                    held = lock(folder, _LOCK)
                    shutil.rmtree(path, ignore_errors=True)
                    unlock(held)
                elif time() - status.st_mtime > _OLD:  # else it begins, or ends
                    shutil.rmtree(path, ignore_errors=True)
            finally:
                folder.close()
