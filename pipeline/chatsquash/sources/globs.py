"""Globs: which paths fit one, and what on the disk does."""

from __future__ import annotations

import glob
import os
from collections.abc import Iterable
from fnmatch import fnmatchcase
from operator import attrgetter
from pathlib import Path, PurePosixPath

from msgspec import Struct

from chatsquash.core.errors import UsageError

Glob = tuple[str, ...]
"""The parts of a pattern; ``**`` stands for any number of folders."""


class Root(Struct, frozen=True):
    """A file or folder that an argument names, or that fits the first parts of a glob."""

    base: Path
    """What the names of logs are relative to."""
    below: PurePosixPath
    """Where it is, below ``base``."""
    asked: tuple[str, ...] = ()
    """The suffix, lower case, if the argument spells one out, as in ``*.log``."""
    rest: Glob = ()
    """What has to fit the paths below it."""


def expand(given: str) -> list[Root]:
    """What fits a glob up to its first ``**``; links to folders above would keep ``glob`` busy forever there.

    Raises ``UsageError`` where nothing does.
    """
    parts = Path(given).parts
    fixed = next(at for at, part in enumerate(parts) if glob.has_magic(part))
    deep = parts.index("**") if "**" in parts else len(parts)
    base = Path(*parts[:fixed])
    shallow = str(PurePosixPath(*parts[fixed:deep]))
    paths = glob.glob(shallow, root_dir=base) if deep > fixed else [shallow] * base.is_dir()
    if not paths:
        raise UsageError(f"{given}: nothing matches")
    suffix = PurePosixPath(parts[-1]).suffix.lower()
    asked = (suffix,) if suffix and not glob.has_magic(suffix) else ()
    rest = (*parts[deep:], "**") if deep < len(parts) else ()
    return [Root(base, below, asked, rest) for below in sorted(map(PurePosixPath, paths), key=attrgetter("parts"))]


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether a path, or a folder that it lies in, fits a glob; one without a slash fits at any depth."""
    for pattern in patterns:
        parts = PurePosixPath(pattern).parts
        if fits(tuple(name.split("/")), (*(() if len(parts) > 1 else ("**",)), *parts, "**")):
            return True
    return False


def fits(parts: tuple[str, ...], pattern: Glob) -> bool:
    """Whether the parts of a path fit all of a pattern."""
    if not pattern:
        return not parts
    head, rest = pattern[0], pattern[1:]
    if head == "**":
        return any(fits(parts[at:], rest) for at in range(len(parts) + 1))
    return bool(parts) and fnmatchcase(parts[0], head) and fits(parts[1:], rest)


def is_folder(item: os.DirEntry[str]) -> bool:
    """Whether an entry of a folder is a folder itself, or a link to one."""
    try:
        return item.is_dir()
    except OSError:  # a link that leads to itself
        return False
