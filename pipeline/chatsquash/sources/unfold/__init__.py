"""Exports that hold exchanges and are no lines: a module each, which makes lines of what stands in a file.

Such a module need not be named anywhere else.  What it makes is read as any log is.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Protocol

from chatsquash.registry import Room
from chatsquash.sources.arrays import Readable

HEAD = 1 << 16
"""Bytes by which a file is recognised."""


class Unfolding(Protocol):
    """The names of a module."""

    NAME: str
    WHAT: str
    """What a file looks like, in words."""
    SUFFIXES: tuple[str, ...]
    """Those of its files, which are read in folders where they are recognised."""
    COPIES: bool
    """Whether lines that cannot be read may be kept: not where headers, cookies and keys may stand in a file."""

    def fits(self, head: bytes) -> str | None:
        """The evidence that a file which begins so is one, in words; never of lines of a log."""

    def lines(self, file: Readable) -> Iterator[bytes]:
        """The lines of a file that is read from its beginning, without line feeds.

        Raises ``ValueError`` for a file that is damaged or ends early: what was given before counts.
        """


_ROOM: Room[Unfolding] = Room(sys.modules[__name__])
named = _ROOM.named


def unfoldings() -> list[Unfolding]:
    """All of them, by the names of their modules."""
    return list(_ROOM.all().values())


def recognise(head: bytes) -> Unfolding | None:
    """What makes lines of a file that begins so; ``None`` for any other."""
    return next((each for each in unfoldings() if each.fits(head)), None)
