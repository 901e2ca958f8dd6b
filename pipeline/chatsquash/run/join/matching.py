"""Which reply of a gateway's session each reply of an agent's conversations is."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from chatsquash.read.lineage import Key
from chatsquash.run.join.files import View
from chatsquash.run.join.keys import keys, said
from chatsquash.tree.replies import Reply

ReplyKey = tuple[int, Key]


class Matching(Struct):
    """The replies that both sides have, and those that another session of a gateway has."""

    replies: dict[ReplyKey, Reply] = field(default_factory=dict)
    elsewhere: set[ReplyKey] = field(default_factory=set)
    differing: list[Reply] = field(default_factory=list)
    """Replies that say something else in the agent's file."""

    def is_open(self, key: ReplyKey) -> bool:
        """Whether nobody logged a reply but the agent."""
        return key not in self.replies and key not in self.elsewhere

    def take(self, key: ReplyKey, reply: Reply, told: int) -> None:
        """Note that a reply is the same as one that says something by its number."""
        self.replies[key] = reply
        if said(reply.message) != told:
            self.differing.append(reply)


def matched(logged: list[Reply], found: list[View], elsewhere: Iterable[int]) -> Matching:
    """Match replies by ids, then by what they say, then by their place between two that are matched.

    ``elsewhere`` are keys of replies that other sessions have.
    """
    matching, others = Matching(), frozenset(elsewhere)
    by_id: dict[int, Reply] = {}
    by_said: dict[int, deque[Reply]] = {}
    for reply in logged:
        known = keys(reply.message, reply.response)
        by_said.setdefault(known.said, deque()).append(reply)
        for name in known.ids:
            by_id.setdefault(name, reply)
    taken = set[int]()
    left: list[tuple[ReplyKey, int]] = []
    for view, number in _own(found):
        known_here = view.keys(number)
        if known_here is None:
            continue
        key = view.key(number)
        same = next((by_id[name] for name in known_here.ids if name in by_id), None)
        if same:
            taken.add(same.number)
            matching.take(key, same, known_here.said)
        elif others.isdisjoint((*known_here.ids, known_here.said)):
            left.append((key, known_here.said))
        else:
            matching.elsewhere.add(key)
    for key, told in left:
        waiting = by_said.get(told)
        while waiting and waiting[0].number in taken:
            waiting.popleft()
        if waiting:
            taken.add(waiting[0].number)
            matching.take(key, waiting.popleft(), told)
    _fill(found, matching, taken)
    return matching


def _own(found: list[View]) -> Iterator[tuple[View, int]]:
    return ((view, number) for view in found for number in view.place.own)


def _fill(found: list[View], matching: Matching, taken: set[int]) -> None:
    """Match replies between two that are matched, where both sides have as many there."""
    for view in found:
        known = [number for number in range(view.place.length) if view.key(number) in matching.replies]
        for first, last in itertools.pairwise(known):
            between = [number for number in range(first + 1, last) if matching.is_open(view.key(number))]
            if len(between) != last - first - 1:
                continue
            ends = matching.replies[view.key(first)], matching.replies[view.key(last)]
            for number, reply in zip(between, _between(*ends, len(between)), strict=False):
                told = view.keys(number)
                if told and reply.number not in taken:
                    taken.add(reply.number)
                    matching.take(view.key(number), reply, told.said)


def _between(first: Reply, last: Reply, count: int) -> list[Reply]:
    """The replies on the way from one to another, if they are so many; else none."""
    way: list[Reply] = []
    reply = last.parent
    while reply and reply is not first and len(way) <= count:
        way.append(reply)
        reply = reply.parent
    return way[::-1] if reply is first and len(way) == count else []
