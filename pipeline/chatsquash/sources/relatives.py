"""Other files that tell something of a log, such as which call began a sub-agent."""

from __future__ import annotations

import glob
import os
import posixpath
import re
from bisect import bisect_left
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from xxhash import xxh3_128

from chatsquash.core.outcome import EACH, Relative
from chatsquash.core.urls import is_remote
from chatsquash.sources.names import MARK, container

if TYPE_CHECKING:
    from chatsquash.sources.archives import ArchiveEntry
    from chatsquash.storage.stores import StoredObject


def look(pattern: str) -> Relative:
    """The files that fit a glob, and what tells them from what they were."""
    digest = xxh3_128()
    for path in paths_of(pattern):
        digest.update(state(path))
    return Relative(os.fsencode(pattern), digest.digest())


def path_of(pattern: str) -> str | None:
    """The first file that fits a glob."""
    return next(iter(paths_of(pattern)), None)


def paths_of(pattern: str) -> list[str]:
    """All files that fit a glob, in order, then those that it leads to (``EACH``), or that fit another glob."""
    first, *more = pattern.split(EACH, 1)
    paths = _paths_of(first)
    if more and EACH not in more[0]:
        return [*paths, *_paths_of(more[0])]
    names = dict.fromkeys(path.rpartition("/")[2].rpartition(".")[0] for path in paths) if more else ()
    return [*paths, *(path for name in names for path in _paths_of(more[0].replace(EACH, glob.escape(name))))]


def _paths_of(pattern: str) -> list[str]:
    if is_remote(pattern):
        return _stored_paths(pattern)
    if inside := container(pattern):
        return [f"{inside[0]}{MARK}{name}" for name in _fitting(*inside)]
    return sorted(filter(os.path.isfile, glob.glob(pattern)))


def _fitting(archive: str, pattern: str) -> list[str]:
    """The members whose names fit a glob, whose stars stand for no slash, in order."""
    folder, _, last = posixpath.normpath(pattern).rpartition("/")
    folders, fits = _list(archive).folders, folder.split("/")
    if glob.escape(unescaped(folder)) == folder:
        paths = [unescaped(folder)]
    else:
        paths = [
            each
            for each in folders
            if len(parts := each.split("/")) == len(fits) and all(map(fnmatchcase, parts, fits))
        ]
    return sorted(
        name for each in paths for name in folders.get(each, ()) if fnmatchcase(name.rpartition("/")[2], last)
    )


class _Listing(NamedTuple):
    """What an archive holds."""

    members: dict[str, ArchiveEntry]
    """By their names."""
    folders: dict[str, list[str]]
    """The names by their folders, which are spelled without a dot at their beginning."""
    names: list[str]
    """The folders, in order."""

    def has_folder(self, name: str) -> bool:
        """Whether a folder has anything in it."""
        below = f"{posixpath.normpath(name)}/"
        at = bisect_left(self.names, below)
        return below[:-1] in self.folders or (at < len(self.names) and self.names[at].startswith(below))


def _list(archive: str) -> _Listing:
    """What an archive holds; nothing of one that cannot be read."""
    path = unescaped(archive)
    return _read(path, state(path))


@lru_cache(maxsize=1)
def _read(archive: str, state: bytes) -> _Listing:
    """The same, of one in some state, since a document may have thousands of files beside it."""
    del state
    from chatsquash.sources.archives import members  # which other files do not need
    from chatsquash.sources.open import opened_archive

    try:
        with opened_archive(archive) as file:
            paths = members(file)
    except OSError:
        return _Listing({}, {}, [])
    folders: dict[str, list[str]] = {}
    for name in paths:
        folder = name.rpartition("/")[0]
        folders.setdefault(posixpath.normpath(folder) if folder not in ("", ".") else "", []).append(name)
    return _Listing(paths, folders, sorted(folders))


def _stored_paths(pattern: str) -> list[str]:
    """The same in a store, where a glob says nothing of folders but their names; nothing where that does not tell."""
    from chatsquash.storage import stores  # which local files do not need

    folder, _, last = pattern.rpartition("/")
    folders = [unescaped(folder)] if glob.escape(unescaped(folder)) == folder else []
    paths = list[str]()
    for each in folders:
        place = stores.address(f"{each}/")
        try:
            keys = stores.store(place).inside(place.key)
        except OSError:
            continue  # as a folder that cannot be listed
        paths += [place.url(key) for key in keys if fnmatchcase(key.rpartition("/")[2], last)]
    return sorted(paths)


def unescaped(pattern: str) -> str:
    """What a pattern stands for that was escaped."""
    return re.sub(r"\[([*?[])\]", r"\1", pattern)


def absolute(path: str) -> str:
    """A path that means the same wherever one is; that of a member begins with the one of its archive."""
    return path if is_remote(path) else str(Path(path).absolute())


def within(path: str) -> str:
    """The path of a file on its disk, or below the root of the archive or the store that holds it."""
    path = absolute(path)
    if inside := container(path):
        return inside[1]
    return path.partition("://")[2].partition("/")[2] if is_remote(path) else path


def is_root(folder: str) -> bool:
    """Whether a folder is all of an archive, or of a store: what is above is somewhere else."""
    if is_remote(folder):
        return "/" not in folder.partition("://")[2]
    return container(f"{folder}/") is None and container(f"{folder}/-") is not None


def is_there(path: str) -> bool:
    """Whether a file stands there, or a folder that is in no store."""
    if inside := container(path):
        names = _list(inside[0])
        return inside[1] in names.members or names.has_folder(inside[1])
    return _status(path) is not None if is_remote(path) else os.path.exists(path)  # noqa: PTH110


def size_of(path: str) -> int:
    """Bytes of a file; 0 where there is none."""
    if is_remote(path):
        stored = _status(path)
        return stored.size if stored else 0
    if inside := container(path):
        entry = _list(inside[0]).members.get(inside[1])
        return entry.size if entry else 0
    file = Path(path)
    return file.stat().st_size if file.is_file() else 0


def _status(path: str) -> StoredObject | None:
    from chatsquash.storage.stores import locate  # which local files do not need

    store, key = locate(path)
    return store.status(key)


def is_same(relative: Relative) -> bool:
    """Whether nothing changed since somebody looked."""
    return look(os.fsdecode(relative.pattern)) == relative


def state(path: str) -> bytes:
    """What tells a file from what it was; nothing of one that is not there."""
    if is_remote(path):
        return os.fsencode(f"{path} {_status(path)}\n")
    inside = container(path)
    try:
        status = Path(inside[0] if inside else path).stat()
    except OSError:
        return b""
    return os.fsencode(path) + f" {status.st_size} {status.st_mtime_ns}\n".encode()
