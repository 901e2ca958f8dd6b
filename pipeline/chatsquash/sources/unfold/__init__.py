"""Exports that hold exchanges and are no lines: a module each, which makes lines of what stands in a file.

Such a module need not be named anywhere else.  What it makes is read as any log is.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from chatsquash.core.registry import Room
from chatsquash.sources.arrays import Readable
from chatsquash.sources.compression import uncompressed

HEAD = 1 << 16
"""Bytes by which a file is recognised."""


@dataclass(frozen=True, eq=False, slots=True, kw_only=True)
class Unfolding:
    """What a module of this folder declares."""

    NAME: str
    WHAT: str
    """What a file looks like, in words."""
    SUFFIXES: tuple[str, ...]
    """Those of its files, which are read in folders where they are recognised."""
    COPIES: bool
    """Whether lines that cannot be read may be kept: not where headers, cookies and keys may be in a file."""
    fits: Callable[[bytes], str | None]
    """Return the evidence that a file which begins so is one, in words; never of lines of a log."""
    lines: Callable[[Readable], Iterator[bytes]]
    """Return the lines of a file that is read from its beginning, without line feeds.

    Raises ``ValueError`` for a file that is damaged or ends early; the lines before that count.
    """


_ROOM: Room[Unfolding] = Room(Unfolding, sys.modules[__name__])
named = _ROOM.get


def unfoldings() -> list[Unfolding]:
    """All of them, by the names of their modules."""
    return list(_ROOM.all().values())


def recognise(head: bytes) -> Unfolding | None:
    """What makes lines of a file that begins so; ``None`` for any other."""
    return next((each for each in unfoldings() if each.fits(head)), None)


_CAPTURED = re.compile(rb'"(?:startedDateTime|queryString|httpVersion|redirectURL)"|(?:client|server)_conn\b')
"""What stands in captures of HTTP and in no log."""
_AROUND = (b'"log"', b'"creator"', b'"entries"', b'"pages"', b'"browser"')


def may_be_capture(name: str, head: bytes) -> bool:
    """Whether a file of a name may be a capture of HTTP, or a part of one, though it is not recognised as one."""
    suffixes = tuple(suffix for each in unfoldings() if not each.COPIES for suffix in each.SUFFIXES)
    if uncompressed(name).lower().endswith(suffixes):
        return True
    return _CAPTURED.search(head) is not None or sum(name in head for name in _AROUND) > 1
