"""Copies of what compressed archives hold, while they are read: below the output, else where nobody else reads."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

from chatsquash.sources.compression import ExpandedFile
from chatsquash.storage.folder import Folder

_PIECE = 1 << 20


def tar_in(folder: Folder, file: ExpandedFile) -> str:
    """The path of a new file in a folder with what a compressed archive holds, for its owner alone."""
    name = f"{os.urandom(8).hex()}.tar"
    folder.make()
    with open(folder.create(name, 0o600), "wb", buffering=0) as copy:
        while piece := file.read(_PIECE):
            copy.write(piece)
    return f"{folder.path}/{name}"


_copies: dict[object, str] = {}


def tar_of(file: ExpandedFile, key: object) -> str:
    """The path of such a copy, which goes with this process; ``key`` tells the archive from others."""
    if key not in _copies:
        _copies[key] = tar_in(Folder(_own()), file)
    return _copies[key]


@cache
def _own() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="chatsquash-"))  # for its owner alone
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
