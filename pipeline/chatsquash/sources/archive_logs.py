"""Logs in an archive of ``chatsquash archive``, addressed as ``archive:STORE!/MACHINE/PATH``."""

from __future__ import annotations

import os
from collections.abc import Sequence
from errno import ENOENT
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Any

from msgspec import Struct
from xxhash import xxh3_64_intdigest

from chatsquash.sources.compression import PositionedFile
from chatsquash.sources.names import ARCHIVE_SCHEME, MARK
from chatsquash.storage.archive.files import ArchivedFile, archived_files, snapshot_name
from chatsquash.storage.archive.keys import usual_key
from chatsquash.storage.archive.layout import DamageError, Entry
from chatsquash.storage.archive.reader import ContentReader
from chatsquash.storage.archive.repository import Archive, open_archive


class StoredMember(Struct, frozen=True):
    """A file in an archive."""

    name: str
    """The machine and the path."""
    log_name: str
    """The end of that: the path below the folder that was copied, as if this were an argument."""
    entry: Entry

    @property
    def size(self) -> int:
        """The size in bytes."""
        return self.entry.content.size

    @property
    def version(self) -> int:
        """A hash of the content in 63 bits."""
        return xxh3_64_intdigest(self.entry.content.ids) >> 1


class _OpenArchive(Struct):
    """An archive and its files as they were when it was handle."""

    archive: Archive
    members: dict[str, StoredMember]
    version: int
    """A hash of the names and contents of the files."""


def members(archive: str) -> dict[str, StoredMember]:
    """Return the files of an archive by name, sorted part by part.

    Raises:
        UsageError: There is no archive, or the key is missing or wrong.
        OSError: It cannot be read.
    """
    return _open(archive).members


def _open(archive: str) -> _OpenArchive:
    place = archive.removeprefix(ARCHIVE_SCHEME)
    return _cached(place if "://" in place else os.path.abspath(os.path.expanduser(place)), os.getpid())  # noqa: PTH100, PTH111


@lru_cache(maxsize=4)
def _cached(place: str, process: int) -> _OpenArchive:
    del process  # a connection to a database does not survive a fork
    handle = open_archive(place, usual_key())
    handle.update_index()
    archived = archived_files(handle)
    if archived.damages:
        damage = archived.damages[0]
        remedy = f"chatsquash archive restore {place} --output DIR writes the files of the last intact snapshot"
        raise DamageError(5, f"{snapshot_name(damage.key)}: {damage.reason}; {remedy}")
    files = sorted(archived.files, key=lambda each: each.name.replace("/", "\0"))
    known = {each.name: StoredMember(each.name, _log_name(each), each.entry) for each in files}
    state = "".join(f"{each.name}\0{each.size}\0{each.version}\0" for each in known.values())
    return _OpenArchive(handle, known, xxh3_64_intdigest(state.encode("utf-8", "surrogateescape")))


def _log_name(file: ArchivedFile) -> str:
    path = PurePosixPath(os.fsdecode(file.entry.path))
    for source in file.sources:
        if source.startswith("/") and path != PurePosixPath(source) and path.is_relative_to(source):
            return str(path.relative_to(source))
    return path.name


def open_member(archive: str, name: str) -> StoredFile:
    """Open a file in an archive; raise ``OSError`` if there is none."""
    handle = _open(archive)
    member = handle.members.get(name)
    if member is None:
        raise OSError(ENOENT, os.strerror(ENOENT))
    return StoredFile(handle.archive, member, f"{archive}{MARK}{name}")


class StoredFile(PositionedFile):
    """A file in an archive, whose chunks are read when they are needed."""

    def __init__(self, archive: Archive, member: StoredMember, name: str) -> None:
        self._reader = ContentReader(archive, member.entry.content)
        self.name, self.size, self._version = name, member.size, member.version

    @property
    def identity(self) -> tuple[object, ...]:
        """A value that changes when the content changes."""
        return self.name, self.size, self._version

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Set the position."""
        self._at = max(0, offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.size}[whence])
        return self._at

    def readinto(self, into: Any) -> int:
        """Fill the buffer; fewer bytes are returned only at the end."""
        with memoryview(into) as view:
            data = self._reader.read(len(view), self._at)
            view[: len(data)] = data
        self._at += len(data)
        return len(data)

    def read_at(self, size: int, offset: int) -> bytes:
        """Read bytes at an offset without moving the position."""
        return self._reader.read(size, offset)


def state(archive: str, name: str | None = None) -> bytes:
    """Return a value that changes when an archive or a file in it changes, or empty bytes if it does not exist."""
    if name is None:
        return f"{archive} {_open(archive).version}\n".encode("utf-8", "surrogateescape")
    member = members(archive).get(name)
    return f"{name} {member.size} {member.version}\n".encode("utf-8", "surrogateescape") if member else b""


def select(archive: str, only: str | None) -> Sequence[StoredMember]:
    """Return the files that an archive has now, or one of them."""
    _cached.cache_clear()
    known = members(archive)
    return [each for each in known.values() if only in (None, each.name)]
