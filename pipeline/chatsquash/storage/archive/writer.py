"""Add content to an archive: chunks that it does not have yet are collected in blocks and packs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

from chatsquash.storage.archive import blocks, chunks, layout
from chatsquash.storage.archive.layout import INLINE_IDS, Entry, FileContent, chunk_id
from chatsquash.storage.archive.packs import PackBuilder
from chatsquash.storage.archive.repository import Archive

_REPETITION = 4
"""The share of new content, as a divisor, below which more time is spent on its compression."""
_REMEMBERED = 1 << 20
"""The number of ids to remember; the index has the others."""


class _Pending:
    """The chunks of a block that is not complete."""

    def __init__(self) -> None:
        self.sizes: dict[bytes, int] = {}
        self.data = bytearray()


class Chunks(NamedTuple):
    """The chunks of some bytes."""

    ids: list[bytes]
    size: int
    """The number of bytes."""


class ArchiveWriter:
    """Adds content; nothing refers to it until a snapshot is added after ``flush``."""

    def __init__(self, archive: Archive) -> None:
        self._archive = archive
        self._known: set[bytes] = set()
        self._unwritten: set[bytes] = set()
        self._data, self._lists = _Pending(), _Pending()
        self._pack = PackBuilder(archive.cipher)
        self._has_dictionary = False
        self.packs: set[str] = set()
        """The names of the packs that were written."""
        self.read_bytes = self.new_bytes = self.stored_bytes = 0

    def add(self, read: Callable[[int], bytes], average: int = chunks.DATA) -> Chunks:
        """Add the bytes that a call returns until it returns none."""
        pending = self._data if average == chunks.DATA else self._lists
        ids = list[bytes]()
        size = 0
        for each in chunks.chunks(read, average):
            identity = chunk_id(each)
            ids.append(identity)
            size += len(each)
            if identity not in self._known:
                self._add_unless_stored(identity, each, pending)
        self.read_bytes += size
        return Chunks(ids, size)

    def content(self, ids: Iterable[bytes], size: int) -> FileContent:
        """Return a content with these chunks; a long list of ids is added as chunks."""
        list_bytes, depth = b"".join(ids), 0
        while len(list_bytes) > INLINE_IDS * layout.ID_BYTES:
            inner, _ = self.add(reader(list_bytes), chunks.LISTS)
            list_bytes, depth = b"".join(inner), depth + 1
        return FileContent(size, list_bytes, depth)

    def tree(self, entries: list[Entry]) -> FileContent:
        """Add the entries of a snapshot."""
        ids, size = self.add(reader(layout.encode(entries)), chunks.LISTS)
        return self.content(ids, size)

    def rewrite(self, identity: bytes, chunk: memoryview, *, is_list: bool) -> None:
        """Add a chunk that the archive has already, for a pack that replaces others."""
        self._append(identity, chunk, self._lists if is_list else self._data)

    def flush(self) -> None:
        """Write all chunks to the archive."""
        for pending in (self._data, self._lists):
            self._close_block(pending)
        self._write_pack()

    def _add_unless_stored(self, identity: bytes, chunk: memoryview, pending: _Pending) -> None:
        if len(self._known) >= _REMEMBERED:
            self._known = set(self._unwritten)
        self._known.add(identity)
        if self._archive.has_chunk(identity):
            return
        self._append(identity, chunk, pending)

    def _append(self, identity: bytes, chunk: memoryview, pending: _Pending) -> None:
        self._unwritten.add(identity)
        pending.sizes[identity] = len(chunk)
        pending.data += chunk
        self.new_bytes += len(chunk)
        if len(pending.data) >= blocks.SIZE:
            self._close_block(pending)
            if self._pack.is_full:
                self._write_pack()

    def _close_block(self, pending: _Pending) -> None:
        if pending.sizes:
            is_repetitive = self.new_bytes * _REPETITION < self.read_bytes
            level = blocks.THOROUGH if is_repetitive else blocks.USUAL
            self._pack.add(pending.sizes, pending.data, level, self._dictionary_for(pending))
            pending.__init__()  # type: ignore[misc]

    def _dictionary_for(self, pending: _Pending) -> tuple[bytes, bytes]:
        """Return the dictionary for a block; a large block provides the first one of an archive."""
        if pending is self._lists:
            return b"", b""
        if blocks.uses_dictionary(len(pending.data)):
            return self._archive.dictionary()
        if blocks.has_dictionary(len(pending.data)) and not self._has_dictionary:
            self._has_dictionary = True
            if not self._archive.dictionary()[0]:
                data = bytes(pending.data[-blocks.DICTIONARY :])
                self._pack.add_dictionary(chunk_id(data), data)
        return b"", b""

    def _write_pack(self) -> None:
        if self._pack.is_empty:
            return
        name, data, footer = self._pack.finish()
        self._archive.create(layout.pack_key(name), data)
        self._archive.index.add(name, len(data), footer)
        self.packs.add(name)
        self.stored_bytes += len(data)
        self._pack = PackBuilder(self._archive.cipher)
        self._unwritten = {*self._data.sizes, *self._lists.sizes}


def reader(data: bytes) -> Callable[[int], bytes]:
    """Return a call that returns bytes in pieces."""
    at = 0

    def read(size: int) -> bytes:
        nonlocal at
        piece = data[at : at + size]
        at += len(piece)
        return piece

    return read
