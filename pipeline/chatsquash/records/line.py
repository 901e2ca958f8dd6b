"""A record as it is written."""

from __future__ import annotations

from typing import NamedTuple

from chatsquash.model import Found


class RecordLine(NamedTuple):
    """The JSON line of a record, or why there is none."""

    data: bytes | None
    """``None`` where the preset cannot hold the conversation."""
    findings: list[Found]
    refused: Found | None = None
    """Why it cannot hold the conversation; it is among the findings."""
    images: dict[str, bytes] = {}  # noqa: RUF012 - never changed
    """The images that the record names."""
