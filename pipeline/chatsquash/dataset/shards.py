"""The files of one split, each filled up to a size of text: records as lines of JSON, plain or compressed."""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.options import Options
from chatsquash.core.outcome import Place
from chatsquash.dataset.arrow import Field
from chatsquash.dataset.columns import fields, pair_fields
from chatsquash.dataset.store import Output
from chatsquash.records.media import NO_IMAGES
from chatsquash.sources.compression import KINDS

SIZE = 256_000_000
"""Bytes of text in a file by default."""
FOLDER, PAIRS = "data", "pairs"
"""Where the files of records lie, and those of pairs."""


class Shard(Protocol):
    """A file that is being written."""

    def add(self, record: bytes, beside: dict[str, Any], images: Mapping[str, bytes]) -> None:
        """One record more, and the images that it names."""

    def finish(self) -> None:
        """Write what is left."""


def opener(out: Output, options: Options, columns: list[Field]) -> Callable[[str], Shard]:
    """What makes a file of the format that the options ask for."""
    packing = options.format or "jsonl"
    if packing == "parquet":
        from chatsquash.dataset.parquet import ParquetFile

        return lambda name: ParquetFile(out, name, columns)
    PACKERS[packing]()  # which fails at once, not after the work is done, where a package is missing
    return lambda name: TextFile(out, name, PACKERS[packing]())


class Shards:
    """The files of one split."""

    def __init__(self, out: Output, options: Options, split: str, folder: str = FOLDER) -> None:
        self._out, self._split, self._folder = out, split, folder
        self._suffix = options.format or "jsonl"
        self._open = opener(out, options, pair_fields(options) if folder == PAIRS else fields(options))
        self._room = options.shard_size or SIZE
        self._shard: Shard | None = None
        self._size = 0
        self._rows = 0
        self._count = 0
        # No log can hold it by chance or by intent.
        self._unknown = os.urandom(16).hex()
        self.records = 0
        self.text = 0
        """Bytes of all records, with the images that stand in their files."""

    def add(self, record: bytes, beside: dict[str, Any], images: Mapping[str, bytes]) -> Place:
        """Write a record to the last file, or to a new one where that is full; where it stands.

        The number of files is not known yet: ``final`` says what stands in its place.
        """
        size = len(record) + (len(jsonio.dumps(beside)) - 1 if beside else 0) + 1  # as lines are written
        if images and self._suffix == "parquet":
            size += sum(map(len, images.values()))
        if self._shard is None or self._size + size > self._room:
            self._finish()
            self._shard, self._size = self._open(self._staging_name(self._count)), 0
            self._rows = 0
            self._count += 1
        offset = None if self._suffix == "parquet" else self._size
        self._shard.add(record, beside, images)
        self._size += size
        self._rows += 1
        self.records += 1
        self.text += size
        return Place(self._file_name(self._count - 1, self._unknown), self._rows, offset)

    def close(self) -> list[str]:
        """The files, each under the name that tells their number."""
        self._finish()
        names = [self._file_name(at, f"{self._count:05}") for at in range(self._count)]
        for at, name in enumerate(names):
            self._out.rename(self._staging_name(at), name)
        return names

    def final(self) -> tuple[str, str]:
        """What stands in places for the number of files, and that number."""
        return self._unknown, f"{self._count:05}"

    def pattern(self) -> str:
        """What the names of the files have in common, and those of no other."""
        return f"{self._folder}/{self._split}-*-of-{self._count:05}.{self._suffix}"

    def _finish(self) -> None:
        if self._shard is not None:
            self._shard.finish()
            self._shard = None

    def _file_name(self, at: int, count: str) -> str:
        return f"{self._folder}/{self._split}-{at:05}-of-{count}.{self._suffix}"

    def _staging_name(self, at: int) -> str:
        return f"{self._folder}/{self._split}-{at:05}.{self._suffix}"


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
