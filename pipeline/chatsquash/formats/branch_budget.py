"""A bound on what the branches of a file repeat: its conversations together have at most so many times its texts."""

from __future__ import annotations

from chatsquash.core.model import Conversation, Json
from chatsquash.formats.evidence import of, with_origin
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
    letters = _letters(objects)
    left = max(_LEAST, _MOST * letters)
    if len(conversations) * letters <= left:
        return conversations
    read = conversations[:1]
    for each in conversations:
        left -= _letters(each.messages) if left >= 0 else 0
        if left >= 0 and each is not conversations[0]:
            read.append(each)
    beyond = len(conversations) - len(read)
    if not beyond:
        return conversations
    unread = of(read[0]).unread
    counts = {**unread, BRANCH_BEYOND: unread.get(BRANCH_BEYOND, 0) + beyond}
    return [with_origin(read[0], unread=dict(sorted(counts.items()))), *read[1:]]


def _letters(value: Json) -> int:
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
