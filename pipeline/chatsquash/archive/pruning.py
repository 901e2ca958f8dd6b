"""Remove old snapshots and what only they need, in two steps that no other machine's run can get in between.

The first step marks packs that no snapshot needs: runs that begin later do not refer to them. After a period that is
longer than any run, the second step deletes those that no snapshot of a run in between needs either.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from msgspec import Struct
from msgspec.structs import replace

from chatsquash.core.errors import UsageError
from chatsquash.core.text import escape
from chatsquash.storage.archive import layout
from chatsquash.storage.archive.layout import LOCK, MARKS, Entry, FileContent, PruneMark, Snapshot
from chatsquash.storage.archive.repository import Archive, now
from chatsquash.storage.archive.writer import ArchiveWriter
from chatsquash.storage.lock import is_alive, owner
from chatsquash.storage.stores.local import LocalStore

WAITING = 24 * 3600
"""The period in seconds between the steps."""
_LONGEST = WAITING // 2
"""The number of seconds after which a lock belongs to a run that was killed."""
_SMALL, _MANY = 1 << 20, 16
"""Packs of fewer bytes are joined if there are at least so many."""
_LIVE_SHARE = 2
"""The divisor of a pack's size: with less than this share in use, it is sparse."""


class PruneReport(Struct):
    """The report on a prune."""

    snapshots: int = 0
    """The number of removed snapshots."""
    files: int = 0
    """The number of deleted files that no snapshot lists any longer."""
    packs: int = 0
    """The number of removed packs."""
    freed_bytes: int = 0
    waiting_bytes: int = 0
    """The size of packs that a later run removes."""


def prune(archive: Archive, older: int, waiting: int = WAITING) -> PruneReport:
    """Remove snapshots, and files that were deleted, from before ``older`` seconds ago.

    The newest snapshot of each machine and its sources always stays.

    Args:
        archive: The archive.
        older: The age in seconds.
        waiting: The period between the steps; with 0, packs are removed at once, which no other run may use meanwhile.

    Raises:
        UsageError: Another machine is pruning the archive.
    """
    with _lock(archive):
        return _Prune(archive, now() - older, waiting).run()


class _Prune:
    """One run; each step leaves the archive complete."""

    def __init__(self, archive: Archive, limit: int, waiting: int) -> None:
        self._archive, self._limit, self._waiting = archive, limit, waiting
        self._report = PruneReport()
        self._live: set[bytes] = set()
        self._lists: set[bytes] = set()
        """The ids in use that lists of ids and files have."""

    def run(self) -> PruneReport:
        """Carry out all steps."""
        archive = self._archive
        archive.update_index()
        self._remove_snapshots()
        self._find_live()
        marks = archive.marks()
        packs = {
            name: {identity: place.size for identity, place in archive.index.places_in(number)}
            for name, number in archive.index.packs().items()
        }
        marked_packs = {name for mark in marks.values() for name in mark.packs}
        self._remove_marked(packs, marks)
        self._mark({name: chunks for name, chunks in packs.items() if name not in marked_packs})
        if isinstance(archive.store, LocalStore):
            archive.store.remove_partial(now() - WAITING)
        return self._report

    def _remove_snapshots(self) -> None:
        """Remove old snapshots, and files that were deleted long ago from the others."""
        archive = self._archive
        keys = archive.snapshot_keys()
        parts = {key: each for key in keys if (each := layout.snapshot_parts(key))}
        newest = set({each[0]: key for key, each in parts.items()}.values())
        old = {key for key, each in parts.items() if each[1] < self._limit} - newest
        archive.delete([key for key in keys if key in old])
        self._report.snapshots = len(old)
        self._drop_deleted([key for key in keys if key not in old])

    def _drop_deleted(self, keys: list[str]) -> None:
        """Replace snapshots that list files which were deleted long ago."""
        archive, writer = self._archive, ArchiveWriter(self._archive)
        dropped, shorter = set[bytes](), dict[str, Snapshot]()
        for key in keys:
            snapshot = archive.snapshot(key)
            entries = archive.entries(snapshot)
            current = [each for each in entries if not self._is_expired(each)]
            if len(current) < len(entries):
                dropped.update(each.path for each in entries if self._is_expired(each))
                size = sum(each.content.size for each in current)
                shorter[key] = replace(snapshot, tree=writer.tree(current), files=len(current), size=size)
        writer.flush()
        for key, snapshot in shorter.items():
            archive.add_snapshot(snapshot)
            archive.delete([key])
        self._report.files = len(dropped)

    def _is_expired(self, entry: Entry) -> bool:
        return 0 < entry.deletion < self._limit

    def _find_live(self) -> None:
        """Collect the ids of all chunks that a snapshot needs."""
        archive = self._archive
        contents = set[FileContent]()
        for key in archive.snapshot_keys():
            snapshot: Snapshot = archive.snapshot(key)
            self._add_live(snapshot.tree, self._lists)
            for each in archive.entries(snapshot):
                if each.content not in contents:
                    contents.add(each.content)
                    self._add_live(each.content, self._live)
        self._live |= self._lists | archive.index.dictionaries()

    def _add_live(self, content: FileContent, last: set[bytes]) -> None:
        *lists, ids = self._archive.levels(content)
        for each in lists:
            self._lists.update(layout.split_ids(each))
        last.update(layout.split_ids(ids))

    def _remove_marked(self, packs: dict[str, dict[bytes, int]], marks: dict[str, PruneMark]) -> None:
        """Remove packs that were marked long ago, except for those that a later snapshot needs."""
        expired = {key: mark for key, mark in marks.items() if mark.time + self._waiting <= now()}
        marked_packs = {name for mark in marks.values() for name in mark.packs}
        elsewhere = _in_use(self._live, (chunks for name, chunks in packs.items() if name not in marked_packs))
        useless = list[str]()
        for name in sorted({name for mark in expired.values() for name in mark.packs} & packs.keys()):
            missing = self._live.intersection(packs[name]) - elsewhere
            elsewhere |= missing
            if not missing:
                useless.append(name)
        self._remove_packs(useless)
        self._archive.delete(list(expired))

    def _mark(self, packs: dict[str, dict[bytes, int]]) -> None:
        """Rewrite packs of which little is in use, and mark those that no snapshot needs."""
        stored_sizes = self._archive.index.stored_sizes()
        small = [name for name in packs if stored_sizes[name] < _SMALL]
        mergeable = set(small) if len(small) >= _MANY else set()
        useless, sparse = list[str](), list[str]()
        for name, chunks in packs.items():
            live_size = sum(size for identity, size in chunks.items() if identity in self._live)
            if not live_size:
                useless.append(name)
            elif name in mergeable or live_size * _LIVE_SHARE < sum(chunks.values()):
                sparse.append(name)
        remaining = packs.keys() - {*useless, *sparse}
        self._archive.avoid(self._archive.index.packs().keys() - remaining)
        elsewhere = _in_use(self._live, (packs[name] for name in remaining))
        # A chunk that was damaged and stored again is also in the damaged pack.
        repeated_chunks = (each for name in sparse for each in packs[name] if each in elsewhere)
        elsewhere -= {each for each in repeated_chunks if not self._archive.has_intact_chunk(each)}
        # A new pack has the name of a sparse one if it has the same chunks.
        new_packs = self._rewrite(sparse, packs, elsewhere)
        self._mark_packs([name for name in (*useless, *sparse) if name not in new_packs], stored_sizes)

    def _rewrite(self, names: list[str], packs: dict[str, dict[bytes, int]], elsewhere: set[bytes]) -> set[str]:
        """Write the chunks of packs that are in use, and that no other pack has, to new packs; return their names."""
        writer = ArchiveWriter(self._archive)
        for name in names:
            for identity in packs[name]:
                if identity in self._live and identity not in elsewhere:
                    elsewhere.add(identity)
                    writer.rewrite(identity, self._archive.chunk(identity), is_list=identity in self._lists)
        writer.flush()
        return writer.packs

    def _mark_packs(self, names: list[str], stored_sizes: dict[str, int]) -> None:
        if not names:
            return
        if not self._waiting:
            self._remove_packs(names)
            return
        data = layout.encode(PruneMark(now(), tuple(sorted(names))))
        self._archive.create(f"{MARKS}{now():012}-{layout.short_hash(data)}", data)
        self._report.waiting_bytes = sum(stored_sizes[name] for name in names)

    def _remove_packs(self, names: list[str]) -> None:
        stored_sizes = self._archive.index.stored_sizes()
        self._archive.delete([layout.pack_key(name) for name in names])
        self._archive.index.remove(names)
        self._report.packs += len(names)
        self._report.freed_bytes += sum(stored_sizes[name] for name in names)


def _in_use(live: set[bytes], packs: Iterable[dict[bytes, int]]) -> set[bytes]:
    return {identity for chunks in packs for identity in chunks if identity in live}


@contextmanager
def _lock(archive: Archive) -> Iterator[None]:
    """Take the lock of the archive; that of a process that was killed is taken over."""
    data = json.dumps({"owner": owner(), "time": now()}).encode()
    try:
        archive.create_new(LOCK, data)
    except FileExistsError:
        _refuse_lock(archive)
        archive.delete([LOCK])
        archive.create_new(LOCK, data)
    try:
        yield
    finally:
        with suppress(OSError):
            archive.delete([LOCK])


def _refuse_lock(archive: Archive) -> None:
    """Raise ``UsageError`` unless the lock belongs to a process that no longer runs."""
    try:
        lock = json.loads(archive.read(LOCK))
        name, time = str(lock["owner"]), int(lock["time"])
    except (FileNotFoundError, ValueError, KeyError, TypeError, RecursionError):
        return
    if is_alive(name.encode()) is not False and time + _LONGEST > now():
        why = f"is being pruned by another process ({escape(name[:200])})"
        raise UsageError(f"{archive.place}: {why}; wait for it, or remove {archive.place}/{LOCK} if it is gone")
