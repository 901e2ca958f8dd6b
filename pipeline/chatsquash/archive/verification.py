"""Compare every byte of an archive with its hash."""

from __future__ import annotations

from hashlib import sha256

from msgspec import Struct, field

from chatsquash.archive.selection import CopyProblem
from chatsquash.storage.archive import layout
from chatsquash.storage.archive.files import member_name
from chatsquash.storage.archive.index import chunk_places
from chatsquash.storage.archive.layout import DamageError, Entry, chunk_id, split_ids
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
        try:
            _verify_pack(archive, name, sizes)
        except OSError as problem:
            report.problems.append(CopyProblem(layout.pack_key(name), problem.strerror or "cannot be read"))
    report.chunks, report.size = len(sizes), sum(sizes.values())
    contents = dict[layout.FileContent, bool]()
    for key in keys:
        report.snapshots += 1
        try:
            snapshot = archive.snapshot(key)
            entries = archive.entries(snapshot)
        except OSError as problem:
            report.problems.append(CopyProblem(key, problem.strerror or "cannot be read"))
            continue
        for each in entries:
            if each.content not in contents:
                contents[each.content] = _is_complete(archive, each, sizes)
                if not contents[each.content]:
                    report.problems.append(CopyProblem(member_name(snapshot.machine, each.path), "has missing chunks"))
    report.files = len(contents)
    return report


def _verify_pack(archive: Archive, name: str, sizes: dict[bytes, int]) -> None:
    """Compare a pack with its name, and its chunks with their ids; add the sizes of the chunks."""
    key = layout.pack_key(name)
    if sha256(archive.read(key)).hexdigest() != name:
        raise DamageError(5, "does not match its name")
    footer, _ = archive.footer(name)
    number = archive.index.number(name)
    for identity, place in chunk_places(footer, number):
        chunk = memoryview(archive.block(number, place.block))[place.start : place.start + place.size]
        if chunk_id(chunk) != identity:
            raise DamageError(5, f"chunk {identity.hex()} does not match its hash")
        sizes[identity] = place.size


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
