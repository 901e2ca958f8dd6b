"""Uncompressed copies of compressed archives, in the output folder or in a private temporary folder."""

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


def expand_tar(folder: Folder, file: ExpandedFile) -> str:
    """Decompress an archive into a new file in a folder, which only its owner can read, and return the path."""
    name = f"{os.urandom(8).hex()}.tar"
    folder.make()
    with open(folder.create(name, 0o600), "wb", buffering=0) as copy:
        while piece := file.read(_PIECE):
            copy.write(piece)
    return f"{folder.path}/{name}"


_copies: dict[object, str] = {}


def expand_tar_once(file: ExpandedFile, key: object) -> str:
    """Return the path of a copy that is deleted when the process exits; ``key`` identifies the archive."""
    if key not in _copies:
        _copies[key] = expand_tar(Folder(_private_folder()), file)
    return _copies[key]


@cache
def _private_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="chatsquash-"))  # readable only by its owner
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder
