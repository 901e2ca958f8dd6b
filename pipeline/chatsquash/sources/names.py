"""The names of logs: the suffixes that are read inside folders, archives, dates and globs.

A file given as an argument is read whatever its suffix.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable
from datetime import date
from fnmatch import fnmatchcase
from functools import lru_cache
from operator import attrgetter
from pathlib import Path, PurePosixPath

from msgspec import Struct

from chatsquash.core.errors import UsageError
from chatsquash.core.lazy import lazy_compile
from chatsquash.sources.compression import KINDS, uncompressed

LOGS = (".jsonl", ".ndjson")
"""The suffixes of logs, which are always read."""
DOCUMENTS = (
    *(".json", ".db", ".vscdb", ".har", ".zhar", ".flow", ".flows", ".mitm", ".dump"),
    *(".traj", ".eval", ".log", ".csv", ".parquet"),
)
"""The suffixes of files that are read only if their format is detected."""
NAMES = (".aider.chat.history.md",)
"""The names of files that are read if their format is detected, whatever their suffix."""
_PARTS = lazy_compile(r"wire\.jsonl|context_\d+\.jsonl")
ARCHIVES = (".zip", ".tar", ".tgz")
"""The suffixes of archives; a ``.tar`` may be compressed."""


def is_archive(name: str) -> bool:
    """Return whether a file is an archive, based on its name."""
    last = uncompressed(name).lower() if name.lower().endswith(_COMPRESSED) else name.lower()
    return last.endswith(ARCHIVES if last == name.lower() else ".tar")


def may_be_document(name: str) -> bool:
    """Return whether a file, given without compression suffix, may be a document, which is read if recognized."""
    last = name.rpartition("/")[2].lower()
    return last.endswith(DOCUMENTS) or last in NAMES


def may_be_part(name: str) -> bool:
    """Return whether a log, given without compression suffix, may be part of another file in its folder."""
    return _PARTS.fullmatch(name.rpartition("/")[2]) is not None


_COMPRESSED = tuple(f".tar{suffix}" for suffix in KINDS)


MARK = "!/"
"""The separator between the path of an archive and the name of a member."""
_MEMBER = lazy_compile(r"(.+?\.(?:zip|tgz|tar(?:\.(?:gz|xz|bz2|zst))?))!/(.+)", re.IGNORECASE | re.DOTALL)


ARCHIVE_SCHEME = "archive:"
"""The beginning of the path of an archive that ``chatsquash archive`` wrote."""


def container(path: str) -> tuple[str, str] | None:
    """Split the path of an archive member into archive and member name; return ``None`` for a regular path."""
    if path.startswith(ARCHIVE_SCHEME):
        archive, _, member = path.partition(MARK)
        return (archive, member) if member else None
    match = _MEMBER.fullmatch(path) if MARK in path else None
    return (match[1], match[2]) if match else None


def is_day(text: str) -> bool:
    """Return whether a string is a date in the form ``YYYY-MM-DD``."""
    try:
        return len(text) == 10 and date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def path_day(name: str) -> str | None:
    """Return the last part of a path that is a date (``YYYY-MM-DD``), ignoring the file suffix."""
    folders, _, last = name.rpartition("/")
    stem = last.partition(".")[0]
    return stem if is_day(stem) else _folders_day(folders)


@lru_cache(maxsize=64)  # consecutive logs are in the same folder
def _folders_day(folders: str) -> str | None:
    return next((part for part in reversed(folders.split("/")) if is_day(part)), None)


def is_between(day: str, since: str | None, until: str | None) -> bool:
    """Return whether a day is in the requested range, which may be open-ended."""
    return (since or day) <= day <= (until or day)


def check_dates(since: str | None, until: str | None) -> None:
    """Raise ``UsageError`` for an invalid date or an empty range."""
    for value, name in ((since, "--since"), (until, "--until")):
        if value is not None and not is_day(value):
            raise UsageError(f"{name} {value}: not a date; write YYYY-MM-DD")
    if since and until and since > until:
        raise UsageError(f"--since {since} is after --until {until}, so no session can match")


def suffix_of(name: str) -> str:
    """Return the suffix of a file in lower case, like ``PurePath.suffix``."""
    last = name.rpartition("/")[2]
    dot = last.rfind(".")
    return last[dot:].lower() if 0 < dot < len(last) - 1 else ""


def url_suffix(url: str) -> tuple[str, ...]:
    """Return the suffix that is literally in a URL or its glob."""
    suffix = suffix_of(re.split(r"[?#]", url, maxsplit=1)[0] if url.startswith("http") else url)
    return (suffix,) if suffix and not has_magic(suffix) else ()


# Globs

Glob = tuple[str, ...]
"""The parts of a pattern; ``**`` matches any number of folders."""
_MAGIC = frozenset("*?[")


class Root(Struct, frozen=True):
    """A file or folder given as an argument, or matched by the first parts of a glob."""

    base: Path
    """The folder to which log names are relative."""
    below: PurePosixPath
    """The path relative to ``base``."""
    suffixes: tuple[str, ...] = ()
    """The lower-case suffix that is literally in the argument, as in ``*.log``."""
    rest: Glob = ()
    """The pattern for the paths below."""


def expand(pattern: str) -> list[Root]:
    """Expand a glob up to its first ``**``; the rest is matched during the search.

    Raises:
        UsageError: Nothing matches.
    """
    from glob import glob  # most arguments are paths

    parts = Path(pattern).parts
    first_magic = next(at for at, part in enumerate(parts) if has_magic(part))
    # At "**", glob itself would follow links to parent folders endlessly.
    first_recursive = parts.index("**") if "**" in parts else len(parts)
    base = Path(*parts[:first_magic])
    fixed_depth = str(PurePosixPath(*parts[first_magic:first_recursive]))
    paths = glob(fixed_depth, root_dir=base) if first_recursive > first_magic else [fixed_depth] * base.is_dir()
    if not paths:
        raise UsageError(f"{pattern}: no match")
    suffix = PurePosixPath(parts[-1]).suffix.lower()
    suffixes = (suffix,) if suffix and not has_magic(suffix) else ()
    rest = (*parts[first_recursive:], "**") if first_recursive < len(parts) else ()
    return [Root(base, below, suffixes, rest) for below in sorted(map(PurePosixPath, paths), key=attrgetter("parts"))]


def has_magic(path: str) -> bool:
    """Return whether a path contains the special characters of globs."""
    return not _MAGIC.isdisjoint(path)


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Return whether a path or one of its folders matches a glob; a glob without a slash matches at any depth."""
    for pattern in patterns:
        parts = PurePosixPath(pattern).parts
        if fits(tuple(name.split("/")), (*(() if len(parts) > 1 else ("**",)), *parts, "**")):
            return True
    return False


def fits(parts: tuple[str, ...], pattern: Glob) -> bool:
    """Return whether the parts of a path match an entire pattern."""
    if not pattern:
        return not parts
    head, rest = pattern[0], pattern[1:]
    if head == "**":
        return any(fits(parts[at:], rest) for at in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], head) and fits(parts[1:], rest)


def is_folder(item: os.DirEntry[str]) -> bool:
    """Return whether a directory entry is a folder or a link to one."""
    try:
        return item.is_dir()
    except OSError:  # a link to itself
        return False
