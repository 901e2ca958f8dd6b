"""The files of one split, each filled up to a maximum size: JSON lines, plain or compressed, or Parquet."""

from __future__ import annotations

import os
import sys
import zlib
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.core.options import Options
from chatsquash.core.outcome import Place
from chatsquash.dataset.columns import Field, fields, pair_fields, with_metadata
from chatsquash.dataset.data_files import FileWriter, Shard
from chatsquash.dataset.store import Output
from chatsquash.records.media import NO_IMAGES
from chatsquash.sources.compression import KINDS

if TYPE_CHECKING:
    from chatsquash.dataset.forest_file import Origin

SIZE = 256_000_000
"""Default size of a file, in bytes of uncompressed text."""
FOLDER, PAIRS = "data", "pairs"
"""The folders of record files and of pair files."""


def opener(out: FileWriter, options: Options, columns: list[Field]) -> Callable[[str], Shard]:
    """Return a function that creates a file in the format of the options."""
    packing = options.format or "jsonl"
    if packing == "parquet":
        from chatsquash.dataset.parquet import ParquetFile

        return lambda name: ParquetFile(out, name, columns)
    PACKERS[packing]()  # fails before the conversion if a package is missing
    return lambda name: TextFile(out, name, PACKERS[packing]())


class Shards:
    """The files of one split."""

    def __init__(
        self, out: Output, options: Options, split: str, folder: str = FOLDER, origin: Origin | None = None
    ) -> None:
        self._out, self._split, self._folder = out, split, folder
        self._suffix = options.format or "jsonl"
        self._open = opener(out, options, pair_fields(options) if folder == PAIRS else fields(options))
        self._is_forest = origin is not None
        self._has_offsets = self._suffix != "parquet" and not self._is_forest
        if origin is not None:
            from chatsquash.dataset.forest_file import ForestFile  # few runs need it

            open_file = self._open
            self._open = lambda name: ForestFile(open_file(name), origin, options.flag, self._count_row)
        self._capacity = options.shard_size or SIZE
        self._shard: Shard | None = None
        self._size = 0
        self._rows = 0
        self._count = 0
        # A random placeholder for the number of files; no log can contain it.
        self._unknown = os.urandom(16).hex()
        self.records = 0
        self.rows = 0
        """The number of rows in the files: records, or the messages of a forest."""
        self.text = 0
        """Bytes of all rows, including images in the same files."""

    def add(self, record: bytes, extra: dict[str, Any], images: Mapping[str, bytes]) -> Place:
        """Write a record to the last file, or to a new one if that is full.

        Returns:
            The place of the record. Its file name contains a placeholder for the number of files, see ``final``.
        """
        size = len(record) + (len(jsonio.dumps(extra)) - 1 if extra else 0) + 1  # as JSON lines
        if images and self._suffix == "parquet":
            size += sum(map(len, images.values()))
        if self._shard is None or self._size + size > self._capacity:
            self._finish()
            self._shard, self._size = self._open(self._staging_name(self._count)), 0
            self._rows = 0
            self._count += 1
        offset = self._size if self._has_offsets else None
        self._shard.add(record, extra, images)
        self._size += size
        self._rows += 1
        self.records += 1
        if not self._is_forest:
            self._count_row(size)
        return Place(self._file_name(self._count - 1, self._unknown), self._rows, offset)

    def close(self) -> list[str]:
        """Close the last file, and rename all files to include their number; return the names."""
        self._finish()
        names = [self._file_name(at, f"{self._count:05}") for at in range(self._count)]
        for at, name in enumerate(names):
            self._out.rename(self._staging_name(at), name)
        return names

    def final(self) -> tuple[str, str]:
        """Return the placeholder for the number of files in places, and that number."""
        return self._unknown, f"{self._count:05}"

    def pattern(self) -> str:
        """Return the glob pattern that matches exactly the files of this split."""
        return f"{self._folder}/{self._split}-*-of-{self._count:05}.{self._suffix}"

    def _count_row(self, size: int) -> None:
        self.rows += 1
        self.text += size

    def _finish(self) -> None:
        if self._shard is not None:
            self._shard.finish()
            self._shard = None

    def _file_name(self, at: int, count: str) -> str:
        return f"{self._folder}/{self._split}-{at:05}-of-{count}.{self._suffix}"

    def _staging_name(self, at: int) -> str:
        return f"{self._folder}/{self._split}-{at:05}.{self._suffix}"


_GZIP = 16 + zlib.MAX_WBITS  # zlib writes gzip headers without a time, so equal data has equal bytes
_LEVEL_GZIP, _LEVEL_ZSTD = 6, 3


class Packer(Protocol):
    """Compresses a stream."""

    def compress(self, data: bytes, /) -> bytes:
        """Return the compressed data that is available so far."""

    def flush(self) -> bytes:
        """Return the rest of the compressed data."""


class _Uncompressed:
    def compress(self, data: bytes, /) -> bytes:
        return data

    def flush(self) -> bytes:
        return b""


def zstd() -> Packer:
    """Return a Zstandard compressor; raise ``UsageError`` without Python 3.14 or the package."""
    if sys.version_info >= (3, 14):
        from compression.zstd import ZstdCompressor

        packer: Packer = ZstdCompressor(level=_LEVEL_ZSTD)
        return packer
    try:
        from zstandard import ZstdCompressor
    except ImportError:
        hint = "pip install 'chatsquash[zstd]', or choose jsonl.gz"
        raise UsageError(f"jsonl.zst requires the zstandard package: {hint}") from None
    stream: Packer = ZstdCompressor(level=_LEVEL_ZSTD).compressobj()
    return stream


PACKERS: dict[str, Callable[[], Packer]] = {
    "jsonl": _Uncompressed,
    "jsonl.gz": partial(zlib.compressobj, _LEVEL_GZIP, wbits=_GZIP),
    "jsonl.zst": zstd,
}


class TextFile:
    """A file of JSON lines."""

    def __init__(self, out: FileWriter, name: str, packer: Packer) -> None:
        self._out, self._name, self._packer = out, name, packer

    def add(self, record: bytes, extra: dict[str, Any], images: Mapping[str, bytes] = NO_IMAGES) -> None:
        """Write a record as a line, with its metadata as the last members; images are separate files."""
        del images
        self._out.write(self._name, self._packer.compress(with_metadata(record, extra) + b"\n"), lines=1)

    def finish(self) -> None:
        """Write the data that the compressor has buffered."""
        self._out.write(self._name, self._packer.flush(), lines=0)


def packer_of(path: Path) -> Packer:
    """Return the compressor for a file of JSON lines, based on its suffix."""
    suffix = path.suffix.lower() if path.suffix.lower() in KINDS else ""
    if f"jsonl{suffix}" not in PACKERS:
        raise UsageError(f"{path}: files with the suffix {suffix} can be read but not written; use .gz or .zst")
    return PACKERS[f"jsonl{suffix}"]()
