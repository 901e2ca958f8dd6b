"""The types of files of records, and their writers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol


class FileWriter(Protocol):
    """Writes files by name."""

    def write(self, name: str, data: bytes | bytearray, lines: int | None = None) -> None:
        """Append to a file, whose lines are counted."""


class Shard(Protocol):
    """A file that is being written."""

    def add(self, record: bytes, extra: dict[str, Any], images: Mapping[str, bytes]) -> None:
        """Add a record with its metadata and images."""

    def finish(self) -> None:
        """Write the remaining data."""
