"""Blocks: many chunks, compressed together with zstd and then encrypted."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from chatsquash.storage.archive.chunks import missing
from chatsquash.storage.archive.cipher import Cipher
from chatsquash.storage.archive.layout import DamageError

SIZE = 32 << 20
"""The size of a block in bytes before compression."""
_WINDOW = 25
"""The window as a power of two, so that a block is compressed as one."""
USUAL, THOROUGH = 3, 9
"""The levels of zstd: the second one costs no more time than the first if only a quarter of the content is new."""
_SMALL = 1 << 18
"""The size in bytes up to which a block is compressed with a dictionary."""
DICTIONARY = 110 << 10
"""The size of a dictionary in bytes, which is the usual one of zstd; it saves a quarter of small blocks."""
_LABEL = b"block"
_IN_MEMORY = 96 << 20
"""The number of uncompressed bytes to keep."""


def compress(data: bytes | bytearray, cipher: Cipher, level: int = USUAL, dictionary: bytes = b"") -> bytes:
    """Compress and encrypt bytes."""
    zstd = _zstd()
    if len(data) <= _SMALL:
        parameters = zstd.ZstdCompressionParameters.from_level(level, write_checksum=True)
    else:
        parameters = zstd.ZstdCompressionParameters.from_level(
            level, window_log=_WINDOW, enable_ldm=True, write_checksum=True
        )
    extra = {"dict_data": zstd.ZstdCompressionDict(dictionary, zstd.DICT_TYPE_RAWCONTENT)} if dictionary else {}
    compressed: bytes = zstd.ZstdCompressor(compression_params=parameters, **extra).compress(data)
    return cipher.seal(compressed, _LABEL)


def uses_dictionary(size: int) -> bool:
    """Return whether a block of this size is compressed with a dictionary."""
    return size <= _SMALL


def has_dictionary(size: int) -> bool:
    """Return whether a block of this size is enough content for a dictionary."""
    return size > 8 * DICTIONARY


def expand(block: bytes | memoryview, cipher: Cipher, size: int, key: str, dictionary: bytes = b"") -> bytes:
    """Decrypt and expand a block to exactly ``size`` bytes; raise ``DamageError`` if it was changed."""
    zstd = _zstd()
    plain = cipher.unseal(bytes(block), _LABEL, key)
    extra = {"dict_data": zstd.ZstdCompressionDict(dictionary, zstd.DICT_TYPE_RAWCONTENT)} if dictionary else {}
    try:
        # The size in the frame is not trusted, because it is allocated at once.
        if zstd.get_frame_parameters(plain).content_size != size:
            raise DamageError(5, f"{key}: a block has another size than its table")
        data: bytes = zstd.ZstdDecompressor(max_window_size=1 << _WINDOW, **extra).decompress(plain)
    except zstd.ZstdError:
        raise DamageError(5, f"{key}: a block is damaged") from None
    return data


def _zstd() -> Any:
    try:
        import zstandard
    except ImportError:
        raise missing("zstandard") from None
    return zstandard


class BlockCache:
    """The uncompressed blocks that were used last."""

    def __init__(self) -> None:
        self._blocks: OrderedDict[object, bytes] = OrderedDict()
        self._size = 0

    def get(self, key: object) -> bytes | None:
        """Return a block, or ``None`` if it is not in memory."""
        if key in self._blocks:
            self._blocks.move_to_end(key)
            return self._blocks[key]
        return None

    def add(self, key: object, data: bytes) -> None:
        """Add a block, and drop the ones that were not used for longest."""
        self._blocks[key] = data
        self._size += len(data)
        while self._size > _IN_MEMORY and len(self._blocks) > 1:
            self._size -= len(self._blocks.popitem(last=False)[1])
