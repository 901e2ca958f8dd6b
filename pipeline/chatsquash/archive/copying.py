"""Copy the files of agents and folders into an archive."""

from __future__ import annotations

import getpass
import os
import random
import socket
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from chatsquash.archive import databases
from chatsquash.archive.selection import CopyProblem, CopySelection, select
from chatsquash.archive.stable import open_stable, read_stable
from chatsquash.core.errors import ChatsquashError
from chatsquash.storage.archive.files import newest_intact
from chatsquash.storage.archive.layout import ID_BYTES, DamageError, Entry, FileContent, Snapshot, chunk_id, group_of
from chatsquash.storage.archive.repository import Archive, now
from chatsquash.storage.archive.writer import ArchiveWriter

_APPENDED = (".jsonl", ".log", ".ndjson")
"""The suffixes of files to which agents and gateways append lines."""
_TAIL = 32
"""The number of chunks at the end of a grown file that are compared with the archive."""
_SAMPLES = 4
"""The number of other chunks that are compared."""
_RECENT = 2 * 10**9
"""The age in nanoseconds up to which a change may have the time of an earlier one, because clocks have ticks."""
_LONGEST = 12 * 3600
"""The number of seconds that a copy may take, which is less than prune waits before it deletes anything."""


class CopyReport(Struct):
    """The report on a copy."""

    snapshot: str | None = None
    """The key of the new snapshot; ``None`` if nothing changed."""
    files: int = 0
    size: int = 0
    changed: int = 0
    """The number of new or changed files."""
    deletions: int = 0
    """The number of files in the snapshot that no longer exist."""
    read_bytes: int = 0
    new_bytes: int = 0
    stored_bytes: int = 0
    skipped: dict[str, int] = field(default_factory=dict)
    problems: list[CopyProblem] = field(default_factory=list)


def copy(archive: Archive, machine: str, names: tuple[str, ...]) -> CopyReport:
    """Add a snapshot with the current files of the sources; files that cannot be read keep their previous content.

    Raises:
        ChatsquashError: It took so long that another machine may have deleted what the snapshot needs.
    """
    started = now()
    archive.update_index()
    archive.avoid_marked()
    group = group_of(machine, names)
    keys = archive.snapshot_keys(group)
    key, snapshot, known = _latest(archive, keys, group)
    selection = select(names, archive.place)
    run = _CopyRun(archive, known, selection)
    entries = run.entries()
    report = run.report(entries)
    if snapshot and entries == list(known.values()) and key == keys[-1]:
        archive.index.set_complete(group)
        return report
    tree = run.writer.tree(entries)
    run.writer.flush()
    if now() - started > _LONGEST:
        raise ChatsquashError(f"{archive.place}: copying took too long; run the same command again, which reuses it")
    # The newest snapshot is the last one, whatever the clock says.
    when = max(now(), snapshot.time + 1 if snapshot else 0)
    report.snapshot = archive.add_snapshot(Snapshot(machine, names, when, tree, report.files, report.size))
    report.stored_bytes = run.writer.stored_bytes
    archive.index.set_complete(group)
    return report


def this_machine() -> str:
    """Return the usual name of this machine and its user in archives."""
    return f"{getpass.getuser()}@{socket.gethostname()}"


def _latest(archive: Archive, keys: list[str], group: str) -> tuple[str, Snapshot | None, dict[bytes, Entry]]:
    """Return the key of the newest snapshot that is intact, the snapshot, and its complete entries by path."""
    intact, _ = newest_intact(archive, keys)
    if intact is None:
        return "", None, {}
    # Files with lost chunks are copied again if they still exist.
    is_complete: Callable[[Entry], bool] = bool if archive.index.is_complete(group) else partial(_is_complete, archive)
    known = {each.path: each for each in intact.entries if each.deletion or is_complete(each)}
    return intact.key, intact.snapshot, known


def _is_complete(archive: Archive, entry: Entry) -> bool:
    try:
        return sum(size for _, _, size in _places(archive, entry.content)) == entry.content.size
    except DamageError:
        return False


class _CopyRun:
    """One copy of all files."""

    def __init__(self, archive: Archive, known: dict[bytes, Entry], selection: CopySelection) -> None:
        self.writer = ArchiveWriter(archive)
        self._archive, self._known, self._selection = archive, known, selection
        self._changed = 0

    def entries(self) -> list[Entry]:
        """Return the entries of all files, and of those that were deleted since, sorted by path."""
        entries = dict[bytes, Entry]()
        for path, status in self._selection.files.items():
            try:
                entry = self._entry(path, status, self._known.get(os.fsencode(path)))
            except FileNotFoundError:  # deleted since the files were listed
                continue
            except OSError as problem:
                self._selection.problems.append(CopyProblem(path, problem.strerror or type(problem).__name__))
                continue
            entries[entry.path] = entry
        self._count(entries)
        unreadable = {os.fsencode(each.path) for each in self._selection.problems}
        for name, old in self._known.items():
            if name not in entries:
                is_deleted = name not in unreadable and not old.deletion
                entries[name] = replace(old, deletion=now()) if is_deleted else old
        return [entries[name] for name in sorted(entries)]

    def _count(self, entries: dict[bytes, Entry]) -> None:
        known = self._known
        self._changed = sum(path not in known or known[path].content != each.content for path, each in entries.items())

    def report(self, entries: list[Entry]) -> CopyReport:
        """Return the report on the run."""
        return CopyReport(
            files=len(entries),
            size=sum(each.content.size for each in entries),
            changed=self._changed,
            deletions=sum(each.deletion > 0 for each in entries),
            read_bytes=self.writer.read_bytes,
            new_bytes=self.writer.new_bytes,
            skipped=dict(self._selection.skipped),
            problems=self._selection.problems,
        )

    def _entry(self, path: str, status: os.stat_result, old: Entry | None) -> Entry:
        if old and _is_unchanged(path, status, old):
            return replace(old, deletion=0)
        with open_stable(path, status) as descriptor:
            if databases.is_database(descriptor):
                return self._database(path, status)
            return self._file(path, descriptor, old)

    def _file(self, path: str, descriptor: int, old: Entry | None) -> Entry:
        status = os.fstat(descriptor)
        first, start = self._unchanged_prefix(path, descriptor, status, old) if old else ([], 0)
        rest, status = read_stable(descriptor, start, self.writer.add)
        content = self.writer.content([*first, *rest.ids], start + rest.size)
        return Entry(os.fsencode(path), status.st_mtime_ns, _state(status), content, unread=start)

    def _unchanged_prefix(
        self, path: str, descriptor: int, status: os.stat_result, old: Entry
    ) -> tuple[list[bytes], int]:
        """Return the chunks at the beginning of a file that grew, and their size, if its end was not changed."""
        is_grown = status.st_size > old.content.size and old.state[1:2] == (status.st_ino,)
        if not is_grown or old.is_database or not path.endswith(_APPENDED):
            return [], 0
        places = list(_places(self._archive, old.content))
        if sum(size for _, _, size in places) != old.content.size:
            return [], 0
        sample = {*range(max(0, len(places) - _TAIL), len(places)), 0}
        sample.update(random.randrange(len(places)) for _ in range(_SAMPLES))  # noqa: S311 - not for cryptography
        for identity, start, size in (places[at] for at in sorted(sample)):
            if chunk_id(os.pread(descriptor, size, start)) != identity:
                return [], 0
        # The last chunk ended with the file.
        prefix = places[:-1]
        return [identity for identity, _, _ in prefix], sum(size for _, _, size in prefix)

    def _database(self, path: str, status: os.stat_result) -> Entry:
        log = databases.log_state(path)
        with tempfile.TemporaryDirectory(prefix="chatsquash-") as folder:
            target = Path(folder, "copy.db")
            databases.copy(path, target)
            with target.open("rb") as file:
                copy = self.writer.add(file.read)
        content = self.writer.content(copy.ids, copy.size)
        return Entry(os.fsencode(path), status.st_mtime_ns, _state(status, log), content, is_database=True)


def _is_unchanged(path: str, status: os.stat_result, old: Entry) -> bool:
    log = databases.log_state(path) if old.is_database else ()
    own = status.st_ctime_ns, status.st_ino, status.st_size
    return not old.unread and (*own, *log) == old.state and status.st_mtime_ns == old.modified


def _state(status: os.stat_result, log: tuple[int, ...] = ()) -> tuple[int, ...]:
    """Return the state of a file; one that changed just now is read again by the next run."""
    changes = (status.st_mtime_ns, status.st_ctime_ns, *log[1:])
    is_recent = max(changes) > time.time_ns() - _RECENT
    return (0 if is_recent else status.st_ctime_ns, status.st_ino, status.st_size, *log)


def _places(archive: Archive, content: FileContent) -> Iterable[tuple[bytes, int, int]]:
    """Yield the chunks of a file with their offsets and sizes; nothing if the archive does not have all of them."""
    start = 0
    ids = archive.ids(content)
    for at in range(0, len(ids), ID_BYTES):
        identity = ids[at : at + ID_BYTES]
        place = archive.index.place(identity)
        if place is None or archive.is_damaged(identity):
            return
        yield identity, start, place.size
        start += place.size
