"""Files related to a log, such as the file that records which call started a sub-agent.

Related files are given as globs, for files on disk, in archives and in stores.
"""

from __future__ import annotations

import glob
import os
import posixpath
import re
from bisect import bisect_left
from collections.abc import Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from xxhash import xxh3_128

from chatsquash.core.outcome import EACH, Relative
from chatsquash.sources.names import ARCHIVE_SCHEME, MARK, container
from chatsquash.storage import is_remote

if TYPE_CHECKING:
    from chatsquash.sources.archive_logs import StoredMember
    from chatsquash.sources.archives import ArchiveEntry
    from chatsquash.storage.stores import StoredObject


def inspect_relatives(pattern: str) -> Relative:
    """Return a glob with a digest of the state of the files that match it."""
    digest = xxh3_128()
    for path in paths_of(pattern):
        digest.update(state(path))
    return Relative(os.fsencode(pattern), digest.digest())


def path_of(pattern: str) -> str | None:
    """Return the first file that matches a glob, or ``None``."""
    return next(iter(paths_of(pattern)), None)


def paths_of(pattern: str) -> list[str]:
    """Return the files that match a glob, followed by those that match a second glob separated by ``EACH``.

    If the second glob also contains ``EACH``, it is expanded with the name of each file that the first one matches.
    """
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
        return [f"{inside[0]}{MARK}{name}" for name in _matching_members(*inside)]
    return sorted(filter(os.path.isfile, glob.glob(pattern)))


def _matching_members(archive: str, pattern: str) -> list[str]:
    """Return the archive members that match a glob, in order; ``*`` does not match a slash."""
    folder, _, last = posixpath.normpath(pattern).rpartition("/")
    folders, patterns = _archive_listing(archive).folders, folder.split("/")
    if glob.escape(unescaped(folder)) == folder:
        paths = [unescaped(folder)]
    else:
        paths = [
            each
            for each in folders
            if len(parts := each.split("/")) == len(patterns) and all(map(fnmatchcase, parts, patterns))
        ]
    return sorted(
        name for each in paths for name in folders.get(each, ()) if fnmatchcase(name.rpartition("/")[2], last)
    )


class _Listing(NamedTuple):
    """The directory of an archive."""

    members: Mapping[str, ArchiveEntry | StoredMember]
    """The members by name."""
    folders: dict[str, list[str]]
    """The names of members by folder; folders are spelled without a leading dot."""
    names: list[str]
    """The sorted folders."""

    def has_folder(self, name: str) -> bool:
        """Return whether a folder exists, which means that it contains members."""
        below = f"{posixpath.normpath(name)}/"
        at = bisect_left(self.names, below)
        return below[:-1] in self.folders or (at < len(self.names) and self.names[at].startswith(below))


def _archive_listing(archive: str) -> _Listing:
    """Return the directory of an archive; empty if it cannot be read."""
    path = unescaped(archive)
    return _read(path, state(path))


# Cached, because a document may have thousands of related files.
@lru_cache(maxsize=1)
def _read(archive: str, state: bytes) -> _Listing:
    """Read the directory of an archive in its current state."""
    del state
    try:
        paths = _members(archive)
    except OSError:
        return _Listing({}, {}, [])
    folders: dict[str, list[str]] = {}
    for name in paths:
        folder = name.rpartition("/")[0]
        folders.setdefault(posixpath.normpath(folder) if folder not in ("", ".") else "", []).append(name)
    return _Listing(paths, folders, sorted(folders))


def _members(archive: str) -> Mapping[str, ArchiveEntry | StoredMember]:
    """Return the readable members of an archive by name."""
    if archive.startswith(ARCHIVE_SCHEME):
        from chatsquash.sources import archive_logs  # few runs need it

        return archive_logs.members(archive)
    from chatsquash.sources.archives import members  # few runs need it
    from chatsquash.sources.open import open_archive

    with open_archive(archive) as file:
        return members(file)


def _stored_paths(pattern: str) -> list[str]:
    """Return the matches of a glob in a store. Folders must be literal; unreadable stores have no matches."""
    from chatsquash.storage import stores  # not needed for local files

    folder, _, last = pattern.rpartition("/")
    folders = [unescaped(folder)] if glob.escape(unescaped(folder)) == folder else []
    paths = list[str]()
    for each in folders:
        place = stores.address(f"{each}/")
        try:
            keys = stores.store(place).inside(place.key)
        except OSError:
            continue  # as for an unreadable folder on disk
        paths += [place.url(key) for key in keys if fnmatchcase(key.rpartition("/")[2], last)]
    return sorted(paths)


def unescaped(pattern: str) -> str:
    """Return an escaped glob without its escapes."""
    return re.sub(r"\[([*?[])\]", r"\1", pattern)


def absolute(path: str) -> str:
    """Return an absolute path; for an archive member, the path of the archive is made absolute."""
    if path.startswith(ARCHIVE_SCHEME):
        place, mark, member = path.removeprefix(ARCHIVE_SCHEME).partition(MARK)
        return f"{ARCHIVE_SCHEME}{absolute(place)}{mark}{member}"
    return path if is_remote(path) else str(Path(path).absolute())


def inner_path(path: str) -> str:
    """Return the path of a file on disk, or its path relative to the root of its archive or store."""
    path = absolute(path)
    if inside := container(path):
        return inside[1]
    return path.partition("://")[2].partition("/")[2] if is_remote(path) else path


def is_root(folder: str) -> bool:
    """Return whether a folder is the root of an archive or a store."""
    if is_remote(folder):
        return "/" not in folder.partition("://")[2]
    return container(f"{folder}/") is None and container(f"{folder}/-") is not None


def exists(path: str) -> bool:
    """Return whether a path exists; in a store, only files exist."""
    if inside := container(path):
        names = _archive_listing(inside[0])
        return inside[1] in names.members or names.has_folder(inside[1])
    return _status(path) is not None if is_remote(path) else os.path.exists(path)  # noqa: PTH110


def size_of(path: str) -> int:
    """Return the size of a file in bytes; 0 if it does not exist."""
    if is_remote(path):
        status = _status(path)
        return status.size if status else 0
    if inside := container(path):
        entry = _archive_listing(inside[0]).members.get(inside[1])
        return entry.size if entry else 0
    file = Path(path)
    return file.stat().st_size if file.is_file() else 0


def _status(path: str) -> StoredObject | None:
    from chatsquash.storage.stores import locate  # not needed for local files

    store, key = locate(path)
    return store.status(key)


def is_unchanged(relative: Relative) -> bool:
    """Return whether the related files are unchanged."""
    return inspect_relatives(os.fsdecode(relative.pattern)) == relative


def state(path: str) -> bytes:
    """Return a value that changes when a file changes, or empty bytes if it does not exist."""
    if is_remote(path):
        return os.fsencode(f"{path} {_status(path)}\n")
    inside = container(path)
    if path.startswith(ARCHIVE_SCHEME):
        from chatsquash.sources import archive_logs  # few runs need it

        return archive_logs.state(*inside) if inside else archive_logs.state(path)
    try:
        status = Path(inside[0] if inside else path).stat()
    except OSError:
        return b""
    return os.fsencode(path) + f" {status.st_size} {status.st_mtime_ns}\n".encode()
