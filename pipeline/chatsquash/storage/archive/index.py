"""The index of an archive in SQLite: the place of each chunk. It is a cache that packs can always restore."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from chatsquash.storage.archive.layout import ID_BYTES, Block, Footer

_TABLES = """
CREATE TABLE IF NOT EXISTS packs (
  number INTEGER PRIMARY KEY AUTOINCREMENT, name TEXT UNIQUE, stored_size INTEGER, dictionary BLOB);
CREATE TABLE IF NOT EXISTS blocks (
  pack INTEGER, block INTEGER, offset INTEGER, stored_size INTEGER, size INTEGER, chunks INTEGER, dictionary BLOB,
  PRIMARY KEY (pack, block)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS chunks (
  id BLOB, pack INTEGER, block INTEGER, start INTEGER, size INTEGER, PRIMARY KEY (id, pack)) WITHOUT ROWID;
CREATE INDEX IF NOT EXISTS chunks_by_pack ON chunks (pack);
CREATE TABLE IF NOT EXISTS damaged (id BLOB, pack INTEGER, PRIMARY KEY (id, pack)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS complete (snapshots TEXT PRIMARY KEY) WITHOUT ROWID;
"""
_TRIES, _PAUSE = 20, 0.1
"""The number of attempts to open the index, and the seconds between them."""


class ChunkPlace(NamedTuple):
    """The place of a chunk."""

    pack: int
    block: int
    start: int
    """The offset in the uncompressed block."""
    size: int


class ChunkIndex:
    """The packs, blocks and chunks of an archive."""

    def __init__(self, identity: str) -> None:
        self._database = _open(identity)
        self._blocks: dict[tuple[int, int], Block] = {}
        self._names: dict[int, str] = {}

    def is_complete(self, group: str) -> bool:
        """Return whether no pack was lost since ``set_complete`` was called for a group of snapshots."""
        row = self._database.execute("SELECT 1 FROM complete WHERE snapshots = ?", (group,)).fetchone()
        return row is not None

    def set_complete(self, group: str) -> None:
        """Remember that all chunks of the newest snapshot of a group exist."""
        with self._database:
            self._database.execute("INSERT OR IGNORE INTO complete VALUES (?)", (group,))

    def doubt(self) -> None:
        """Forget which groups of snapshots are complete, because a pack was lost."""
        with self._database:
            self._database.execute("DELETE FROM complete")

    def packs(self) -> dict[str, int]:
        """Return the numbers of the packs by name."""
        return dict(self._database.execute("SELECT name, number FROM packs"))

    def number(self, name: str) -> int:
        """Return the number of a pack, or -1 for an unknown one."""
        row = self._database.execute("SELECT number FROM packs WHERE name = ?", (name,)).fetchone()
        return row[0] if row else -1

    def add(self, name: str, stored_size: int, footer: Footer) -> None:
        """Add a pack."""
        with self._database:
            insert = "INSERT OR IGNORE INTO packs (name, stored_size, dictionary) VALUES (?, ?, ?)"
            cursor = self._database.execute(insert, (name, stored_size, footer.dictionary))
            number = cursor.lastrowid
            if not cursor.rowcount or number is None:  # another process added it, or it was damaged and written again
                self.set_bad_chunks(name, ())
                return
            blocks = enumerate(footer.blocks)
            rows = (
                (number, at, each.offset, each.stored_size, each.size, each.chunks, each.dictionary)
                for at, each in blocks
            )
            self._database.executemany("INSERT INTO blocks VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
            chunk_rows = ((each, number, *place[1:]) for each, place in chunk_places(footer, number))
            self._database.executemany("INSERT OR IGNORE INTO chunks VALUES (?, ?, ?, ?, ?)", chunk_rows)

    def remove(self, names: Iterable[str]) -> None:
        """Remove packs."""
        known = self.packs()
        with self._database:
            for number in (known[name] for name in names if name in known):
                for table, column in (("damaged", "pack"), ("chunks", "pack"), ("blocks", "pack"), ("packs", "number")):
                    self._database.execute(f"DELETE FROM {table} WHERE {column} = ?", (number,))  # noqa: S608
        self._blocks.clear()
        self._names.clear()

    def set_bad_chunks(self, name: str, identities: Iterable[bytes]) -> None:
        """Remember which chunks of a pack are damaged."""
        number = self.number(name)
        with self._database:
            self._database.execute("DELETE FROM damaged WHERE pack = ?", (number,))
            self._database.executemany("INSERT INTO damaged VALUES (?, ?)", [(each, number) for each in identities])

    def bad_chunks(self) -> dict[bytes, set[int]]:
        """Return the packs in which chunks are damaged, by the ids of the chunks."""
        packs: dict[bytes, set[int]] = {}
        for identity, pack in self._database.execute("SELECT id, pack FROM damaged"):
            packs.setdefault(identity, set()).add(pack)
        return packs

    def place(self, identity: bytes) -> ChunkPlace | None:
        """Return where a chunk is, or ``None`` if no pack contains it."""
        query = "SELECT pack, block, start, size FROM chunks WHERE id = ? LIMIT 1"
        row = self._database.execute(query, (identity,)).fetchone()
        return ChunkPlace(*row) if row else None

    def places(self, identity: bytes) -> list[ChunkPlace]:
        """Return where a chunk is in all packs that contain it."""
        query = "SELECT pack, block, start, size FROM chunks WHERE id = ?"
        return [ChunkPlace(*row) for row in self._database.execute(query, (identity,))]

    def dictionary(self, avoided: set[int]) -> bytes:
        """Return the id of the newest dictionary that no pack to avoid contains, or empty bytes."""
        rows = self._database.execute(
            "SELECT number, dictionary FROM packs WHERE dictionary != x'' ORDER BY number DESC"
        )
        return next((identity for number, identity in rows if number not in avoided), b"")

    def dictionaries(self) -> set[bytes]:
        """Return the ids of the dictionaries with which blocks are compressed."""
        return {
            row[0] for row in self._database.execute("SELECT DISTINCT dictionary FROM blocks WHERE dictionary != x''")
        }

    def block(self, pack: int, number: int) -> Block:
        """Return a block of a pack."""
        if (pack, number) not in self._blocks:
            query = "SELECT offset, stored_size, size, chunks, dictionary FROM blocks WHERE pack = ? AND block = ?"
            self._blocks[pack, number] = Block(*self._database.execute(query, (pack, number)).fetchone())
        return self._blocks[pack, number]

    def pack_name(self, number: int) -> str:
        """Return the name of a pack."""
        if number not in self._names:
            row = self._database.execute("SELECT name FROM packs WHERE number = ?", (number,)).fetchone()
            self._names[number] = row[0]
        return self._names[number]

    def places_in(self, pack: int) -> Iterator[tuple[bytes, ChunkPlace]]:
        """Yield the chunks of a pack with their places."""
        query = "SELECT id, pack, block, start, size FROM chunks WHERE pack = ? ORDER BY block, start"
        for identity, *place in self._database.execute(query, (pack,)).fetchall():
            yield identity, ChunkPlace(*place)

    def stored_sizes(self) -> dict[str, int]:
        """Return the sizes of the packs in bytes by name."""
        return dict(self._database.execute("SELECT name, stored_size FROM packs"))

    def close(self) -> None:
        """Close the database."""
        self._database.close()


def chunk_places(footer: Footer, pack: int) -> Iterator[tuple[bytes, ChunkPlace]]:
    """Yield the chunks of a pack with their places."""
    sizes = iter(footer.sizes)
    at = 0
    for number, block in enumerate(footer.blocks):
        start = 0
        for _ in range(block.chunks):
            size = next(sizes)
            yield footer.ids[at : at + ID_BYTES], ChunkPlace(pack, number, start, size)
            start += size
            at += ID_BYTES


def _open(identity: str) -> sqlite3.Connection:
    """Open the index in the user's cache folder, or in memory if that cannot be written to."""
    folder = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "chatsquash"
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = folder / f"archive-{identity}.1.sqlite"
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o600))
        for _ in range(_TRIES):
            try:
                return _connect(path)
            except sqlite3.OperationalError:  # another process is creating it
                time.sleep(_PAUSE)
            except sqlite3.DatabaseError:  # damaged: the packs restore it
                path.unlink(missing_ok=True)
    return _connect(":memory:")


def _connect(path: Path | str) -> sqlite3.Connection:
    database = sqlite3.connect(path, timeout=60)
    try:
        database.execute("PRAGMA journal_mode = WAL")
        database.execute("PRAGMA synchronous = NORMAL")
        database.executescript(_TABLES)
    except sqlite3.Error:
        database.close()
        raise
    return database
