"""A bound on what the branches of a file repeat: its conversations together have at most so many times its texts."""

from __future__ import annotations

from chatsquash.core.model import Conversation, Json
from chatsquash.formats.evidence import origin_of, with_origin
from chatsquash.formats.threads import BRANCH_BEYOND

_MOST = 20
"""How many times the letters of a file its conversations may have together, at least ``_LEAST`` in all."""
_LEAST = 10_000_000


def without_repeats(conversations: list[Conversation], objects: list[Json]) -> list[Conversation]:
    """Drop the branches beyond the bound, and count them; the first conversation is always part of the result.

    No conversation is longer than its file, so a file with few of them is not measured.
    """
    if len(conversations) <= _MOST:
        return conversations
    characters = _count_characters(objects)
    remaining = max(_LEAST, _MOST * characters)
    if len(conversations) * characters <= remaining:
        return conversations
    selected = conversations[:1]
    for each in conversations:
        remaining -= _count_characters(each.messages) if remaining >= 0 else 0
        if remaining >= 0 and each is not conversations[0]:
            selected.append(each)
    beyond = len(conversations) - len(selected)
    if not beyond:
        return conversations
    unread = origin_of(selected[0]).unread
    counts = {**unread, BRANCH_BEYOND: unread.get(BRANCH_BEYOND, 0) + beyond}
    return [with_origin(selected[0], unread=dict(sorted(counts.items()))), *selected[1:]]


def _count_characters(value: Json) -> int:
    """Count the letters of all texts in a value."""
    size, values = 0, [value]
    for each in values:
        if type(each) is str:
            size += len(each)
        elif type(each) is list:
            values += each
        elif type(each) is dict:
            values += each.values()
    return size
