"""Where the replies of a path stand in the record that is made of it."""

from __future__ import annotations

from bisect import bisect_right

from msgspec import Struct

from chatsquash.model import Message
from chatsquash.tree.canonical import Canon
from chatsquash.tree.kinds import Path
from chatsquash.tree.replies import Reply


class Held(Struct, frozen=True):
    """A record, and the replies of its path."""

    path: Path
    replies: list[Reply]
    """In order."""
    messages: list[Message]
    """Of the request that it is made of, and its reply."""


def placed(held: Held, canon: Canon) -> dict[int, tuple[int, bool]]:
    """Where the replies of a record's path stand among its messages, and whether in another wording, by number.

    A reply stands where a message is the same by what counts; of those between two such places, each stands at the
    next message of an assistant, as long as there are some.
    """
    places = [at for at, message in enumerate(held.messages) if message["role"] == "assistant"]
    numbers = [canon.number(held.messages[at]) for at in places]
    by_number: dict[int, list[int]] = {}
    for at, number in enumerate(numbers):
        by_number.setdefault(number, []).append(at)
    found: dict[int, tuple[int, bool]] = {}
    waiting: list[Reply] = []
    last = -1
    for reply in held.replies:
        same = by_number.get(reply.said, [])
        behind = bisect_right(same, last)
        if behind == len(same):
            waiting.append(reply)
            continue
        fitting = same[behind]
        _fill(found, waiting, places[last + 1 : fitting])
        found[reply.number] = places[fitting], False
        last = fitting
    _fill(found, waiting, places[last + 1 :])
    return found


def _fill(found: dict[int, tuple[int, bool]], waiting: list[Reply], places: list[int]) -> None:
    """Give the replies that were not found the places between two that were; the last ones stand last."""
    for reply, place in zip(reversed(waiting), reversed(places), strict=False):
        found[reply.number] = place, True
    waiting.clear()
