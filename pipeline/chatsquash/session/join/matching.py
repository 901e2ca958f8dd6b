"""Which reply of a gateway's session each reply of an agent's conversations is."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Iterable, Iterator

from msgspec import Struct, field

from chatsquash.core.model import Message
from chatsquash.session.join.files import View, keys, said
from chatsquash.trees.documents import Key
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

    def take(self, key: ReplyKey, reply: Reply, content: int) -> None:
        """Note that a reply is the same as one that says something by its number."""
        self.replies[key] = reply
        if said(reply.message) != content:
            self.differing.append(reply)


def match_replies(logged: list[Reply], joined: list[View], elsewhere: Iterable[int]) -> Matching:
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
    for view, number in _own(joined):
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
    _fill(joined, matching, taken)
    return matching


def _match_said(logged: list[Reply], left: list[_Left], matching: Matching, taken: set[int]) -> None:
    """Match replies that say the same: first where all before them is the same, then what they answer, then others."""
    if not left:
        return
    waiting: list[dict[int, deque[Reply]]] = [{} for _ in range(LEVELS)]
    for reply, known in zip(logged, contexts_of_replies(logged), strict=True):
        for replies, name in zip(waiting, known, strict=True):
            replies.setdefault(name, deque()).append(reply)
    views = {id(view): view for view, _, _ in left}
    there = {name: contexts_of_view(view) for name, view in views.items()}
    for level, replies in enumerate(waiting):
        for view, number, content in left:
            key = view.key(number)
            same = replies.get(there[id(view)][number][level]) if matching.is_open(key) else None
            while same and same[0].number in taken:
                same.popleft()
            if same:
                taken.add(same[0].number)
                matching.take(key, same.popleft(), content)


def _own(joined: list[View]) -> Iterator[tuple[View, int]]:
    return ((view, number) for view in joined for number in view.own)


def _fill(joined: list[View], matching: Matching, taken: set[int]) -> None:
    """Match replies between two that are matched, where both sides have as many there."""
    for view in joined:
        known = [number for number in range(view.place.length) if view.key(number) in matching.replies]
        for first, last in itertools.pairwise(known):
            between = [number for number in range(first + 1, last) if matching.is_open(view.key(number))]
            if len(between) != last - first - 1:
                continue
            ends = matching.replies[view.key(first)], matching.replies[view.key(last)]
            for number, reply in zip(between, _between(*ends, len(between)), strict=False):
                known_here = view.keys(number)
                if known_here and reply.number not in taken:
                    taken.add(reply.number)
                    matching.take(view.key(number), reply, known_here.said)


def _between(first: Reply, last: Reply, count: int) -> list[Reply]:
    """The replies on the way from one to another, if they are so many; else none."""
    way: list[Reply] = []
    reply = last.parent
    while reply and reply is not first and len(way) <= count:
        way.append(reply)
        reply = reply.parent
    return way[::-1] if reply is first and len(way) == count else []


_BITS = (1 << 64) - 1

Context = tuple[int, ...]
"""Numbers by which a reply is known, the most telling one first: what assistants said before, what it answers, and what
it says."""
LEVELS = 3


def contexts_of_replies(replies: list[Reply]) -> Iterator[Context]:
    """The context of each of a session's replies."""
    chains: dict[int, int] = {}
    for reply in replies:
        way: list[Reply] = []
        above: Reply | None = reply
        while above and above.number not in chains:
            way.append(above)
            above = above.parent
        chain = chains[above.number] if above else 0
        for each in reversed(way):
            chain = _chain(chain, [*each.behind, each.message])
            chains[each.number] = chain
        yield _context(chains[reply.number], reply.behind, reply.message)


def contexts_of_view(view: View) -> dict[int, Context]:
    """The contexts of a conversation's own replies, by their numbers."""
    contexts: dict[int, Context] = {}
    own, chain, begin = frozenset(view.own), 0, 0
    places = ((view.reply(number).at, number) for number in range(view.place.length))
    for at, number in sorted((at, number) for at, number in places if at is not None):
        chain = _chain(chain, view.messages[begin : at + 1])
        begin = max(begin, at + 1)
        if number in own:
            contexts[number] = _context(chain, view.messages[max(0, at - 1) : at], view.messages[at])
    return contexts


def _chain(chain: int, messages: Iterable[Message]) -> int:
    for message in messages:
        if message["role"] == "assistant":
            chain = _both(chain, said(message))
    return chain


def _context(chain: int, before: list[Message], reply: Message) -> Context:
    content = said(reply)
    answers = _both(said(before[-1]), content) if before else content
    return _both(chain, answers), answers, content


def _both(one: int, other: int) -> int:
    return hash((one, other)) & _BITS
