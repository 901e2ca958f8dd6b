"""A private folder for what logs come to while they are shown."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from chatsquash.folder import Folder
from chatsquash.write.lock import lock, unlock

_PREFIX = "chatsquash-view-"
_LOCK = "lock"


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder among the system's temporary ones that its owner alone can read; it goes at the end.

    What viewers left that were killed goes, too.
    """
    _clear()
    path = Path(tempfile.mkdtemp(prefix=_PREFIX))
    folder = Folder(path)
    held = lock(folder, _LOCK)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        unlock(held)
        folder.close()


def _clear() -> None:
    """Remove the folders of ours in which no viewer has its lock any more."""
    for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*"):
        with suppress(OSError):
            if path.is_symlink() or path.stat().st_uid != os.getuid():
                continue
            folder = Folder(path)
            try:
                if folder.status(_LOCK) is None:  # one that begins
                    continue
                held = lock(folder, _LOCK)
                shutil.rmtree(path, ignore_errors=True)
                unlock(held)
            finally:
                folder.close()
