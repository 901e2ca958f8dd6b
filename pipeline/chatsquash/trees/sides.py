"""Detect the client's own requests: titles, suggestions, recaps, classifiers, probes and warm-ups."""

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
from chatsquash.trees.rewrites import is_reworded_prompt

_NEAR = 4
"""The number of prompts before and after a request that it may be about."""
_PROMPTS = 64
"""The maximum number of prompts before one reply to compare."""
_LESS_ROOM = 16
"""The factor by which the token limit of a probe is below that of other requests."""
_NUMBER = re.compile(r"\d+")


def side_replies(replies: list[Reply]) -> set[Reply]:
    """Return the replies within conversations to the client's own requests, which nothing continues."""
    leaves = [reply for reply in replies if not reply.children and not reply.is_retried and not is_fork(reply)]
    return {reply for reply in leaves if _has_own_settings(reply)} | _repeated_requests(replies, leaves)


def _has_own_settings(reply: Reply) -> bool:
    """Return whether a request is for a summary, or differs from its conversation in system prompt, limit or tools."""
    parent = reply.parent
    if parent is None:
        return reply.is_other_prompt
    # With a limit of one token, the client only tests whether the model answers.
    if reply.is_summary or reply.is_other_prompt or reply.limit == 1:
        return True
    return bool(parent.tools) and not reply.tools and parent.children > 1


def _repeated_requests(replies: list[Reply], leaves: list[Reply]) -> set[Reply]:
    """Return the replies to a text that ends several requests of a growing conversation and is never continued."""
    members: dict[int, list[Reply]] = {}
    for reply in leaves:
        if reply.parent:
            for key in _last_keys(reply):
                members.setdefault(key, []).append(reply)
    # A text that a user repeats, such as "continue", is continued at least once, or repeated at an earlier place after
    # going back.
    members = {key: group for key, group in members.items() if len(group) > 1}
    if not members:
        return set()
    continued = {key for reply in replies if reply.children for key in _last_keys(reply) if key in members}
    return {
        reply
        for key, group in members.items()
        if key not in continued and _are_of_client(group, key)
        for reply in group
    }


def _last_keys(reply: Reply) -> list[int]:
    """Return hashes of the user text at the end of a request, and of its first and last line if it has several."""
    message = reply.new_messages[-1] if reply.new_messages else None
    if message is None or message["role"] != "user":
        return []
    # Texts of clients contain clocks and counters, so numbers are ignored.
    lines = _NUMBER.sub("0", prompt_text(message)).split("\n")
    lines = [line for each in lines if (line := each.strip())]
    ends = {lines[0], lines[-1]} if len(lines) > 1 else set()
    return [hash(tuple(lines)), *(hash(line) for line in ends if is_long(line))] if lines else []


def _are_of_client(group: list[Reply], key: int) -> bool:
    """Return whether a text follows a growing conversation: twice if it is long and complete, otherwise three times."""
    # Short or partially equal texts are more likely to be a coincidence and need more evidence.
    is_sure = all(_last_keys(reply)[0] == key for reply in group) and is_long(
        chat.text(group[0].new_messages[-1]) or ""
    )
    return sum(_is_deeper(*pair) for pair in pairwise(group)) >= (1 if is_sure else 2)


def _is_deeper(one: Reply, other: Reply) -> bool:
    """Return whether the conversation grew between two requests, or a new one began."""
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
    """Return whether a request contains a call's argument; a short one only counts if the settings differ."""
    if link.caller is None or not link.is_short:
        return link.caller is not None
    caller = link.caller.reply
    if not is_similar_prompt(caller.system, first.system) or len(first.tools) < len(caller.tools):
        return True
    return 0 < (first.limit or 0) < (caller.limit or 0)


def is_less(reply: Reply, other: Reply) -> bool:
    """Return whether a request has no more tools than a possible user request, and a different system prompt."""
    return len(reply.tools) <= len(other.tools) and not is_similar_prompt(other.system, reply.system)


def has_much_less_room(reply: Reply, other: Reply) -> bool:
    """Return whether a request has no tools while another one has some, or at most a quarter of its token limit."""
    return (bool(other.tools) and not reply.tools) or (0 < 4 * (reply.limit or 0) <= (other.limit or 0))


class Sides:
    """Decides which trees with one request are the client's, and which conversation each of them is about."""

    def __init__(
        self, replies: list[Reply], links: list[Link], trees: dict[int, list[LogPath]], firsts: dict[int, Reply]
    ) -> None:
        self._replies, self._links, self._trees, self._firsts = replies, links, trees, firsts

    # Most sessions have one tree, whose kind depends on none of these.
    @cached_property
    def _lengths(self) -> dict[int, int]:
        return {tree: max(path.length for path in paths) for tree, paths in self._trees.items()}

    @cached_property
    def _tools(self) -> int:
        return max((len(reply.tools) for reply in self._replies), default=0)

    @cached_property
    def _limit(self) -> int:
        return max((reply.limit or 0 for reply in self._replies), default=0)

    def is_small(self, reply: Reply) -> bool:
        """Return whether a request has fewer tools or a lower limit than others of the session."""
        return len(reply.tools) < self._tools or 0 < (reply.limit or 0) < self._limit

    def begins(self, first: Reply) -> bool:
        """Return whether a first request that nothing continues is the client's."""
        link = self._links[first.tree]
        return (
            first.is_summary
            or self._is_probe(first)
            or bool(link.copies)
            or _is_about_call(first, link)
            or (link.quotes > 1 and self.is_small(first))
            or (link.quoted is not None and is_less(first, link.quoted))
            or self.find_similar(first) is not None
            or self._is_warm_up(first)
            or (self.is_small(first) and not first.tools)
        )

    def _is_probe(self, first: Reply) -> bool:
        """Return whether a request allows only a few tokens while others allow many."""
        return first.limit == 1 or 0 < (first.limit or 0) * _LESS_ROOM <= self._limit

    def _is_warm_up(self, first: Reply) -> bool:
        """Return whether a text starts several trees that nothing continues, in addition to a conversation.

        A conversation of one turn counts if it has more tools than all of these trees.
        """
        # Warm-ups repeat the same text, and nothing continues them.
        keys = _last_keys(first)
        most = self._warm_ups.get(keys[0]) if keys else None
        return most is not None and (self._has_turns or most < self._tools)

    @cached_property
    def _has_turns(self) -> bool:
        """Whether any request continues a reply."""
        return any(length > 1 for length in self._lengths.values())

    @cached_property
    def _warm_ups(self) -> dict[int, int]:
        """The maximum number of tools among the trees that a text starts, for texts that only start short trees."""
        trees: dict[int, list[int]] = {}
        for tree, first in self._firsts.items():
            for key in _last_keys(first)[:1]:
                trees.setdefault(key, []).append(tree)
        return {
            key: max(len(self._firsts[tree].tools) for tree in each)
            for key, each in trees.items()
            if len(each) > 1 and all(self._lengths.get(tree, 0) < 2 for tree in each)
        }

    def find_similar(self, first: Reply) -> Reply | None:
        """Return the reply to a prompt in another tree that a first request repeats under a different system prompt.

        Of two such requests, the one that continues is the user's, or else the one with more room.
        """
        others = (other for other in self._similar_prompts(first) if other.tree != first.tree and is_less(first, other))
        return next((other for other in others if self._is_not_users(first, other)), None)

    def _is_not_users(self, first: Reply, other: Reply) -> bool:
        """Return whether the first of two requests with the same text is not the user's."""
        lengths = self._lengths.get(first.tree, 0), self._lengths.get(other.tree, 0)
        # The conversation that continues is the user's, so the request that nothing continues is not.
        return max(lengths) > 1 or self._has_less_room(first, self._firsts[other.tree])

    def _similar_prompts(self, first: Reply) -> Iterator[Reply]:
        """Yield replies to a prompt that a first request repeats: unchanged, extended, truncated or in a text."""
        user = next(first.users(), None)
        if user is None:
            return
        for key in _keys(*user):
            for other in self._by_prompt.get(key, ()):
                prompts = islice(other.users(), _PROMPTS)
                if key == user[0] or any(is_reworded_prompt(user[1], each, loosely=False) for _, each in prompts):
                    yield other
        text = (chat.text(user[1]) or "").strip()
        words = runs(text) if is_long(text) else set()
        for other in self._near(first) if words else ():
            if any(contains_prompt(text, words, prompt, self._runs(other, prompt)) for prompt in _prompts(other)):
                yield other

    @cached_property
    def _by_prompt(self) -> dict[int | str, list[Reply]]:
        """Map user texts, and their first and last lines, to the replies in the longest tree and with the most room."""
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
        """Return whether a request allows fewer tokens than another one or, if that is unknown, has fewer tools."""
        if reply.limit and other.limit and reply.limit != other.limit:
            return reply.limit < other.limit
        if len(reply.tools) != len(other.tools):
            return len(reply.tools) < len(other.tools)
        if bool(reply.limit) != bool(other.limit):
            return bool(reply.limit)
        # Of otherwise equal requests, the earlier one has less room, unless the later one repeats a prompt without a
        # note or with text around it.
        pair = reply.number, other.number
        if pair not in self._is_same:  # two requests may share many prompts
            self._is_same[pair] = not self._numbers(reply).isdisjoint(self._numbers(other))
        return reply.number < other.number if self._is_same[pair] else reply.number > other.number

    def _numbers(self, reply: Reply) -> frozenset[int]:
        """Return the numbers of the prompts before a reply, computed once."""
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
        """Yield the replies to the prompts before and after a request."""
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
        """Return the word runs of a prompt, computed once."""
        key = reply.number, hash(prompt)
        if key not in self._runs_by_prompt:
            self._runs_by_prompt[key] = runs(prompt)
        return self._runs_by_prompt[key]

    @cached_property
    def _runs_by_prompt(self) -> dict[tuple[int, int], set[int]]:
        return {}


def _prompts(reply: Reply) -> Iterable[str]:
    """Return the user texts before a reply that are long enough to be recognized."""
    texts = (prompt_text(message) for _, message in reply.users())
    return [text for text in texts if is_long(text)]


def contains_prompt(text: str, words: set[int], prompt: str, prompt_words: set[int]) -> bool:
    """Return whether a text contains a prompt literally or mostly, or is most of a truncated prompt."""
    if prompt in text:
        return True
    common = len(words & prompt_words)
    return common >= max(LEAST_RUNS, 0.6 * min(len(words), len(prompt_words)))


def _keys(number: int, message: Message) -> list[int | str]:
    """Return the lookup keys of a message: its number, its first line and its last line."""
    lines = (chat.text(message) or "").strip().splitlines()
    return [number, lines[0], lines[-1]] if lines else [number]
