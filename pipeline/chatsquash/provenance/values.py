"""The origins of a record's messages: the bytes of its log and the changes that lead to each text."""

# No ``from __future__ import annotations``: msgspec needs the types at run time.
from typing import Literal, NamedTuple

import msgspec
from msgspec import Struct

Proof = Literal["complete", "partial", "none"]
"""Whether all of a message's text, some of it or none of it can be replayed from the logs."""


class StoredFile(NamedTuple):
    """A file that a session was read from, as it is stored; for a member of an archive, the member."""

    size: int
    sha256: str
    """Empty if the file could not be read again."""


class SourceReply(NamedTuple):
    """A logged reply that a record is trained on."""

    file: int
    """The index of its file among those of the session."""
    line: int
    model: str = ""
    time: str = ""
    """In ISO 8601, in UTC."""
    model_at: tuple[int, ...] = ()
    """The range of bytes of the file, after decompression, that spells the model; empty if there is none."""
    time_at: tuple[int, ...] = ()
    """The range of bytes in or near its line that spells the time; empty if there is none."""


class MessageOrigin(Struct, frozen=True, array_like=True):
    """The origin of a message of a record."""

    place: str
    """Its JSON pointer in the record."""
    role: str
    trained: bool
    proof: Proof
    reason: str = ""
    """Why the proof is not complete, as a code."""
    file: int | None = None
    """The index of its file among those of the session."""
    line: int | None = None
    """The 1-based line on which it begins."""
    offset: int | None = None
    """The byte offset of that line after decompression."""
    start: int | None = None
    stop: int | None = None
    """The range of bytes, after decompression, of the strings that it was made from."""
    changes: list[str] = []
    """The rules and options that changed its texts."""
    texts: str = "[]"
    """Its texts as JSON: the JSON pointer of each in the message, and its parts."""
    reply: SourceReply | None = None


_encode = msgspec.msgpack.Encoder().encode
_files, _origins = msgspec.msgpack.Decoder(list[StoredFile]), msgspec.msgpack.Decoder(list[MessageOrigin])


def pack(values: list[StoredFile] | list[MessageOrigin]) -> bytes:
    """Return values as bytes; as such, they are part of an outcome without an import in runs that do not need them."""
    return _encode(values)


def unpack_files(data: bytes) -> list[StoredFile]:
    """Return the files of a session from ``pack``."""
    return _files.decode(data) if data else []


def unpack_origins(data: bytes) -> list[MessageOrigin]:
    """Return the origins of messages from ``pack``."""
    return _origins.decode(data) if data else []
