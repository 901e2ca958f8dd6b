"""Rows of an export in a CSV file. Cells that contain JSON remain strings."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from typing import Any

from chatsquash.core import jsonio
from chatsquash.core.text import error_text
from chatsquash.sources.arrays import LONGEST, Readable
from chatsquash.sources.unfold.rows import KINDS

NAME = "CSV of rows"
WHAT = "a CSV file whose columns are the members of another logger's lines"
SUFFIXES = (".csv",)
COPIES = True

BEGINS = rb"(?![{\[])[^\n,]*+,"


def fits(head: bytes) -> str | None:
    """Return the evidence that the first line contains the column names of a known export, or ``None``."""
    line = head.partition(b"\n")[0]
    names = {name.strip().strip('"') for name in line.decode("utf-8-sig", "replace").rstrip("\r").split(",")}
    columns = next((kind for kind in KINDS if kind <= names), None)
    return f"columns {', '.join(sorted(columns))}" if columns else None


def lines(file: Readable) -> Iterator[bytes]:
    """Yield a line for each row, without empty cells."""
    csv.field_size_limit(LONGEST)
    reader = csv.DictReader(io.TextIOWrapper(io.BufferedReader(_Raw(file)), "utf-8-sig", "replace", newline=""))
    try:
        for row in reader:
            yield jsonio.dumps(
                {name: cell for name, cell in row.items() if name is not None and cell not in (None, "")}
            )
    except csv.Error as problem:
        raise ValueError(f"is damaged on line {reader.line_num:,}: {error_text(problem)}") from None


class _Raw(io.RawIOBase):
    """A raw file that reads from a source of bytes."""

    def __init__(self, file: Readable) -> None:
        self._file = file

    def readable(self) -> bool:
        """Return true."""
        return True

    def readinto(self, into: Any) -> int:
        """Read available bytes into a buffer."""
        data = self._file.read(len(into))
        into[: len(data)] = data
        return len(data)
