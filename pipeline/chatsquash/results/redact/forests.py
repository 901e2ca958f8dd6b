"""Redacts forests: each sample like the row that ``flatten`` writes for it, so that messages stay shared."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

from chatsquash.dataset.columns import FOREST
from chatsquash.dataset.data_files import Shard
from chatsquash.dataset.shards import TextFile, packer_of
from chatsquash.records.datasets import PARQUET, complete_rows
from chatsquash.records.forest import Forest, stored_samples
from chatsquash.results.redact.places import FilePlacement, Hide

RedactLine = Callable[[Path, int, bytes], bytes | None]
"""Redacts the JSON of a sample with this number in a file; returns ``None`` if it cannot be searched."""


def rewrite(placement: FilePlacement, file: BinaryIO, hide: Hide, redact: RedactLine) -> None:
    """Write the redacted samples of a forest as a forest.

    Args:
        placement: The file with the forest.
        file: The output file.
        hide: Redacts the names of sessions and logs.
        redact: Redacts a sample.
    """
    out = _open(placement.name, file)
    forest = Forest()
    places = ((f"{row.file}:{row.number}", row.data) for row in complete_rows(str(placement.source)))
    for number, sample in enumerate(stored_samples(places), start=1):
        line = redact(placement.source, number, sample.line)
        if line is not None:
            for row in forest.add(line, hide(sample.session), hide(sample.source), sample.flag):
                out.add(row, {}, {})
    out.finish()


def _open(name: str, file: BinaryIO) -> Shard:
    """Return the writer of a file's rows."""
    if name.lower().endswith(PARQUET):
        from chatsquash.dataset.parquet import ParquetFile  # imported here because few runs need it

        return ParquetFile(_ForestFile(file), name, [*FOREST])
    return TextFile(_ForestFile(file), name, packer_of(Path(name)))


class _ForestFile:
    """Writes to an open file."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def write(self, name: str, data: bytes | bytearray, lines: int | None = None) -> None:
        """Append data."""
        del name, lines
        self._file.write(data)
