"""Files that lie beside a document and tell more of it: which call began a sub-agent, or the events of a session."""

from __future__ import annotations

import glob
from errno import EFBIG
from pathlib import Path

from chatsquash import footprint, jsonio
from chatsquash.formats import documents
from chatsquash.model import Json
from chatsquash.options import Options
from chatsquash.sources import beginnings, relatives
from chatsquash.sources.compression import uncompressed
from chatsquash.sources.open import opened

_LONGEST = 256 << 20
"""Bytes of all files together."""


def pattern(form: str, path: object) -> str | None:
    """A glob for what lies beside a document of a format; ``path`` is where it lies, if that is a text."""
    if form not in documents.names() or not isinstance(path, str) or not path:
        return None
    folder, _, name = relatives.absolute(path).rpartition("/")
    other = documents.beside(form, uncompressed(name))
    return f"{glob.escape(folder)}/{other}" if other else None


def read(beside: str, options: Options) -> Json:
    """What the file holds, or a list of what several hold; ``None`` for one that is no JSON, or not there.

    Raises ``OSError`` where they are too large together.
    """
    if not glob.has_magic(Path(beside).name):
        return _value(_bytes(relatives.path_of(beside), _LONGEST, options), options)
    held: list[Json] = []
    left, weight = _LONGEST, 0
    for path in relatives.paths_of(beside):
        data = _bytes(path, left, options)
        left, weight = left - len(data), weight + len(data) * footprint.FACTOR
        if left < 0 or weight > options.max_memory:
            raise OSError(EFBIG, footprint.refusal(options.max_memory))
        held.append(_value(data, options))
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
