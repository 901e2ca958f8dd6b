"""Requests of the client's own: titles, suggestions, recaps, classifiers, probes, warm-ups."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice, pairwise

from chatsquash.core import chat
from chatsquash.core.model import Message
from chatsquash.trees.canonical import LEAST_RUNS, is_long, is_similar_prompt, prompt_text, runs
from chatsquash.trees.forks import is_fork
from chatsquash.trees.links import Link
from chatsquash.trees.replies import LogPath, Reply
from chatsquash.trees.rewrites import is_reminded

_NEAR = 4
"""Prompts before and after a request that may be about one of them."""
_PROMPTS = 64
"""Prompts before one reply that are compared."""
_LESS_ROOM = 16
"""How many times fewer tokens than others a request may have that only tests whether the model answers."""
_NUMBER = re.compile(r"\d+")


def inside(replies: list[Reply]) -> set[Reply]:
    """The replies within conversations that answer requests of the client, from which nothing continues."""
    leaves = [reply for reply in replies if not reply.children and not reply.is_retried and not is_fork(reply)]
    return {reply for reply in leaves if _has_own_settings(reply)} | _repeated_requests(replies, leaves)


def _has_own_settings(reply: Reply) -> bool:
    """Whether a request is a summary's, or differs from its conversation in its system prompt, limit or tools."""
    parent = reply.parent
    if parent is None:
        return reply.is_other_prompt
    if reply.is_summary or reply.is_other_prompt or reply.limit == 1:
        return True
    return bool(parent.tools) and not reply.tools and parent.children > 1


def _repeated_requests(replies: list[Reply], leaves: list[Reply]) -> set[Reply]:
    """The replies to a text that ends several requests of a growing conversation and is never continued.

    What a person repeats ("continue") is continued at least once, or repeated at an earlier place after a rewind.
    """
    members: dict[int, list[Reply]] = {}
    for reply in leaves:
        if reply.parent:
            for key in _last_keys(reply):
                members.setdefault(key, []).append(reply)
    members = {key: several for key, several in members.items() if len(several) > 1}
    if not members:
        return set()
    continued = {key for reply in replies if reply.children for key in _last_keys(reply) if key in members}
    return {
        reply
        for key, several in members.items()
        if key not in continued and _are_of_client(several, key)
        for reply in several
    }


def _last_keys(reply: Reply) -> list[int]:
    """Hashes of the user's text that ends a request, and of its first and last line if it has several.

    Numbers do not count, since texts of clients contain clocks and counters.
    """
    message = reply.behind[-1] if reply.behind else None
    if message is None or message["role"] != "user":
        return []
    lines = _NUMBER.sub("0", prompt_text(message)).split("\n")
    lines = [line for each in lines if (line := each.strip())]
    ends = {lines[0], lines[-1]} if len(lines) > 1 else set()
    return [hash(tuple(lines)), *(hash(line) for line in ends if is_long(line))] if lines else []


def _are_of_client(several: list[Reply], key: int) -> bool:
    """Whether a text follows a conversation as it grows: twice if it is long and complete, otherwise three times."""
    is_sure = all(_last_keys(reply)[0] == key for reply in several) and is_long(chat.text(several[0].behind[-1]) or "")
    return sum(_is_deeper(*pair) for pair in pairwise(several)) >= (1 if is_sure else 2)


def _is_deeper(one: Reply, other: Reply) -> bool:
    """Whether the conversation had grown between two requests, or another one had begun."""
    first, last = one.parent, other.parent
    if first is None or last is None or first is last:
        return False
    if first.tree != last.tree:
        return first.tree < last.tree
    for reply in last.back():
        if reply is first:
            return True
        if reply.number < first.number:
            return False
    return False


def _is_about_call(first: Reply, link: Link) -> bool:
    """Whether a request contains a call's argument; a short one counts if the settings differ from the call's."""
    if link.caller is None or not link.is_short:
        return link.caller is not None
    caller = link.caller.reply
    if not is_similar_prompt(caller.system, first.system) or len(first.tools) < len(caller.tools):
        return True
    return 0 < (first.limit or 0) < (caller.limit or 0)


def is_less(reply: Reply, other: Reply) -> bool:
    """Whether a request has another system prompt than one that a person's may be, and no more tools."""
    return len(reply.tools) <= len(other.tools) and not is_similar_prompt(other.system, reply.system)


def has_much_less_room(reply: Reply, other: Reply) -> bool:
    """Whether a request has no tools where another one has some, or a quarter of its tokens at most."""
    return (bool(other.tools) and not reply.tools) or (0 < 4 * (reply.limit or 0) <= (other.limit or 0))


class Sides:
    """Decides which trees of one request are the client's, and which conversation each is about."""

    def __init__(
        self, replies: list[Reply], links: list[Link], trees: dict[int, list[LogPath]], firsts: dict[int, Reply]
    ) -> None:
        self._replies, self._links, self._firsts = replies, links, firsts
        self._lengths = {tree: max(path.length for path in paths) for tree, paths in trees.items()}
        self._tools = max((len(reply.tools) for reply in replies), default=0)
        self._limit = max((reply.limit or 0 for reply in replies), default=0)

    def is_small(self, reply: Reply) -> bool:
        """Whether a request has fewer tools or a lower limit than others of the session."""
        return len(reply.tools) < self._tools or 0 < (reply.limit or 0) < self._limit

    def begins(self, first: Reply) -> bool:
        """Whether a first request from which nothing continues is the client's."""
        link = self._links[first.tree]
        return (
            first.is_summary
            or self._is_probe(first)
            or bool(link.copied)
            or _is_about_call(first, link)
            or (link.quotes > 1 and self.is_small(first))
            or (link.quoted is not None and is_less(first, link.quoted))
            or self.like(first) is not None
            or self._is_warm_up(first)
            or (self.is_small(first) and not first.tools)
        )

    def _is_probe(self, first: Reply) -> bool:
        """Whether a request has room for a word or two, where others have room for a text."""
        return first.limit == 1 or 0 < (first.limit or 0) * _LESS_ROOM <= self._limit

    def _is_warm_up(self, first: Reply) -> bool:
        """Whether a text begins several trees from which nothing continues, in addition to a conversation.

        A conversation of one turn is one if it has more tools than all of these.
        """
        keys = _last_keys(first)
        most = self._warm_ups.get(keys[0]) if keys else None
        return most is not None and (self._has_turns or most < self._tools)

    @cached_property
    def _has_turns(self) -> bool:
        """Whether anything continues from a reply."""
        return any(length > 1 for length in self._lengths.values())

    @cached_property
    def _warm_ups(self) -> dict[int, int]:
        """The most tools of the trees that a text begins, for texts that begin several of one reply and none longer."""
        trees: dict[int, list[int]] = {}
        for tree, first in self._firsts.items():
            for key in _last_keys(first)[:1]:
                trees.setdefault(key, []).append(tree)
        return {
            key: max(len(self._firsts[tree].tools) for tree in each)
            for key, each in trees.items()
            if len(each) > 1 and all(self._lengths.get(tree, 0) < 2 for tree in each)
        }

    def like(self, first: Reply) -> Reply | None:
        """The reply to a prompt of another tree which a first request under another system prompt repeats.

        Of two such requests the one that something continues from is the person's, otherwise the one with more room.
        """
        others = (other for other in self._similar(first) if other.tree != first.tree and is_less(first, other))
        return next((other for other in others if self._yields(first, other)), None)

    def _yields(self, first: Reply, other: Reply) -> bool:
        """Whether of two requests with one text the first is not the person's."""
        lengths = self._lengths.get(first.tree, 0), self._lengths.get(other.tree, 0)
        return max(lengths) > 1 or self._has_less_room(first, self._firsts[other.tree])

    def _similar(self, first: Reply) -> Iterator[Reply]:
        """Replies to a prompt that a first request repeats: alone, with lines around it, within a text, or cut."""
        said = next(first.users(), None)
        if said is None:
            return
        for key in _keys(*said):
            for other in self._by_prompt.get(key, ()):
                prompts = islice(other.users(), _PROMPTS)
                if key == said[0] or any(is_reminded(said[1], each, loosely=False) for _, each in prompts):
                    yield other
        text = (chat.text(said[1]) or "").strip()
        words = runs(text) if is_long(text) else set()
        for other in self._near(first) if words else ():
            if any(contains_prompt(text, words, prompt, self._runs(other, prompt)) for prompt in _prompts(other)):
                yield other

    @cached_property
    def _by_prompt(self) -> dict[int | str, list[Reply]]:
        """By a user's text and its first and last line: the replies of the longest tree, and of the last one."""
        replies: dict[int | str, list[Reply]] = {}
        for reply in self._replies:
            for number, message in reply.users():
                for key in _keys(number, message):
                    replies.setdefault(key, []).append(reply)
        return {key: self._foremost(each) for key, each in replies.items()}

    def _foremost(self, replies: list[Reply]) -> list[Reply]:
        longest = max(replies, key=lambda reply: self._lengths.get(reply.tree, 0))
        most = replies[0]
        for reply in replies:
            most = reply if reply is not most and self._has_less_room(most, reply) else most
        return [longest, most]

    def _has_less_room(self, reply: Reply, other: Reply) -> bool:
        """Whether a request allows fewer tokens than another one, or, if these are not known, has fewer tools.

        Of requests that are equal in both the earlier one has less, but the later one if it repeats a prompt without a
        note or with text around it.
        """
        if reply.limit and other.limit and reply.limit != other.limit:
            return reply.limit < other.limit
        if len(reply.tools) != len(other.tools):
            return len(reply.tools) < len(other.tools)
        if bool(reply.limit) != bool(other.limit):
            return bool(reply.limit)
        pair = reply.number, other.number
        if pair not in self._is_same:  # two requests may share many prompts
            self._is_same[pair] = not self._numbers(reply).isdisjoint(self._numbers(other))
        return reply.number < other.number if self._is_same[pair] else reply.number > other.number

    def _numbers(self, reply: Reply) -> frozenset[int]:
        """What the prompts before a reply are the same by, computed once."""
        known = self._numbers_by_reply.get(reply.number)
        if known is None:
            known = self._numbers_by_reply[reply.number] = frozenset(number for number, _ in reply.users())
        return known

    @cached_property
    def _is_same(self) -> dict[tuple[int, int], bool]:
        return {}

    @cached_property
    def _numbers_by_reply(self) -> dict[int, frozenset[int]]:
        return {}

    def _near(self, first: Reply) -> Iterator[Reply]:
        """The replies to the prompts before and after a request."""
        place = self._places[first.number]
        for other in self._prompted[max(place - _NEAR, 0) : place + _NEAR + 1]:
            if other.tree != first.tree and is_less(first, other):
                yield other

    @cached_property
    def _prompted(self) -> list[Reply]:
        """The replies to prompts."""
        return [reply for reply in self._replies if next(reply.users(), None)]

    @cached_property
    def _places(self) -> dict[int, int]:
        return {reply.number: place for place, reply in enumerate(self._prompted)}

    def _runs(self, reply: Reply, prompt: str) -> set[int]:
        """The runs of words of a prompt, computed once."""
        key = reply.number, hash(prompt)
        if key not in self._runs_by_prompt:
            self._runs_by_prompt[key] = runs(prompt)
        return self._runs_by_prompt[key]

    @cached_property
    def _runs_by_prompt(self) -> dict[tuple[int, int], set[int]]:
        return {}


def _prompts(reply: Reply) -> Iterable[str]:
    """What the user says before a reply, as far as it is long enough to be recognised."""
    texts = (prompt_text(message) for _, message in reply.users())
    return [text for text in texts if is_long(text)]


def contains_prompt(text: str, words: set[int], prompt: str, prompted: set[int]) -> bool:
    """Whether a text contains a prompt word by word, or most of it, or is most of a cut one."""
    if prompt in text:
        return True
    shared = len(words & prompted)
    return shared >= max(LEAST_RUNS, 0.6 * min(len(words), len(prompted)))


def _keys(number: int, message: Message) -> list[int | str]:
    """What a message is looked up by: what it is the same by, and its first line and its last one."""
    lines = (chat.text(message) or "").strip().splitlines()
    return [number, lines[0], lines[-1]] if lines else [number]
