"""A limit on branches: how often the conversations of a file may repeat its text."""

from __future__ import annotations

from chatsquash.core.model import Conversation, Json, Message
from chatsquash.formats.evidence import origin_of, with_origin
from chatsquash.formats.threads import BRANCH_BEYOND

_MOST = 20
"""The maximum number of characters in all conversations, as a multiple of the characters in the file."""
_LEAST = 10_000_000
"""The number of characters that is allowed for any file."""


def without_repeats(conversations: list[Conversation], objects: list[Json]) -> list[Conversation]:
    """Drop and count the branches beyond the limit; the first conversation is always kept."""
    if len(conversations) <= _MOST:
        return conversations  # no conversation is longer than its file, so there is no need to measure
    # Conversations share messages, so each message is only counted once.
    counts: dict[int, int] = {}
    sizes = [_count_messages(each.messages, counts) for each in conversations]
    if sum(sizes) <= _LEAST:
        return conversations
    characters = _count_characters(objects)
    # Small files may repeat their text more often, because the total stays small.
    remaining = max(_LEAST, _MOST * characters)
    if len(conversations) * characters <= remaining:
        return conversations  # encoded arguments may have more characters than the values in the file
    selected = conversations[:1]
    for each, size in zip(conversations, sizes, strict=True):
        remaining -= size
        if remaining >= 0 and each is not conversations[0]:
            selected.append(each)
    beyond = len(conversations) - len(selected)
    if not beyond:
        return conversations
    unread = origin_of(selected[0]).unread
    unread = {**unread, BRANCH_BEYOND: unread.get(BRANCH_BEYOND, 0) + beyond}
    return [with_origin(selected[0], unread=dict(sorted(unread.items()))), *selected[1:]]


def _count_messages(messages: list[Message], counts: dict[int, int]) -> int:
    """Count the characters of messages; ``counts`` caches those of each message by its ``id()``."""
    for each in messages:
        if id(each) not in counts:
            counts[id(each)] = _count_characters(each)
    return sum([counts[id(each)] for each in messages])


def _count_characters(value: Json) -> int:
    """Count the characters of all strings in a value, except object keys."""
    size, values = 0, [value]
    for each in values:  # the list grows during the loop; recursion would fail on deeply nested values
        if type(each) is str:
            size += len(each)
        elif type(each) is list:
            values += each
        elif type(each) is dict:
            values += each.values()
    return size
