"""Files that lie beside a document and tell more of it: which call began a sub-agent, or the events of a session."""

from __future__ import annotations

import glob
from errno import EFBIG
from pathlib import Path
from typing import NamedTuple

from chatsquash import footprint, jsonio
from chatsquash.formats import documents
from chatsquash.model import Json
from chatsquash.options import Options
from chatsquash.sources import beginnings, relatives
from chatsquash.sources.compression import uncompressed
from chatsquash.sources.open import opened

_LONGEST = 256 << 20
"""Bytes of all files together."""


class Beside(NamedTuple):
    """What lies beside a document."""

    held: Json
    """What the file holds, or a list of what several hold; ``None`` for one that is no JSON, or not there."""
    patterns: list[str]
    """The globs that found it."""


def read(form: str, path: object, options: Options) -> Beside | None:
    """What lies beside a document of a format; ``path`` is where it lies, if that is a text.

    Raises ``OSError`` where the files are too large together.
    """
    first = _pattern(form, path)
    if first is None:
        return None
    if not glob.has_magic(Path(first).name):
        return Beside(_value(_bytes(relatives.path_of(first), _LONGEST, options), options), [first])
    files = _Files(options)
    held = files.read(first)
    folder = str(path).rpartition("/")[0]
    patterns = [first, *(_below(relatives.absolute(folder), each) for each in documents.further(form, held))]
    for each in patterns[1:]:
        held += files.read(each)
    return Beside(held, patterns)


def _pattern(form: str, path: object) -> str | None:
    """A glob for what lies beside a document."""
    if form not in documents.names() or not isinstance(path, str) or not path:
        return None
    folder, _, name = relatives.absolute(path).rpartition("/")
    other = documents.beside(form, uncompressed(name))
    return _below(folder, other) if other else None


def _below(folder: str, other: str) -> str:
    """A glob that counts from a folder, which it may leave first."""
    while other.startswith("../"):
        folder, other = folder.rpartition("/")[0], other.removeprefix("../")
    return f"{glob.escape(folder)}/{other}"


class _Files:
    """Reads files, which may be so large together."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._left, self._weight = _LONGEST, 0

    def read(self, pattern: str) -> list[Json]:
        """What all files hold that fit a glob."""
        memory = self._options.max_memory
        held: list[Json] = []
        for path in relatives.paths_of(pattern):
            data = _bytes(path, self._left, self._options)
            self._left, self._weight = self._left - len(data), self._weight + len(data) * footprint.FACTOR
            if self._left < 0 or self._weight > memory:
                raise OSError(EFBIG, footprint.refusal(memory))
            held.append(_value(data, self._options))
        return held


def _bytes(path: str | None, most: int, options: Options) -> bytes:
    """The bytes of a file; nothing of one that cannot be read."""
    try:
        with opened(path or "", options) as file:
            return beginnings.read(file, most + 1)
    except OSError:
        return b""


def _value(data: bytes, options: Options) -> Json:
    if footprint.exceeds(data, options.max_memory):
        return None
    try:
        return jsonio.loads(data)
    except (ValueError, RecursionError):
        return None
