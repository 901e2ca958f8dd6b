"""A record as it is written, and as it is read back."""

from __future__ import annotations

from hashlib import sha256
from typing import Any, NamedTuple

from chatsquash.core.model import Json, Mark, Violation


class RecordLine(NamedTuple):
    """The JSON line of a record, or why there is none."""

    data: bytes | None
    """``None`` where the preset cannot hold the conversation."""
    findings: list[Violation]
    refusal: Violation | None = None
    """Why it cannot hold the conversation; it is among the findings."""
    images: dict[str, bytes] = {}  # noqa: RUF012 - never changed
    """The images that the record names."""
    marks: list[Mark] = []  # noqa: RUF012
    """Those of its assistant messages, as far as they were asked for."""
    unflagged: bytes = b""
    """A digest of it without flags, if it has some."""


def digest(data: bytes) -> bytes:
    """What equal records have alike."""
    return sha256(data).digest()[:16]


class NotARecordError(ValueError):
    """The text says why."""


class StoredRecord(NamedTuple):
    """A record with the members that templates and checks know."""

    messages: list[Any]
    tools: Json
    """As they stand, wrapped or not; ``None`` where there are none."""
    places: list[int] | None = None
    """Of each message its index in the file, where that is another."""

    def place(self, at: int | None) -> int | None:
        """Where a message stands in the file."""
        return at if self.places is None or at is None else self.places[at]
