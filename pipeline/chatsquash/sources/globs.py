"""Expand globs on disk and match paths against them."""

from __future__ import annotations

import os
from collections.abc import Iterable
from fnmatch import fnmatchcase
from operator import attrgetter
from pathlib import Path, PurePosixPath

from msgspec import Struct

from chatsquash.core.errors import UsageError

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
