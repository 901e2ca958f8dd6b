"""The logged replies of a session by what later requests contain of them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from msgspec import Struct, field

from chatsquash.core import reasoning
from chatsquash.trees.canonical import is_long
from chatsquash.trees.replies import Reply, follow_links
from chatsquash.trees.rewrites import words

CANDIDATES = 8
"""Replies that are compared if several have the same key, the last ones first."""


class ReplyIndex(Struct):
    """Finds replies by the hashes that ``Reply`` explains. Lists are capped, so that a lookup takes constant time."""

    _by_chain: dict[int, Reply] = field(default_factory=dict)
    _by_spoken: dict[int, Reply] = field(default_factory=dict)
    _by_asked: dict[int, Reply] = field(default_factory=dict)
    _by_said: dict[int, Reply] = field(default_factory=dict)

    def add(self, reply: Reply) -> None:
        """Add a reply, which becomes the last one with its keys."""
        reply.asked_before = self._by_asked.get(reply.asked)
        self._by_asked[reply.asked] = reply
        self._by_chain[reply.chain] = reply
        if reply.other_chain:
            self._by_chain.setdefault(reply.other_chain, reply)
        reply.said_before = self._by_said.get(reply.said)
        self._by_said[reply.said] = reply
        reply.spoken_before = self._by_spoken.get(reply.spoken)
        self._by_spoken[reply.spoken] = reply

    def add_chain(self, chain: int, reply: Reply) -> None:
        """Note another history that ends with a reply."""
        self._by_chain[chain] = reply

    def add_choice(self, reply: Reply) -> None:
        """Note that a reply now has the words of another choice."""
        self._by_said.setdefault(reply.said, reply)
        self._by_spoken.setdefault(reply.spoken, reply)

    def with_chain(self, chain: int) -> Reply | None:
        """Return the reply that a history ends with."""
        return self._by_chain.get(chain)

    def with_words(self, said: int) -> Reply | None:
        """Return the last reply with these words and calls."""
        return self._by_said.get(said)

    def all_with_words(self, said: int) -> Iterator[Reply]:
        """Return the last replies with these words and calls."""
        return islice(follow_links(self._by_said.get(said), "said_before"), CANDIDATES)

    def all_spoken(self, spoken: int) -> list[Reply]:
        """Return the last replies that end a conversation in which assistants say the same."""
        return [*islice(follow_links(self._by_spoken.get(spoken), "spoken_before"), CANDIDATES)]

    def answering(self, asked: int) -> Reply | None:
        """Return the last reply to a request."""
        return self._by_asked.get(asked)

    def all_answering(self, asked: int) -> Iterator[Reply]:
        """Return the last replies to a request."""
        return islice(follow_links(self._by_asked.get(asked), "asked_before"), CANDIDATES)

    def copied_reasoning(self, number: int, before: int) -> str:
        """Return the reasoning of the logged replies that a message is; empty if they do not agree.

        A short message is such a reply only if it follows the same message.
        """
        same = (
            each for each in self.all_with_words(number) if each.added[-1:] == [before] or is_long(words(each.message))
        )
        texts = {reasoning.text_or_block(reply.message) for reply in same}
        return texts.pop() if len(texts) == 1 else ""
