"""Other files that tell something of a log, such as which call began a sub-agent."""

from __future__ import annotations

import glob
import os
import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING

from xxhash import xxh3_128

from chatsquash.outcome import Relative
from chatsquash.urls import is_remote

if TYPE_CHECKING:
    from chatsquash.stores import Stored


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
    if is_remote(pattern):
        return _stored_paths(pattern)
    return sorted(filter(os.path.isfile, glob.glob(pattern)))


def _stored_paths(pattern: str) -> list[str]:
    """The same in a store, where a glob says nothing of folders but their names; nothing where that does not tell."""
    from chatsquash import stores  # which local files do not need

    folder, _, last = pattern.rpartition("/")
    folders = [unescaped(folder)] if glob.escape(unescaped(folder)) == folder else []
    found = list[str]()
    for each in folders:
        place = stores.address(f"{each}/")
        try:
            keys = stores.store(place).inside(place.key)
        except OSError:
            continue  # as a folder that cannot be listed
        found += [place.url(key) for key in keys if fnmatchcase(key.rpartition("/")[2], last)]
    return sorted(found)


def unescaped(pattern: str) -> str:
    """What a pattern stands for that was escaped."""
    return re.sub(r"\[([*?[])\]", r"\1", pattern)


def absolute(path: str) -> str:
    """A path that means the same wherever one is."""
    return path if is_remote(path) else str(Path(path).absolute())


def is_file(path: str) -> bool:
    """Whether a file stands there."""
    return _stored(path) is not None if is_remote(path) else os.path.isfile(path)  # noqa: PTH113


def size_of(path: str) -> int:
    """Bytes of a file; 0 where there is none."""
    if is_remote(path):
        found = _stored(path)
        return found.size if found else 0
    file = Path(path)
    return file.stat().st_size if file.is_file() else 0


def _stored(path: str) -> Stored | None:
    from chatsquash.stores import located  # which local files do not need

    store, key = located(path)
    return store.status(key)


def is_same(relative: Relative) -> bool:
    """Whether nothing changed since somebody looked."""
    return look(os.fsdecode(relative.pattern)) == relative


def _state(path: str) -> bytes:
    if is_remote(path):
        return os.fsencode(f"{path} {_stored(path)}\n")
    try:
        status = Path(path).stat()
    except OSError:
        return b""
    return os.fsencode(path) + f" {status.st_size} {status.st_mtime_ns}\n".encode()
