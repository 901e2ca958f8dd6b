"""Exports of exchanges that are not line-based, with one module each; each module converts a file to lines.

Modules in this folder are discovered automatically. Their lines are read like those of any log.
"""

from __future__ import annotations

import re
import sys
from ast import literal_eval
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

from msgspec import Struct

from chatsquash.core.lazy import lazy_compile
from chatsquash.core.registry import Room, declaration, items
from chatsquash.sources.compression import uncompressed

if TYPE_CHECKING:
    from chatsquash.sources.arrays import Readable

HEAD = 1 << 16
"""The number of bytes needed to detect an export."""


class Unfolding(Struct, frozen=True, eq=False, kw_only=True):
    """The declarations of a module in this folder."""

    NAME: str
    WHAT: str
    """A description of the content of a file."""
    SUFFIXES: tuple[str, ...]
    """The suffixes of its files, which are read in folders if the format is detected."""
    COPIES: bool
    """Whether unreadable lines may be kept; false if files may contain headers, cookies and keys."""
    BEGINS: bytes
    """A pattern that all files begin with, as a literal; without it, ``fits`` is not called."""
    fits: Callable[[bytes], str | None]
    """Returns the evidence that a file is an export in this format, or ``None``; must never match log lines."""
    lines: Callable[[Readable], Iterator[bytes]]
    """Converts a file, read from its beginning, to lines without line feeds.

    Raises:
        ValueError: The file is damaged or truncated. Lines yielded before that are valid.
    """


_ROOM: Room[Unfolding] = Room(Unfolding, sys.modules[__name__])


def unfoldings() -> list[Unfolding]:
    """Return all export formats by module name."""
    return list(_ROOM.all().values())


def recognise(head: bytes) -> Unfolding | None:
    """Return the export format of a file based on its beginning, or ``None`` for any other file."""
    begins, patterns = _beginnings(tuple(__path__))
    if not begins(head):
        return None  # nearly all files
    for pattern, name in patterns:
        if re.match(pattern, head) and (unfolding := _ROOM.get(name)).fits(head):
            return unfolding
    return None


@cache
def _beginnings(folders: tuple[str, ...]) -> tuple[Callable[[bytes], object], list[tuple[bytes, str]]]:
    """Return a function that matches any ``BEGINS``, and each pattern with the name of its module, in order."""
    del folders  # a folder with more modules may be added
    declarations = [(declaration(item, "BEGINS"), item.name) for item in sorted(items(__path__))]
    assert all(pattern for pattern, _ in declarations), "a module declares no BEGINS"
    patterns = [(literal_eval(pattern), name) for pattern, name in declarations]
    return re.compile(b"|".join(b"(?:%b)" % pattern for pattern, _ in patterns)).match, patterns


_CAPTURED = lazy_compile(rb'"(?:startedDateTime|queryString|httpVersion|redirectURL)"|(?:client|server)_conn\b')
"""Keys in HTTP captures that never occur in logs."""
_AROUND = (b'"log"', b'"creator"', b'"entries"', b'"pages"', b'"browser"')


def may_be_capture(name: str, head: bytes) -> bool:
    """Return whether an unrecognized file may be an HTTP capture or part of one."""
    suffixes = tuple(suffix for each in unfoldings() if not each.COPIES for suffix in each.SUFFIXES)
    if uncompressed(name).lower().endswith(suffixes):
        return True
    return _CAPTURED.search(head) is not None or sum(name in head for name in _AROUND) > 1
