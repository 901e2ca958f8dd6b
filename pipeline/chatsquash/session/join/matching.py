"""Which reply of a gateway's session each reply of an agent's conversations is."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from chatsquash.reading.lineage import Key
from chatsquash.session.join import contexts
from chatsquash.session.join.files import View
from chatsquash.session.join.keys import keys, said
from chatsquash.trees.replies import Reply

ReplyKey = tuple[int, Key]
_Left = tuple[View, int, int]
"""A conversation, the number of a reply in it that nothing tells by an id, and the number of what that says."""


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
    for reply in logged:
        for name in keys(reply.message, reply.response).ids:
            by_id.setdefault(name, reply)
    taken = set[int]()
    left: list[_Left] = []
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
            left.append((view, number, known_here.said))
        else:
            matching.elsewhere.add(key)
    _match_said(logged, left, matching, taken)
    _fill(found, matching, taken)
    return matching


def _match_said(logged: list[Reply], left: list[_Left], matching: Matching, taken: set[int]) -> None:
    """Match replies that say the same: first where all before them is the same, then what they answer, then others."""
    if not left:
        return
    waiting: list[dict[int, deque[Reply]]] = [{} for _ in range(contexts.LEVELS)]
    for reply, known in zip(logged, contexts.of_logged(logged), strict=True):
        for replies, name in zip(waiting, known, strict=True):
            replies.setdefault(name, deque()).append(reply)
    views = {id(view): view for view, _, _ in left}
    there = {name: contexts.of_view(view) for name, view in views.items()}
    for level, replies in enumerate(waiting):
        for view, number, told in left:
            key = view.key(number)
            same = replies.get(there[id(view)][number][level]) if matching.is_open(key) else None
            while same and same[0].number in taken:
                same.popleft()
            if same:
                taken.add(same[0].number)
                matching.take(key, same.popleft(), told)


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
