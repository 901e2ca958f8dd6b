"""Reports of a result, of which a line is read when it is asked for."""

from __future__ import annotations

from array import array
from typing import Any, BinaryIO

from chatsquash import jsonio
from chatsquash.errors import UsageError
from chatsquash.folder import Folder

FINDINGS = "reports/findings.jsonl"
_CHUNK = 1 << 20
_LONGEST = 16 << 20
"""Bytes of a line that are read; what chatsquash writes is far shorter."""


class Lines:
    """The lines of a file of reports, each read when it is asked for."""

    def __init__(self, folder: Folder, name: str) -> None:
        self._folder, self._name = folder, name
        with folder.reading(name) as file:
            self._offsets = _offsets(file)

    def __len__(self) -> int:
        return len(self._offsets) - 1

    def __getitem__(self, at: int) -> dict[str, Any]:
        """The object on a line, from 0."""
        with self._folder.reading(self._name) as file:
            file.seek(self._offsets[at])
            size = self._offsets[at + 1] - self._offsets[at]
            value = jsonio.loads(file.read(min(size, _LONGEST)))
        if not isinstance(value, dict):
            raise UsageError(f"{self._name}:{at + 1}: is no object")
        return value


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
