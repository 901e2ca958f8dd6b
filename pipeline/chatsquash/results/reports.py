"""Reports of an output folder: all lines in turn, or each when it is asked for; no link is followed."""

from __future__ import annotations

import csv
from array import array
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from chatsquash.core import jsonio
from chatsquash.core.errors import UsageError
from chatsquash.storage.folder import Folder

_AGAIN = "chatsquash verify says what changed; convert again"
_CHUNK = 1 << 20
LONGEST = 256 << 20
"""Bytes of a line that are read; a name of a log is no longer than what a run reads of a line."""


def damaged(folder: Folder, name: str) -> UsageError:
    """The error for a file that cannot be read as what it is."""
    return UsageError(f"{folder.path / name}: is not as chatsquash wrote it: {_AGAIN}")


def lines(folder: Folder, name: str, *members: str) -> Iterator[dict[str, Any]]:
    """The objects of a report, which have these members; raises ``UsageError`` for what is none."""
    for line in _lines(folder, name):
        told = _loaded(folder, name, line)
        if not set(members) <= told.keys():
            raise damaged(folder, name)
        yield told


def rows(folder: Folder, name: str, *columns: str) -> Iterator[dict[str, str]]:
    """The rows of a table, which has these columns; raises ``UsageError`` for what is none."""
    csv.field_size_limit(LONGEST)  # the tools of a log may have any names
    try:
        for row in csv.DictReader(map(bytes.decode, _lines(folder, name))):
            if not set(columns) <= row.keys() or None in row.values():
                raise damaged(folder, name)
            yield row
    except (ValueError, csv.Error):
        raise damaged(folder, name) from None


def _lines(folder: Folder, name: str) -> Iterator[bytes]:
    """The lines of a file; one that is longer than any is an error."""
    with _opened(folder, name) as file:
        while line := file.readline(LONGEST + 1):
            if len(line) > LONGEST:
                raise damaged(folder, name)
            yield line


class Lines:
    """The lines of a report, each read when it is asked for; raises as ``lines``."""

    def __init__(self, folder: Folder, name: str) -> None:
        self._folder, self._name = folder, name
        with _opened(folder, name) as file:
            self._offsets = _offsets(file)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, at: int) -> dict[str, Any]:
        """The object on a line, from 0."""
        with _opened(self._folder, self._name) as file:
            file.seek(self._offsets[at])
            size = self._offsets[at + 1] - self._offsets[at]
            return _loaded(self._folder, self._name, file.read(min(size, LONGEST)))


@contextmanager
def _opened(folder: Folder, name: str) -> Iterator[BinaryIO]:
    try:
        with folder.reading(name) as file:
            yield file
    except OSError as problem:
        raise UsageError(f"{folder.path / name}: cannot be read ({problem.strerror}): {_AGAIN}") from None


def _loaded(folder: Folder, name: str, line: bytes) -> dict[str, Any]:
    try:
        told = jsonio.loads(line)
    except (ValueError, RecursionError):
        raise damaged(folder, name) from None
    if not isinstance(told, dict):
        raise damaged(folder, name)
    return told


def _offsets(file: BinaryIO) -> array[int]:
    """Where each line begins, and where the last one ends."""
    found = array("Q", [0])
    at = 0
    while chunk := file.read(_CHUNK):
        place = -1
        while (place := chunk.find(b"\n", place + 1)) >= 0:
            found.append(at + place + 1)
        at += len(chunk)
    if found[-1] != at:
        found.append(at)
    return found
