"""What is read of a session's log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

from chatsquash.core.model import Entry, Seen, SkippedLine
from chatsquash.formats import PLAIN
from chatsquash.reading import envelopes

if TYPE_CHECKING:
    from chatsquash.reading import documents

PLAIN_LOG = Seen(PLAIN, envelopes.PLAIN.NAME, f"{PLAIN} (choices[].message in the response)")
"""What is seen of a log whose first lines are chat with an answer, as those of most are."""


class Reading(NamedTuple):
    """A session's log while it is read."""

    seen: Seen | None
    """What its first lines told; ``None`` for an empty log."""
    items: Iterator[Entry | SkippedLine]
    """Its entries and its lines that are none, in file order, read as they are asked for."""
    document: documents.LogDocument | None = None
    """The document that it is, or is a conversation of, if that is so."""
