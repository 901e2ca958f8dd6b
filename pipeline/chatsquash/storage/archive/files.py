"""The files in an archive: the newest version of each, or those at an earlier time."""

from __future__ import annotations

import os
from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from msgspec import Struct, field

from chatsquash.core.times import utc
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


class SnapshotDamage(Struct, frozen=True):
    """A snapshot whose list of files cannot be read."""

    key: str
    reason: str
    replacement: int | None = None
    """The time of the newest intact snapshot before it, if there is one."""

    @property
    def explanation(self) -> str:
        """The reason, and the snapshot that is used instead."""
        return f"cannot be read ({self.reason}); {self._remedy}"

    @property
    def _remedy(self) -> str:
        if self.replacement is None:
            return "no earlier snapshot of these sources is intact"
        return f"the newest intact one before it, {time_text(self.replacement)}, is used instead"


class IntactSnapshot(NamedTuple):
    """A snapshot with its files."""

    key: str
    snapshot: Snapshot
    entries: list[Entry]


class ArchivedFiles(Struct):
    """The files in an archive."""

    files: list[ArchivedFile] = field(default_factory=list)
    """The files, sorted by name."""
    damages: list[SnapshotDamage] = field(default_factory=list)
    """Snapshots that cannot be read; the files are those of earlier ones."""


def archived_files(archive: Archive, until: int | None = None) -> ArchivedFiles:
    """Return the newest version of each file, or the version at a time.

    Files that were deleted are included, except those deleted before ``until``.
    """
    files = dict[str, ArchivedFile]()
    damages = list[SnapshotDamage]()
    for keys in _groups(archive, until):
        intact, newer = newest_intact(archive, keys)
        damages += newer
        if intact is None:
            continue
        _, snapshot, entries = intact
        for each in entries:
            name = member_name(snapshot.machine, each.path)
            file = ArchivedFile(name, each, snapshot.time, snapshot.sources)
            if name not in files or _order(files[name]) < _order(file):
                files[name] = file
    return ArchivedFiles([files[name] for name in sorted(files)], damages)


def newest_intact(archive: Archive, keys: Iterable[str]) -> tuple[IntactSnapshot | None, list[SnapshotDamage]]:
    """Return the last snapshot with a list of files that can be read, and the damaged ones after it."""
    reasons = dict[str, str]()
    for key in sorted(keys, reverse=True):
        try:
            snapshot = archive.snapshot(key)
            intact = IntactSnapshot(key, snapshot, archive.entries(snapshot))
        except FileNotFoundError:  # removed by prune in the meantime
            reasons[key] = "was removed; run the same command again"
        except DamageError as problem:
            reasons[key] = str(problem.strerror)
        else:
            return intact, [SnapshotDamage(key, reason, snapshot.time) for key, reason in reasons.items()]
    return None, [SnapshotDamage(key, reason) for key, reason in reasons.items()]


def _groups(archive: Archive, until: int | None) -> Iterable[list[str]]:
    """Return the keys of the snapshots of each group, or those up to a time."""
    groups = defaultdict[str, list[str]](list)
    for key in archive.snapshot_keys():
        parts = snapshot_parts(key)
        if parts and (until is None or parts[1] <= until):
            groups[parts[0]].append(key)
    return groups.values()


def snapshot_name(key: str) -> str:
    """Return the key of a snapshot and the time in it."""
    parts = snapshot_parts(key)
    return f"{key} ({time_text(parts[1])})" if parts else key


def time_text(seconds: int) -> str:
    """Return a time in UTC, as ``--at`` takes it."""
    return f"{utc(seconds):%Y-%m-%dT%H:%M:%S}"


def member_name(machine: str, path: bytes) -> str:
    """Return the name of a file in an archive."""
    return f"{machine.replace('/', '_')}/{os.fsdecode(path).lstrip('/')}"


def _order(file: ArchivedFile) -> tuple[bool, int]:
    return not file.entry.deletion, file.time
