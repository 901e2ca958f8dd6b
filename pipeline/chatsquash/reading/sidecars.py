"""Read files next to a document with additional data, such as the call that started a sub-agent, or session events."""

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
"""The number of files next to a document in which its first message is searched."""
_NUMBER = re.compile(r"(\d{1,18})")
_LONGEST = 256 << 20
"""The maximum total size of the files in bytes."""
_HEAD = 1 << 16
"""The number of bytes in which the marker of a relevant file is searched."""


class Sidecar(NamedTuple):
    """The additional data of a document."""

    content: Json
    """The content of the file, or a list for several files; ``None`` for a file that is missing or not JSON."""
    pattern: str
    """The glob that matched."""


def read(form: str, path: object, options: Options) -> Sidecar | None:
    """Return the additional data of a document; ``path`` is the document's location if it is a string.

    Raises:
        OSError: The files are too large in total.
    """
    pattern = _pattern(form, path)
    if pattern is None:
        return None
    if not glob.has_magic(pattern.rpartition("/")[2]):
        return Sidecar(_value(_bytes(relatives.path_of(pattern), _LONGEST, options), options), pattern)
    marks = documents.get_format(form).COMPANION_MARKS
    return Sidecar(_values(pattern, relatives.absolute(str(path)), options, marks), pattern)


def first(form: str, path: str, options: Options) -> list[Json]:
    """Return the beginnings of the first files next to a document, each with at most ``_HEAD`` bytes."""
    pattern = _pattern(form, path)
    paths = relatives.paths_of(pattern.partition(EACH)[0])[:_FIRST] if pattern else []
    document = relatives.absolute(path)
    allowed = (each for each in paths if options.follow_links or not is_linked(each, document))
    return [_value(_bytes(each, _HEAD, options), options) for each in allowed]


def _pattern(form: str, path: object) -> str | None:
    """Return the globs for the files next to a document."""
    if form not in documents.names() or not isinstance(path, str) or not path or EACH in path:
        return None
    folder, _, name = relatives.absolute(path).rpartition("/")
    first, *more = (documents.get_format(form).companions(uncompressed(name)) or "").split(EACH, 1)
    below = [resolve(folder, each) for each in (first, *more) if each]
    return EACH.join(filter(None, below)) if below and all(below) else None


def resolve(folder: str, other: str) -> str | None:
    """Return a glob relative to a folder, possibly with leading ``../``; ``None`` if it leaves an archive or store."""
    while other.startswith("../"):
        if relatives.is_root(folder):
            return None
        folder, other = folder.rpartition("/")[0], other.removeprefix("../")
    return f"{glob.escape(folder)}/{other}"


def _values(pattern: str, document: str, options: Options, marks: tuple[bytes, ...]) -> list[Json]:
    """Return the content of the matching files; formats with markers skip files without one and parse lines."""
    values: list[Json] = []
    remaining, weight = _LONGEST, 0
    for path in sorted(relatives.paths_of(pattern), key=_numbers_in_order):
        if not options.follow_links and is_linked(path, document):
            continue
        if marks and (path == document or not _has_one(marks, _bytes(path, _HEAD, options))):
            continue
        data = _bytes(path, remaining, options)
        remaining, weight = remaining - len(data), weight + footprint.weigh(data)
        if remaining < 0 or weight > options.max_memory:
            raise OSError(EFBIG, footprint.refusal(options.max_memory))
        values.append(_values_of_lines(data, options) if marks or path.endswith(".jsonl") else _value(data, options))
    return values


def _has_one(marks: tuple[bytes, ...], data: bytes) -> bool:
    return any(mark in data for mark in marks)


def _numbers_in_order(path: str) -> list[tuple[int, str]]:
    """Return a sort key that orders ``a_2`` before ``a_10``."""
    return [(int(part), "") if part.isdecimal() else (0, part) for part in _NUMBER.split(path)]


def is_linked(path: str, beside: str) -> bool:
    """Return whether a file is in a linked folder that does not contain the document ``beside`` it."""
    folder, common = Path(path).parent, Path(os.path.commonpath([path, beside]))
    return any(
        each.is_symlink() for each in (folder, *folder.parents) if each.is_relative_to(common) and each != common
    )


def _bytes(path: str | None, limit: int, options: Options) -> bytes:
    """Return the first bytes of a file, with one more than ``limit`` if it is longer; empty if it cannot be read."""
    try:
        with open_file(path or "", options) as file:
            return beginnings.read(file, limit + 1)
    except OSError:
        return b""


def _values_of_lines(data: bytes, options: Options) -> Json:
    """Return the values in the lines of a file, or ``None`` if too many lines are not JSON."""
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
