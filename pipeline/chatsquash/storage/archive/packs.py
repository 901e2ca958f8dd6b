"""Packs: files of blocks with a table at the end, named by their hash and never changed."""

from __future__ import annotations

import struct
from hashlib import sha256

from chatsquash.storage.archive import blocks
from chatsquash.storage.archive.cipher import Cipher
from chatsquash.storage.archive.layout import ID_BYTES, Block, DamageError, Footer, decode, encode

_MAGIC = b"chatsquash pack\n"
_END = struct.Struct("<II8s")
"""The block and the uncompressed size of the table, and the mark at the end of the file."""
_END_MARK = b"packend\n"
END_BYTES = int(_END.size)
_LARGEST_TABLE = 1 << 30
_LARGEST_PACK, _LARGEST_BLOCK = 1 << 40, 1 << 28
_FULL = 16 << 20
"""The size in bytes at which a pack is written."""


class PackBuilder:
    """A pack in memory."""

    def __init__(self, cipher: Cipher) -> None:
        self._cipher = cipher
        self._data = bytearray(_MAGIC)
        self._blocks: list[Block] = []
        self._ids = bytearray()
        self._sizes: list[int] = []
        self._dictionary = b""

    @property
    def is_empty(self) -> bool:
        """Whether the pack has no blocks."""
        return not self._blocks

    @property
    def is_full(self) -> bool:
        """Whether the pack should be written."""
        return len(self._data) >= _FULL

    def add(self, chunks: dict[bytes, int], data: bytearray, level: int, dictionary: tuple[bytes, bytes]) -> None:
        """Add a block of chunks, given their ids with sizes and their bytes; the dictionary is an id with bytes."""
        block = blocks.compress(data, self._cipher, level, dictionary[1])
        self._blocks.append(Block(len(self._data), len(block), len(data), len(chunks), dictionary[0]))
        self._data += block
        self._ids += b"".join(chunks)
        self._sizes += chunks.values()

    def add_dictionary(self, identity: bytes, data: bytes) -> None:
        """Add a chunk that later packs use as a dictionary, in a separate block, because it is read with these."""
        self.add({identity: len(data)}, bytearray(data), blocks.THOROUGH, (b"", b""))
        self._dictionary = identity

    def finish(self) -> tuple[str, bytes, Footer]:
        """Return the name, the bytes and the table of the pack."""
        footer = Footer(tuple(self._blocks), bytes(self._ids), tuple(self._sizes), self._dictionary)
        table = encode(footer)
        block = blocks.compress(table, self._cipher)
        data = bytes(self._data) + block + _END.pack(len(block), len(table), _END_MARK)
        return sha256(data).hexdigest(), data, footer


def footer_size(end: bytes, key: str) -> int:
    """Return the number of bytes at the end of a pack that contain its table, given its last ``END_BYTES``."""
    block, size, mark = _END.unpack(end) if len(end) == END_BYTES else (0, 0, b"")
    if mark != _END_MARK or size > _LARGEST_TABLE:
        raise DamageError(5, f"{key}: is not a pack")
    return int(block) + END_BYTES


def parse_footer(tail: bytes, cipher: Cipher, key: str) -> Footer:
    """Return the table of a pack, given the bytes that contain it."""
    _, size, _ = _END.unpack(tail[-END_BYTES:])
    footer = decode(blocks.expand(tail[:-END_BYTES], cipher, size, key), Footer, key)
    if not _is_consistent(footer):
        raise DamageError(5, f"{key}: its table is damaged")
    return footer


def _is_consistent(footer: Footer) -> bool:
    """Return whether the numbers in a table agree with each other and are within the limits."""
    sizes = footer.sizes
    numbers = [number for each in footer.blocks for number in (each.offset, each.stored_size, each.chunks)]
    if min((*numbers, *sizes), default=0) < 0 or max(numbers, default=0) > _LARGEST_PACK:
        return False
    if sum(each.chunks for each in footer.blocks) != len(sizes) or len(footer.ids) != ID_BYTES * len(sizes):
        return False
    start = 0
    for each in footer.blocks:
        end = start + each.chunks
        if each.size > _LARGEST_BLOCK or sum(sizes[start:end]) != each.size:
            return False
        start = end
    return True
