"""Where the replies of a path stand in the record that is made of it, and what several records hold."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Container, Hashable, Iterator
from typing import NamedTuple

from msgspec import Struct

from chatsquash.core import chat
from chatsquash.core.model import Message
from chatsquash.trees.canonical import Canon
from chatsquash.trees.kinds import Path
from chatsquash.trees.replies import Reply
from chatsquash.trees.trees import Trees


class Standing(NamedTuple):
    """Where a reply stands."""

    ordinal: int
    """Which of the assistant's messages it is."""
    is_rewritten: bool
    """Whether in another wording."""


class Held(Struct, frozen=True):
    """A conversation that was chosen, and where the replies of its path stand."""

    path: Path
    messages: list[Message]
    """Of the request that it is made of, and its reply."""
    assistants: list[int]
    """The indices of the assistant's messages."""
    standing: dict[int, Standing]
    """The replies, by number."""

    @property
    def whole(self) -> range:
        """All of the assistant's messages."""
        return range(len(self.assistants))

    def message(self, reply: int) -> Message:
        """The message that stands for a reply."""
        return self.messages[self.assistants[self.standing[reply].ordinal]]


def held(path: Path, replies: list[Reply], messages: list[Message], canon: Canon) -> Held:
    """A conversation with the replies of its path, which are given in order.

    A reply stands where a message is the same by what counts; of those between two such places, each stands at the
    next message of an assistant, as long as there are some.
    """
    places = [at for at, message in enumerate(messages) if message["role"] == "assistant"]
    by_number: dict[int, list[int]] = {}
    for ordinal, at in enumerate(places):
        by_number.setdefault(canon.number(messages[at]), []).append(ordinal)
    found: dict[int, Standing] = {}
    waiting: list[Reply] = []
    last = -1
    for reply in replies:
        same = by_number.get(reply.said, [])
        behind = bisect_right(same, last)
        if behind == len(same):
            waiting.append(reply)
            continue
        fitting = same[behind]
        _fill(found, waiting, range(last + 1, fitting))
        found[reply.number] = Standing(fitting, False)
        last = fitting
    _fill(found, waiting, range(last + 1, len(places)))
    return Held(path, messages, places, found)


def _fill(found: dict[int, Standing], waiting: list[Reply], places: range) -> None:
    """Give the replies that were not found the places between two that were; the last ones stand last."""
    for reply, place in zip(reversed(waiting), reversed(places), strict=False):
        found[reply.number] = Standing(place, True)
    waiting.clear()


def bearers(held: list[Held], written: list[Container[int]], owners: dict[int, Path]) -> dict[int, int]:
    """The conversation that each reply counts in, by its index.

    That is one whose record has the reply, in its own words, and is the reply's own, as far as there is such a one; of
    several the first.  ``written`` are the assistant's messages of each that its record has.
    """
    found: dict[int, int] = {}
    ranks: dict[int, tuple[bool, bool, bool]] = {}
    for index, each in enumerate(held):
        for reply, standing in each.standing.items():
            is_written = standing.ordinal in written[index]
            rank = is_written, not standing.is_rewritten, owners.get(reply) is each.path
            if reply not in ranks or rank > ranks[reply]:
                found[reply], ranks[reply] = index, rank
    return found


def shared_calls(conversations: list[Held], trees: Trees) -> list[dict[int, int]]:
    """Of each conversation the messages with calls that others hold, too, by index, each with a number of its own."""
    keyed = [dict(_keys(held, trees)) for held in conversations]
    times = Counter(key for keys in keyed for key in keys.values())
    numbers = {key: number for number, key in enumerate(key for key, count in times.items() if count > 1)}
    return [{at: numbers[key] for at, key in keys.items() if key in numbers} for keys in keyed]


def _keys(held: Held, trees: Trees) -> Iterator[tuple[int, Hashable]]:
    """What tells each message with calls from others: the logged reply that it is, else its tree and what it says."""
    canon, tree = trees.requests.canon, held.path.last.tree
    replies = {standing.ordinal: number for number, standing in held.standing.items()}
    copied: dict[int, list[int]] = {}
    for reply in reversed(trees.links[tree].copied):
        copied.setdefault(reply.said, []).append(reply.number)
    times: Counter[int] = Counter()
    for ordinal, at in enumerate(held.assistants):
        if not chat.call_count(held.messages[at]):
            continue
        if ordinal in replies:
            yield at, replies[ordinal]
            continue
        number = canon.number(held.messages[at])
        times[number] += 1
        yield at, copied[number].pop() if copied.get(number) else (tree, number, times[number])
