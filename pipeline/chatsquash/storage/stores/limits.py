"""What an object may be."""

from __future__ import annotations

from chatsquash.core.errors import UsageError

PARTS = 10_000
"""Parts that an upload may have; Azure takes more."""
LARGEST = 5 << 40
"""Bytes of an object that all of these stores take."""
_LEAST = 8 << 20


def part_size(size: int) -> int:
    """Bytes of each part of an object of this size, so that ``PARTS`` suffice."""
    return max(_LEAST, -(-size // PARTS))


def refuse_large(shown: str, size: int) -> None:
    """Raise ``UsageError`` for a file that is larger than an object may be."""
    if size > LARGEST:
        hint = "divide the records, by --group-by or --shard-size"
        raise UsageError(f"{shown}: has {size:,} bytes, more than the {LARGEST:,} that an object may have: {hint}")
