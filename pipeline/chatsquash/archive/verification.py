"""Compare every byte of an archive with its hash."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256

from msgspec import Struct, field

from chatsquash.archive.restoring import snapshot_problem
from chatsquash.archive.selection import CopyProblem
from chatsquash.storage.archive import layout
from chatsquash.storage.archive.files import SnapshotDamage, member_name
from chatsquash.storage.archive.index import ChunkPlace, chunk_places
from chatsquash.storage.archive.layout import Entry, chunk_id, split_ids
from chatsquash.storage.archive.repository import Archive


class VerifyReport(Struct):
    """The report on a comparison."""

    packs: int = 0
    chunks: int = 0
    size: int = 0
    """The uncompressed bytes of the chunks."""
    snapshots: int = 0
    files: int = 0
    problems: list[CopyProblem] = field(default_factory=list)


def verify(archive: Archive) -> VerifyReport:
    """Read all packs and snapshots, and report every object that is missing or does not match its hash."""
    report = VerifyReport()
    keys = archive.snapshot_keys()  # before the packs, so that these contain everything
    sizes = dict[bytes, int]()
    archive.update_index()
    for name in sorted(archive.pack_names()):
        report.packs += 1
        reason = _verify_pack(archive, name, sizes)
        if reason:
            report.problems.append(CopyProblem(layout.pack_key(name), reason))
    report.chunks, report.size = len(sizes), sum(sizes.values())
    contents = dict[layout.FileContent, bool]()
    times = dict[str, int]()  # of the newest intact snapshot of each group so far
    for key in keys:
        report.snapshots += 1
        group = key.rpartition("/")[0]
        try:
            snapshot = archive.snapshot(key)
            entries = archive.entries(snapshot)
        except OSError as problem:
            damage = SnapshotDamage(key, problem.strerror or "cannot be read", times.get(group))
            report.problems.append(snapshot_problem(damage))
            continue
        times[group] = snapshot.time
        for each in entries:
            if each.content not in contents:
                contents[each.content] = _is_complete(archive, each, sizes)
                if not contents[each.content]:
                    report.problems.append(CopyProblem(member_name(snapshot.machine, each.path), "has missing chunks"))
    report.files = len(contents)
    return report


def _verify_pack(archive: Archive, name: str, sizes: dict[bytes, int]) -> str:
    """Compare a pack with its name, and its chunks with their ids; add the sizes of intact chunks.

    The index remembers which chunks are damaged, so that the next copy adds them again.

    Returns:
        The first problem, or empty text.
    """
    problem = ""
    try:
        if sha256(archive.read(layout.pack_key(name))).hexdigest() != name:
            problem = "does not match its name"
    except OSError as error:
        return error.strerror or "cannot be read"
    unreadable = set[int]()
    bad_chunks = set[bytes]()
    for identity, place in _places(archive, name):
        if place.block in unreadable:
            bad_chunks.add(identity)
            continue
        try:
            chunk = archive.chunk_at(place)
        except OSError as error:
            unreadable.add(place.block)
            bad_chunks.add(identity)
            problem = problem or error.strerror or "cannot be read"
            continue
        if chunk_id(chunk) == identity:
            sizes[identity] = place.size
        else:
            bad_chunks.add(identity)
            problem = problem or f"chunk {identity.hex()} does not match its hash"
    archive.index.set_bad_chunks(name, bad_chunks)
    if bad_chunks:
        archive.index.doubt()
    return problem


def _places(archive: Archive, name: str) -> Iterable[tuple[bytes, ChunkPlace]]:
    """Return the places of the chunks of a pack; if its table is damaged, those that the index knows."""
    number = archive.index.number(name)
    try:
        return chunk_places(archive.footer(name)[0], number)
    except OSError:
        return archive.index.places_in(number)


def _is_complete(archive: Archive, entry: Entry, sizes: dict[bytes, int]) -> bool:
    size = 0
    try:
        for each in split_ids(archive.ids(entry.content)):
            if each not in sizes:
                return False
            size += sizes[each]
    except OSError:
        return False
    return size == entry.content.size
