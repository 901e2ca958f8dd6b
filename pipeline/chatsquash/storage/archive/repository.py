"""An open archive: its snapshots, and the chunks in its packs."""

from __future__ import annotations

import os
import re
import time
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from errno import ENOENT, ENOTSUP
from pathlib import Path

from chatsquash.core.errors import UsageError
from chatsquash.storage import is_remote, refuse_unknown, stores
from chatsquash.storage.archive import blocks, layout, packs
from chatsquash.storage.archive.cipher import Cipher, cipher_of, new_config
from chatsquash.storage.archive.index import ChunkIndex, ChunkPlace
from chatsquash.storage.archive.layout import (
    CONFIG,
    MARKS,
    PACKS,
    SNAPSHOTS,
    VERSION,
    Config,
    DamageError,
    Entry,
    FileContent,
    Footer,
    PruneMark,
    Snapshot,
)
from chatsquash.storage.stores.base import WritableStore
from chatsquash.storage.stores.local import LocalStore

_LARGEST = 1 << 30
_REMEMBERED = 1 << 18
"""The number of places of chunks to remember."""
_ID = re.compile(r"[0-9a-f]{32}")
_NONE: frozenset[int] = frozenset()
_TAIL = 1 << 16
"""The number of bytes at the end of a pack that are read first."""


class Archive:
    """An open archive."""

    def __init__(self, place: str, store: WritableStore, prefix: str, secret: bytes | None) -> None:
        self.place, self.store, self._prefix = place, store, prefix
        config = layout.decode(self.read(CONFIG), Config, f"{place}/{CONFIG}")
        if config.version != VERSION:
            raise UsageError(f"{place}: has version {config.version}, which this version of chatsquash cannot read")
        if not _ID.fullmatch(config.id):
            raise DamageError(5, f"{place}/{CONFIG}: is damaged")
        self.identity = config.id
        self.cipher: Cipher = cipher_of(config, secret, place)
        # Another archive with the same id must not change this index.
        self.index = ChunkIndex(f"{config.id}-{layout.short_hash(os.fsencode(str(place)))}")
        self.damages: dict[str, str] = {}
        """Packs whose tables cannot be read, with the reasons."""
        self._avoided: set[int] = set()
        self._bad_chunks = self.index.bad_chunks()
        self._cache = blocks.BlockCache()
        self._places: dict[bytes, ChunkPlace] = {}

    # Objects

    def read(self, key: str) -> bytes:
        """Return the bytes of an object."""
        return bytes(self.store.get(self._prefix + key, 0, _LARGEST, None).data)

    def read_range(self, key: str, start: int, size: int) -> bytes:
        """Return some bytes of an object."""
        data = bytes(self.store.get(self._prefix + key, start, size, None).data)
        if len(data) < size:
            raise DamageError(5, f"{self.place}/{key}: is truncated")
        return data

    def create(self, key: str, data: bytes) -> None:
        """Write an object whose key contains the hash of its bytes; an existing one is the same."""
        # A pack that exists is only written again if it is damaged.
        name = layout.pack_name(key)
        if name and (name in self.damages or self.index.number(name) >= 0):
            self.store.put(self._prefix + key, data)
        else:
            create_object(self.store, self._prefix + key, data)

    def create_new(self, key: str, data: bytes) -> None:
        """Write a new object; raise ``FileExistsError`` if there is one with this key."""
        self.store.create(self._prefix + key, data)

    def delete(self, keys: list[str]) -> None:
        """Remove objects."""
        self.store.delete([self._prefix + key for key in keys])

    def keys(self, folder: str) -> list[str]:
        """Return the keys of the objects below a folder, sorted."""
        below = self.store.list(self._prefix + folder)
        return sorted(each.key.removeprefix(self._prefix) for page in below for each in page)

    # Snapshots

    def snapshot_keys(self, group: str = "") -> list[str]:
        """Return the keys of snapshots, of one group or all, from the oldest to the newest of each group."""
        keys = self.keys(f"{SNAPSHOTS}{group}/" if group else SNAPSHOTS)
        return [key for key in keys if layout.snapshot_parts(key)]

    def snapshot(self, key: str) -> Snapshot:
        """Return a snapshot; raise ``DamageError`` if it does not match its name."""
        data = self.read(key)
        parts = layout.snapshot_parts(key)
        if not parts or parts[2] != layout.short_hash(data):
            raise DamageError(5, f"{self.place}/{key}: does not match its name, so it is damaged")
        return layout.decode(self.cipher.unseal(data, SNAPSHOTS.encode(), key), Snapshot, f"{self.place}/{key}")

    def add_snapshot(self, snapshot: Snapshot) -> str:
        """Write a snapshot, whose chunks must be in packs; return its key."""
        data = self.cipher.seal(layout.encode(snapshot), SNAPSHOTS.encode())
        key = layout.snapshot_key(layout.group_of(snapshot.machine, snapshot.sources), snapshot.time, data)
        self.create(key, data)
        return key

    def entries(self, snapshot: Snapshot) -> list[Entry]:
        """Return the files of a snapshot, sorted by path."""
        tree = b"".join(self.chunks(snapshot.tree))
        return layout.decode(tree, list[Entry], f"{self.place}: the list of files of a snapshot")

    # Packs

    def pack_names(self) -> set[str]:
        """Return the names of all packs."""
        return {name for key in self.keys(PACKS) if (name := layout.pack_name(key))}

    def marks(self) -> dict[str, PruneMark]:
        """Return the marks by key."""
        return {key: layout.decode(self.read(key), PruneMark, f"{self.place}/{key}") for key in self.keys(MARKS)}

    def update_index(self) -> None:
        """Read the tables of new packs, and forget removed ones."""
        known = self.index.packs()  # first, because another process may add packs that are written after the listing
        names = self.pack_names()
        removed = known.keys() - names
        self.index.remove(removed)
        self._places.clear()
        for name in sorted(names - known.keys()):
            try:
                footer, size = self.footer(name)
            except FileNotFoundError:  # removed in the meantime
                continue
            except DamageError as problem:
                self.damages[name] = str(problem.strerror)
                continue
            self.index.add(name, size, footer)
        if removed or self.damages:
            self.index.doubt()
        self._bad_chunks = self.index.bad_chunks()

    def avoid_marked(self) -> None:
        """Let new content not refer to packs that are about to be removed."""
        self.avoid({name for mark in self.marks().values() for name in mark.packs})

    def avoid(self, names: set[str]) -> None:
        """Let new content not refer to packs."""
        packs = self.index.packs()
        self._avoided = {packs[name] for name in names if name in packs}

    def dictionary(self) -> tuple[bytes, bytes]:
        """Return the id and the bytes of the dictionary for new content; both are empty if there is none."""
        identity = self.index.dictionary(self._avoided)
        try:
            return (identity, bytes(self.chunk(identity))) if identity else (b"", b"")
        except (DamageError, FileNotFoundError):
            return b"", b""

    def has_chunk(self, identity: bytes) -> bool:
        """Return whether new content may refer to a chunk."""
        avoided = self._avoided | self._bad_chunks.get(identity, _NONE)
        if not avoided:
            return self.index.place(identity) is not None
        return not avoided.issuperset(place.pack for place in self.index.places(identity))

    def is_damaged(self, identity: bytes) -> bool:
        """Return whether each pack with a chunk contained it damaged when it was last verified."""
        packs = self._bad_chunks.get(identity)
        return packs is not None and packs.issuperset(place.pack for place in self.index.places(identity))

    def has_intact_chunk(self, identity: bytes) -> bool:
        """Return whether a pack to which new content may refer contains a chunk that matches its hash."""
        for place in self.index.places(identity):
            if place.pack not in self._avoided:
                with suppress(DamageError):
                    if layout.chunk_id(self.chunk_at(place)) == identity:
                        return True
        return False

    def footer(self, name: str) -> tuple[Footer, int]:
        """Return the table of a pack, and the size of the pack in bytes."""
        key = layout.pack_key(name)
        status = self.store.status(self._prefix + key)
        if status is None:
            raise FileNotFoundError(ENOENT, f"{self.place}/{key}: is missing")
        size = status.size
        first = min(_TAIL, size)
        tail = self.read_range(key, size - first, first)
        length = packs.footer_size(tail[-packs.END_BYTES :], f"{self.place}/{key}")
        if length > len(tail):
            tail = self.read_range(key, max(0, size - length), min(length, size))
        return packs.parse_footer(tail[-length:], self.cipher, f"{self.place}/{key}"), size

    # Content

    def chunk(self, identity: bytes) -> memoryview:
        """Return a chunk; raise ``DamageError`` if no pack contains it intact."""
        place = self.place_of(identity)
        try:
            return self.chunk_at(place)
        except DamageError:
            for other in self.index.places(identity):
                if other != place:
                    with suppress(DamageError):
                        return self.chunk_at(other)
            raise

    def chunk_at(self, place: ChunkPlace) -> memoryview:
        """Return the bytes at a place."""
        return memoryview(self.block(place.pack, place.block))[place.start : place.start + place.size]

    def place_of(self, identity: bytes) -> ChunkPlace:
        """Return where a chunk is; raise ``DamageError`` if no pack contains it."""
        place = self._places.get(identity) or self.index.place(identity)
        if place is None:
            raise DamageError(5, f"{self.place}: no pack contains chunk {identity.hex()}")
        if len(self._places) >= _REMEMBERED:
            self._places.clear()
        self._places[identity] = place
        return place

    def chunks(self, content: FileContent) -> Iterator[memoryview]:
        """Yield the chunks of a file in order."""
        for each in layout.split_ids(self.ids(content)):
            yield self.chunk(each)

    def ids(self, content: FileContent) -> bytes:
        """Return the ids of the chunks of a file; see ``levels``."""
        return deque(self.levels(content), maxlen=1)[0]

    def levels(self, content: FileContent) -> Iterator[bytes]:
        """Yield the ids of a content: those of the lists of ids, from the outermost one, and those of its bytes.

        Raises:
            DamageError: A chunk is missing, or a file of this size cannot have as many chunks.
        """
        most = layout.most_ids(content) * layout.ID_BYTES
        ids = content.ids
        yield ids
        for _ in range(content.depth):
            pieces, size = list[memoryview](), 0
            for each in layout.split_ids(ids):
                pieces.append(self.chunk(each))
                size += len(pieces[-1])
                if size > most:
                    raise DamageError(5, f"{self.place}: a file has more chunks than its size allows")
            ids = b"".join(pieces)
            yield ids

    def block(self, pack: int, number: int) -> bytes:
        """Return an uncompressed block."""
        data = self._cache.get((pack, number))
        if data is None:
            block = self.index.block(pack, number)
            key = layout.pack_key(self.index.pack_name(pack))
            data = self.read_range(key, block.offset, block.stored_size)
            dictionary = self._dictionary(block.dictionary, key) if block.dictionary else b""
            data = blocks.expand(data, self.cipher, block.size, f"{self.place}/{key}", dictionary)
            self._cache.add((pack, number), data)
        return data

    def _dictionary(self, identity: bytes, key: str) -> bytes:
        """Return the chunk with which a block was compressed, which is in a block without a dictionary."""
        place = self.place_of(identity)
        if self.index.block(place.pack, place.block).dictionary:
            raise DamageError(5, f"{self.place}/{key}: a dictionary needs another one")
        return bytes(self.chunk(identity))


def create_object(store: WritableStore, key: str, data: bytes) -> None:
    """Write an object that is the same for every writer of its key."""
    try:
        store.create(key, data)
    except FileExistsError:
        return
    except OSError as problem:
        if problem.errno != ENOTSUP:
            raise
        store.put(key, data)


def open_archive(place: str, secret: bytes | None = None, *, is_new: bool = False) -> Archive:
    """Open an archive in a folder or a store.

    Args:
        place: A path or URL.
        secret: The key of an encrypted archive.
        is_new: Create the archive if there is none; the place must then be empty.

    Raises:
        UsageError: There is no archive, it cannot be opened, or the key is wrong.
    """
    store, prefix = _store_of(place)
    try:
        if store.status(prefix + CONFIG) is None:
            if not is_new:
                raise UsageError(f"{place}: is not an archive; chatsquash archive LOGS --to {place} creates one")
            _refuse_foreign(store, prefix, place)
            config = layout.encode(new_config(secret))
            create_object(store, prefix + CONFIG, config)  # of two machines, the first one creates it
        return Archive(place.rstrip("/"), store, prefix, secret)
    except OSError as problem:
        raise UsageError(f"{place}: cannot be opened ({problem.strerror})") from None


def _store_of(place: str) -> tuple[WritableStore, str]:
    if is_remote(place):
        address = stores.address(place)
        return stores.writable(address), "".join(f"{part}/" for part in address.key.split("/") if part)
    refuse_unknown(place)
    path = Path(place).expanduser()
    return LocalStore(path), ""


def _refuse_foreign(store: WritableStore, prefix: str, place: str) -> None:
    """Raise ``UsageError`` if a folder contains files of others; create it if it is missing."""
    if isinstance(store, LocalStore):
        path = Path(place).expanduser()
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        names = {each.name for each in os.scandir(path) if not each.name.startswith(CONFIG)}
    else:
        names = set(store.inside(prefix))
    # Another machine may have created the archive in the meantime.
    if names and store.status(prefix + CONFIG) is None:
        raise UsageError(f"{place}: is not empty and not an archive; choose another place with --to")


def now() -> int:
    """Return the time in seconds since the epoch."""
    return int(time.time())
