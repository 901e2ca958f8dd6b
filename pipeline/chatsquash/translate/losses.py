"""What a format cannot hold of a conversation is found by writing it and reading it back."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterator
from itertools import zip_longest
from typing import Any

from chatsquash import chat, jsonio
from chatsquash.chat import PRIVATE, Private
from chatsquash.model import Conversation, Message

_INDEX = re.compile(r"\[(\+?)\d+\]")
_SPELLED = (chat.BREAKS, "from", "content_list", "reasoning_key", "synthetic_id")

_Counterparts = tuple[int | None, int | None]
"""The places of a message before and after; ``None`` where it is not."""


def differences(before: Conversation, after: Conversation) -> list[str]:
    """The paths at which a conversation lost or changed something, in order: ``messages[2].tool_calls[0].id``.

    Messages are compared with those that they became, so that one that is gone is one path; one that is new in front
    of ``messages[3]`` is ``messages[+3]``.  What a format only adds to a message is no difference where it says nothing
    new: private members, and the name of a result that its call tells.
    """
    place = [] if before.branch == after.branch else ["branch"]
    messages = _aligned(_plain(before.messages), _plain(after.messages))
    return [*place, *messages, *_differences("tools", before.tools, after.tools)]


def kind(path: str) -> str:
    """A path without its indices, by which losses are counted."""
    return _INDEX.sub(r"[\1]", path)


def _plain(messages: list[Message]) -> list[Any]:
    """The messages without names of results that their calls tell."""
    calls = [call for message in messages for call in chat.calls(message)]
    told = {(call["id"], chat.call_name(call)) for call in calls if isinstance(call.get("id"), str)}
    return [_nameless(message, told) if message.get("role") == "tool" else message for message in messages]


def _nameless(message: Message, calls: set[tuple[str, str | None]]) -> Any:
    """A result without its name, where that is the one of its call."""
    known = message.get("tool_call_id"), message.get("name")
    is_told = all(isinstance(each, str) for each in known) and known in calls
    return {key: value for key, value in message.items() if key != "name"} if is_told else message


# Which message became which


def _aligned(before: list[Any], after: list[Any]) -> Iterator[str]:
    """The differences of messages, each beside the one that it is: one equal, else one alike, else one in its place."""
    here = 0
    same = list(map(_speaker, before)) == list(map(_speaker, after))
    for left, right in _matched(before, after, () if same else (_whole, _links, _speaker)):
        if left is None:
            yield f"messages[+{here}]"
            continue
        here = left + 1
        if right is None:
            yield f"messages[{left}]"
        else:
            yield from _differences(f"messages[{left}]", before[left], after[right])


def _matched(before: list[Any], after: list[Any], keys: tuple[Callable[[Any], Hashable], ...]) -> list[_Counterparts]:
    """The pairs of two runs; what one key leaves is matched by the next."""
    if not (keys and before and after):
        return list(zip_longest(range(len(before)), range(len(after))))
    key, *others = keys
    found: list[_Counterparts] = []
    i = j = 0
    for left, right in [*_met(list(map(key, before)), list(map(key, after))), (len(before), len(after))]:
        inner = _matched(before[i:left], after[j:right], tuple(others))
        found += [(None if a is None else i + a, None if b is None else j + b) for a, b in inner]
        found += [(left, right)] if left < len(before) else []
        i, j = left + 1, right + 1
    return found


def _met(left: list[Hashable], right: list[Hashable]) -> Iterator[tuple[int, int]]:
    """The places where two runs say the same, in order; the next is the one that passes over the least of both."""
    places: dict[Hashable, list[int]] = {}
    for place, value in enumerate(right):
        places.setdefault(value, []).append(place)
    i = j = 0
    while (found := _nearest(left, places, i, j)) is not None:
        yield found
        i, j = found[0] + 1, found[1] + 1


def _nearest(left: list[Hashable], places: dict[Hashable, list[int]], i: int, j: int) -> tuple[int, int] | None:
    """The next of them from ``i`` and ``j`` on; what is looked at is passed over, so repetitions cost nothing."""
    found: tuple[int, int] | None = None
    for at in range(i, len(left)):
        if found and at - i >= found[0] - i + found[1] - j:
            break
        same = places.get(left[at], [])
        next_one = bisect_left(same, j)
        if next_one < len(same) and (not found or at + same[next_one] < sum(found)):
            found = at, same[next_one]
    return found


def _whole(message: Any) -> Hashable:
    """All that a message shows."""
    return jsonio.dumps({key: value for key, value in sorted(message.items()) if key != PRIVATE and value is not None})


def _links(message: Any) -> Hashable:
    """What a message is in a conversation: who speaks, which calls it makes, which one it answers."""
    made = [call.get("id") for call in chat.calls(message)]
    return _speaker(message), jsonio.dumps([message.get("tool_call_id"), *made])


def _speaker(message: Any) -> Hashable:
    """Who speaks; developers say what the system says."""
    return "system" if message.get("role") == "developer" else jsonio.dumps(message.get("role"))


# What became of it


def _differences(path: str, before: Any, after: Any) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        added = () if isinstance(before, Private) else after.keys() - before.keys() - {PRIVATE}
        for key in [*before, *sorted(added)]:
            if key == PRIVATE:
                yield from _differences(f"{path}.{key}", _meaning(before), _meaning(after))
            else:
                yield from _differences(f"{path}.{key}", before.get(key), after.get(key))
    elif isinstance(before, list) and isinstance(after, list):
        for at, (left, right) in enumerate(zip_longest(before, after)):
            yield from _differences(f"{path}[{at}]", left, right)
    elif jsonio.dumps(before) != jsonio.dumps(after):  # a null says no more than what is not there
        yield path


def _meaning(holder: dict[str, Any]) -> Private:
    """What is held privately, without how a document spelled what canonical messages spell in one way only."""
    return Private({key: value for key, value in chat.private(holder).items() if key not in _SPELLED})
