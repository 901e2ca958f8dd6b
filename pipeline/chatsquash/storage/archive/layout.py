"""The objects of an archive and their encoding."""

from __future__ import annotations

import re
from collections.abc import Iterator
from hashlib import sha256
from typing import Any, TypeVar

import msgspec
from msgspec import Struct

VERSION = 1
CONFIG, PACKS, SNAPSHOTS, MARKS, LOCK = "config", "packs/", "snapshots/", "marks/", "locks/prune"
ID_BYTES = 16
"""The length of a chunk's id: the beginning of the SHA-256 of its bytes."""
INLINE_IDS = 4
"""The number of ids up to which they are stored with the file; longer lists are chunks themselves."""
_HASH_DIGITS = 32
_SNAPSHOT = re.compile(rf"{SNAPSHOTS}([0-9a-f]{{16}})/(\d{{12}})-([0-9a-f]{{{_HASH_DIGITS}}})")
_PACK = re.compile(rf"{PACKS}[0-9a-f]{{2}}/([0-9a-f]{{64}})")

T = TypeVar("T")

_SMALLEST_CHUNK = 128
"""A number of bytes that only the last chunk of a file may fall below."""
_DEEPEST = 8
_LARGEST_FILE = 1 << 42
_MOST_CHUNKS = 1 << 26


class DamageError(OSError):
    """An object of an archive is missing or does not match its hash."""


class Config(Struct, frozen=True):
    """The first object of an archive."""

    id: str
    version: int = VERSION
    salt: bytes = b""
    """The salt with which the user's key is stretched; empty if the archive is not encrypted."""
    sealed_key: bytes = b""
    """The key of the objects, encrypted with the stretched key of the user."""


class FileContent(Struct, frozen=True, array_like=True):
    """The bytes of a file as a list of chunks."""

    size: int
    ids: bytes
    depth: int = 0
    """How often the list of ids is itself stored as chunks: ``ids`` are then those of the list."""


class Entry(Struct, frozen=True, array_like=True):
    """A file in a snapshot."""

    path: bytes
    """The absolute path."""
    modified: int
    """The modification time in nanoseconds."""
    state: tuple[int, ...]
    """The change time in nanoseconds, the inode and the size; for a database also the size and time of its log."""
    content: FileContent
    is_database: bool = False
    unread: int = 0
    """The number of bytes at the beginning that were only compared in part when the file grew."""
    deletion: int = 0
    """When the file was first missing, in seconds since the epoch; 0 while it exists."""


class Snapshot(Struct, frozen=True):
    """The files of one machine at one time."""

    machine: str
    sources: tuple[str, ...]
    """The agents and the paths that were copied."""
    time: int
    """Seconds since the epoch."""
    tree: FileContent
    """The encoded entries."""
    files: int
    size: int
    """The total size of the files in bytes."""


class Block(Struct, frozen=True, array_like=True):
    """A compressed block in a pack."""

    offset: int
    stored_size: int
    size: int
    chunks: int
    """The number of chunks in it."""
    dictionary: bytes = b""
    """The id of the chunk with which it was compressed."""


class Footer(Struct, frozen=True, array_like=True):
    """The table at the end of a pack."""

    blocks: tuple[Block, ...]
    ids: bytes
    sizes: tuple[int, ...]
    """The size of each chunk in bytes, in the order of the blocks."""
    dictionary: bytes = b""
    """The id of a chunk with which small blocks of later packs can be compressed."""


class PruneMark(Struct, frozen=True):
    """Packs that no snapshot needed at a time."""

    time: int
    packs: tuple[str, ...]


def encode(value: Any) -> bytes:
    """Encode an object."""
    return msgspec.msgpack.encode(value)


def decode(data: bytes, kind: type[T], key: str) -> T:
    """Decode an object; raise ``DamageError`` if it is of another kind."""
    try:
        return msgspec.msgpack.decode(data, type=kind)
    except (msgspec.DecodeError, RecursionError):
        raise DamageError(5, f"{key}: is damaged") from None


def chunk_id(data: bytes | memoryview) -> bytes:
    """Return the id of a chunk."""
    return sha256(data).digest()[:ID_BYTES]


def split_ids(ids: bytes) -> Iterator[bytes]:
    """Yield the ids in a list, of which a hostile archive may have very many."""
    return (ids[at : at + ID_BYTES] for at in range(0, len(ids), ID_BYTES))


def most_ids(content: FileContent) -> int:
    """Return the largest number of chunks that a file of this size can have; raise ``DamageError`` for invalid ones."""
    if not (0 <= content.depth <= _DEEPEST and 0 <= content.size <= _LARGEST_FILE):
        raise DamageError(5, "has an impossible size")
    return min(content.size // _SMALLEST_CHUNK + _DEEPEST, _MOST_CHUNKS)


def group_of(machine: str, sources: tuple[str, ...]) -> str:
    """Return the name of the group of snapshots with the same machine and sources."""
    return sha256(encode((machine, sources))).hexdigest()[:16]


def pack_key(name: str) -> str:
    """Return the key of a pack."""
    return f"{PACKS}{name[:2]}/{name}"


def pack_name(key: str) -> str | None:
    """Return the name of the pack with a key, or ``None`` for other keys."""
    match = _PACK.fullmatch(key)
    return match[1] if match else None


def snapshot_key(group: str, time: int, data: bytes) -> str:
    """Return the key of a snapshot with these stored bytes."""
    return f"{SNAPSHOTS}{group}/{time:012}-{short_hash(data)}"


def snapshot_parts(key: str) -> tuple[str, int, str] | None:
    """Return the group, time and hash in the key of a snapshot, or ``None`` for other keys."""
    match = _SNAPSHOT.fullmatch(key)
    return (match[1], int(match[2]), match[3]) if match else None


def short_hash(data: bytes) -> str:
    """Return the hash of stored bytes that is part of a key."""
    return sha256(data).hexdigest()[:_HASH_DIGITS]
