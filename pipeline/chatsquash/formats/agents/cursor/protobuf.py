"""What a message of protobuf refers to: the field that repeats, and how often others stand there."""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

_REFERENCE = 32
"""Bytes of a reference, a hash of what it refers to."""
_LONGEST = 10
"""Bytes of a number, at most."""
_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5


class Root(NamedTuple):
    """What stands at the root of a session."""

    references: list[bytes]
    """The hashes in its first field, in order."""
    others: dict[int, int]
    """The numbers of its other fields, with how often each is there."""


def root(data: bytes) -> Root | None:
    """The references in a message; ``None`` for what is none."""
    references, others, at = list[bytes](), Counter[int](), 0
    while at < len(data):
        key, at = _number(data, at)
        kind, number = key & 7, key >> 3
        if key < 0 or not number:
            return None
        if kind == _BYTES:
            length, at = _number(data, at)
            if length < 0 or at + length > len(data):
                return None
            if number == 1 and length == _REFERENCE:
                references.append(data[at : at + length])
            else:
                others[number] += 1
            at += length
            continue
        others[number] += 1
        at = _past(data, at, kind)
        if not 0 < at <= len(data):
            return None
    return Root(references, dict(sorted(others.items())))


def _past(data: bytes, at: int, kind: int) -> int:
    """The place behind a value of a fixed length or a number; -1 for what is neither."""
    if kind == _VARINT:
        value, at = _number(data, at)
        return at if value >= 0 else -1
    return at + 8 if kind == _FIXED64 else at + 4 if kind == _FIXED32 else -1


def _number(data: bytes, at: int) -> tuple[int, int]:
    """A number of a variable length, and the place behind it; -1 where it does not end."""
    value = 0
    for shift, byte in enumerate(data[at : at + _LONGEST]):
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:
            return value, at + shift + 1
    return -1, at
