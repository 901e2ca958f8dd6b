"""The files of one split: each is filled up to a size of text, and named when their number is known."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from chatsquash.core import jsonio
from chatsquash.core.options import Options
from chatsquash.core.outcome import Place
from chatsquash.dataset.arrow import Field
from chatsquash.dataset.columns import fields, pair_fields
from chatsquash.dataset.jsonl import PACKERS, TextFile
from chatsquash.dataset.store import Output

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
