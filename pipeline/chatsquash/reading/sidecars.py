"""Files that lie beside a document and tell more of it: which call began a sub-agent, or the events of a session."""

from __future__ import annotations

import glob
import os
import re
from errno import EFBIG
from pathlib import Path
from typing import NamedTuple

from chatsquash.core import footprint, jsonio
from chatsquash.core.model import Json
from chatsquash.core.options import Options
from chatsquash.core.outcome import EACH
from chatsquash.formats import documents
from chatsquash.reading import contents
from chatsquash.sources import beginnings, relatives
from chatsquash.sources.compression import uncompressed
from chatsquash.sources.open import open_file

_FIRST = 3
"""Files beside a document in which its first message is looked for."""
_NUMBER = re.compile(r"(\d{1,18})")
_LONGEST = 256 << 20
"""Bytes of all files together."""
_HEAD = 1 << 16
"""Bytes in which a mark of files is looked for."""


class Sidecar(NamedTuple):
    """What lies beside a document."""

    content: Json
    """What the file holds, or a list of what several hold; ``None`` for one that is no JSON, or not there."""
    pattern: str
    """What found it."""


def read(form: str, path: object, options: Options) -> Sidecar | None:
    """What lies beside a document of a format; ``path`` is where it lies, if that is a text.

    Raises ``OSError`` where the files are too large together.
    """
    pattern = _pattern(form, path)
    if pattern is None:
        return None
    if not glob.has_magic(pattern.rpartition("/")[2]):
        return Sidecar(_value(_bytes(relatives.path_of(pattern), _LONGEST, options), options), pattern)
    marks = documents.get_format(form).COMPANION_MARKS
    return Sidecar(_values(pattern, relatives.absolute(str(path)), options, marks), pattern)


def first(form: str, path: str, options: Options) -> list[Json]:
    """What the first files that lie beside a document hold, each at most as much as a mark is looked for in."""
    pattern = _pattern(form, path)
    paths = relatives.paths_of(pattern.partition(EACH)[0])[:_FIRST] if pattern else []
    document = relatives.absolute(path)
    allowed = (each for each in paths if options.follow_links or not is_linked(each, document))
    return [_value(_bytes(each, _HEAD, options), options) for each in allowed]


def _pattern(form: str, path: object) -> str | None:
    """The globs for what lies beside a document."""
    if form not in documents.names() or not isinstance(path, str) or not path or EACH in path:
        return None
    folder, _, name = relatives.absolute(path).rpartition("/")
    first, *more = (documents.get_format(form).companions(uncompressed(name)) or "").split(EACH, 1)
    below = [_below(folder, each) for each in (first, *more) if each]
    return EACH.join(filter(None, below)) if below and all(below) else None


def _below(folder: str, other: str) -> str | None:
    """A glob that counts from a folder, which it may leave first; ``None`` where that leaves an archive or a store."""
    while other.startswith("../"):
        if relatives.is_root(folder):
            return None
        folder, other = folder.rpartition("/")[0], other.removeprefix("../")
    return f"{glob.escape(folder)}/{other}"


def _values(pattern: str, document: str, options: Options, marks: tuple[bytes, ...]) -> list[Json]:
    """The contents of files; of those that have a mark, if a format has any, the values of their lines."""
    values: list[Json] = []
    left, weight = _LONGEST, 0
    for path in sorted(relatives.paths_of(pattern), key=_numbers_in_order):
        if not options.follow_links and is_linked(path, document):
            continue
        if marks and (path == document or not _has_one(marks, _bytes(path, _HEAD, options))):
            continue
        data = _bytes(path, left, options)
        left, weight = left - len(data), weight + footprint.weigh(data)
        if left < 0 or weight > options.max_memory:
            raise OSError(EFBIG, footprint.refusal(options.max_memory))
        values.append(_values_of_lines(data, options) if marks or path.endswith(".jsonl") else _value(data, options))
    return values


def _has_one(marks: tuple[bytes, ...], data: bytes) -> bool:
    return any(mark in data for mark in marks)


def _numbers_in_order(path: str) -> list[tuple[int, str]]:
    """What sorts ``a_2`` before ``a_10``."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in _NUMBER.split(path)]


def is_linked(path: str, beside: str) -> bool:
    """Whether a file lies in a linked folder, of those in which the document beside it does not lie, too."""
    folder, common = Path(path).parent, Path(os.path.commonpath([path, beside]))
    return any(
        each.is_symlink() for each in (folder, *folder.parents) if each.is_relative_to(common) and each != common
    )


def _bytes(path: str | None, most: int, options: Options) -> bytes:
    """The bytes of a file; nothing of one that cannot be read."""
    try:
        with open_file(path or "", options) as file:
            return beginnings.read(file, most + 1)
    except OSError:
        return b""


def _values_of_lines(data: bytes, options: Options) -> Json:
    """The values in the lines of a file; ``None`` if too many of these are no JSON."""
    if footprint.exceeds(data, options.max_memory):
        return None
    try:
        return contents.parse(data).objects
    except contents.NoDocumentError:
        return None


def _value(data: bytes, options: Options) -> Json:
    if footprint.exceeds(data, options.max_memory):
        return None
    try:
        return jsonio.loads(data)
    except (ValueError, RecursionError):
        return None
