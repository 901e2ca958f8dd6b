"""What is read of a session's log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from chatsquash.core.model import Entry, Seen, SkippedLine
from chatsquash.reading.documents import LogDocument


class Reading(NamedTuple):
    """A session's log while it is read."""

    seen: Seen | None
    """What it was identified as; ``None`` for an empty log."""
    items: Iterator[Entry | SkippedLine]
    """Its entries and its lines that are none, in file order, read as they are asked for."""
    document: LogDocument | None = None
    """The document that it is, or is a conversation of."""
    is_mixed: bool = False
    """Whether it has several sessions and has to be split first; it has no items then."""


MIXED = Reading(None, iter(()), is_mixed=True)
"""A file of several sessions."""
