"""Records in the shapes of trainers: writing them from conversations, and reading them from datasets.

The types below are those of a record as written and as read. Each shape is a module in ``presets``. Which
conversations become records is decided in ``chatsquash.session``.
"""

from __future__ import annotations

from hashlib import sha256
from typing import Any

from msgspec import Struct

from chatsquash.core.model import Json, Mark, Violation

IDS_MEMBER = "input_ids"
"""The member of a row of token ids, which has no messages."""
TOKEN_MEMBERS = (IDS_MEMBER, "labels", "completion_mask", "logprobs")
"""The members of such a row."""


class RecordLine(Struct, frozen=True):
    """The JSON line of a record, or the reason for its absence."""

    data: bytes | None
    """The line; ``None`` if the preset cannot represent the conversation."""
    findings: list[Violation]
    refusal: Violation | None = None
    """The reason why the preset cannot represent it; also among the findings."""
    images: dict[str, bytes] = {}
    """The images of the record, by name."""
    marks: list[Mark] = []
    """The marks of its assistant messages, if requested."""
    unflagged: bytes = b""
    """The digest of the record without flags; empty for a record without flags."""
    value: dict[str, Any] | None = None
    """The value of the line, if it is known; its numbers may be ``Rounded``, and it must not be changed."""


def digest(data: bytes) -> bytes:
    """Return the digest used to recognize equal records."""
    return sha256(data).digest()[:16]


class NotARecordError(ValueError):
    """A value is not a record; the message is the reason."""


class StoredRecord(Struct, frozen=True):
    """The members of a record that templates and checks use."""

    messages: list[Any]
    tools: Json
    """The stored definitions, wrapped or flat; ``None`` if there are none."""
    places: list[int] | None = None
    """The stored index of each message, if the messages were converted."""

    def place(self, at: int | None) -> int | None:
        """Return the index of a message in the stored record."""
        return at if self.places is None or at is None else self.places[at]
