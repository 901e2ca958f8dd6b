"""Records as lines of JSON, plain or compressed."""

from __future__ import annotations

import sys
import zlib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.dataset.store import Output
from chatsquash.records.media import NO_IMAGES
from chatsquash.sources.compression import KINDS

_GZIP = 16 + zlib.MAX_WBITS  # whose header then has no time in it
_LEVEL_GZIP, _LEVEL_ZSTD = 6, 3


class Packer(Protocol):
    """Compresses a stream."""

    def compress(self, data: bytes, /) -> bytes:
        """What can be written so far."""

    def flush(self) -> bytes:
        """The end."""


class _Uncompressed:
    def compress(self, data: bytes, /) -> bytes:
        return data

    def flush(self) -> bytes:
        return b""


def zstd() -> Packer:
    """Zstandard, of Python 3.14 or of a package; raises ``UsageError`` where there is neither."""
    if sys.version_info >= (3, 14):
        from compression.zstd import ZstdCompressor

        packer: Packer = ZstdCompressor(level=_LEVEL_ZSTD)
        return packer
    try:
        from zstandard import ZstdCompressor
    except ImportError:
        hint = "pip install 'chatsquash[zstd]', or choose jsonl.gz"
        raise UsageError(f"jsonl.zst: the package zstandard is missing: {hint}") from None
    made: Packer = ZstdCompressor(level=_LEVEL_ZSTD).compressobj()
    return made


PACKERS: dict[str, Callable[[], Packer]] = {
    "jsonl": _Uncompressed,
    "jsonl.gz": partial(zlib.compressobj, _LEVEL_GZIP, wbits=_GZIP),
    "jsonl.zst": zstd,
}


class TextFile:
    """A file of lines."""

    def __init__(self, out: Output, name: str, packer: Packer) -> None:
        self._out, self._name, self._packer = out, name, packer

    def add(self, record: bytes, beside: dict[str, Any], images: Mapping[str, bytes] = NO_IMAGES) -> None:
        """Write a record's line, with the members that it does not have at its end; images are files of their own."""
        del images
        line = record[:-1] + b"," + jsonio.dumps(beside)[1:] if beside else record
        self._out.write(self._name, self._packer.compress(line + b"\n"), lines=1)

    def finish(self) -> None:
        """Write what a packer held back."""
        self._out.write(self._name, self._packer.flush(), lines=0)


def packer_of(path: Path) -> Packer:
    """What compresses a file of lines, as its name says."""
    suffix = path.suffix.lower() if path.suffix.lower() in KINDS else ""
    if f"jsonl{suffix}" not in PACKERS:
        raise UsageError(f"{path}: {suffix} is read only; .gz and .zst are written")
    return PACKERS[f"jsonl{suffix}"]()
