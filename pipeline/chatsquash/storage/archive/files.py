"""The files in an archive: the newest version of each, or those at an earlier time."""

from __future__ import annotations

import os
from collections.abc import Iterator

from msgspec import Struct

from chatsquash.storage.archive.layout import DamageError, Entry, Snapshot, snapshot_parts
from chatsquash.storage.archive.repository import Archive


class ArchivedFile(Struct, frozen=True):
    """A version of a file."""

    name: str
    """The machine and the path, joined by ``/``."""
    entry: Entry
    time: int
    """The time of the snapshot in seconds since the epoch."""
    sources: tuple[str, ...]
    """The agents and the paths that were copied."""


def archived_files(archive: Archive, until: int | None = None) -> list[ArchivedFile]:
    """Return the newest version of each file, sorted by name, or the version at a time.

    Files that were deleted are included, except those deleted before ``until``.
    """
    files = dict[str, ArchivedFile]()
    for snapshot in last_snapshots(archive, until):
        for each in archive.entries(snapshot):
            name = member_name(snapshot.machine, each.path)
            file = ArchivedFile(name, each, snapshot.time, snapshot.sources)
            if name not in files or _order(files[name]) < _order(file):
                files[name] = file
    return [files[name] for name in sorted(files)]


def last_snapshots(archive: Archive, until: int | None = None) -> Iterator[Snapshot]:
    """Yield the last snapshot of each group, or the last one at a time."""
    last = dict[str, str]()
    for key in archive.snapshot_keys():
        parts = snapshot_parts(key)
        if parts and (until is None or parts[1] <= until):
            last[parts[0]] = key
    for key in last.values():
        try:
            yield archive.snapshot(key)
        except FileNotFoundError as problem:  # removed by prune in the meantime
            raise DamageError(5, f"{archive.place}/{key}: was removed; run the same command again") from problem


def member_name(machine: str, path: bytes) -> str:
    """Return the name of a file in an archive."""
    return f"{machine.replace('/', '_')}/{os.fsdecode(path).lstrip('/')}"


def _order(file: ArchivedFile) -> tuple[bool, int]:
    return not file.entry.deletion, file.time
