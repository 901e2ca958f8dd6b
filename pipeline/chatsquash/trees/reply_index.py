"""Look up the logged replies of a session by the content that later requests repeat."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from msgspec import Struct, field

from chatsquash.core import reasoning
from chatsquash.trees.replies import Reply, follow_links
from chatsquash.trees.rewrites import is_long_reply

CANDIDATES = 8
"""The maximum number of replies with the same key to compare, latest first."""


class ReplyIndex(Struct):
    """An index of replies by content and by chain."""

    _by_chain: dict[int, Reply] = field(default_factory=dict)
    _by_assistant_chain: dict[int, Reply] = field(default_factory=dict)
    _by_request: dict[int, Reply] = field(default_factory=dict)
    _by_content: dict[int, Reply] = field(default_factory=dict)

    # Lookups return at most CANDIDATES replies, so they take constant time.
    def add(self, reply: Reply) -> None:
        """Add a reply, which becomes the latest one with its keys."""
        reply.previous_same_request = self._by_request.get(reply.request_chain)
        self._by_request[reply.request_chain] = reply
        self._by_chain[reply.chain] = reply
        if reply.other_chain:
            self._by_chain.setdefault(reply.other_chain, reply)
        reply.previous_same_content = self._by_content.get(reply.content_number)
        self._by_content[reply.content_number] = reply
        reply.previous_same_assistants = self._by_assistant_chain.get(reply.assistant_chain)
        self._by_assistant_chain[reply.assistant_chain] = reply

    def add_chain(self, chain: int, reply: Reply) -> None:
        """Add another history that ends with a reply."""
        self._by_chain[chain] = reply

    def add_choice(self, reply: Reply) -> None:
        """Add the keys of a reply that now has the content of another choice."""
        self._by_content.setdefault(reply.content_number, reply)
        self._by_assistant_chain.setdefault(reply.assistant_chain, reply)

    def with_chain(self, chain: int) -> Reply | None:
        """Return the reply at the end of a history."""
        return self._by_chain.get(chain)

    def with_content(self, content_number: int) -> Reply | None:
        """Return the last reply with this content."""
        return self._by_content.get(content_number)

    def all_with_content(self, content_number: int) -> Iterator[Reply]:
        """Return the last replies with this content."""
        return islice(follow_links(self._by_content.get(content_number), "previous_same_content"), CANDIDATES)

    def all_with_assistant_chain(self, assistant_chain: int) -> list[Reply]:
        """Return the last replies with this assistant chain."""
        return [
            *islice(follow_links(self._by_assistant_chain.get(assistant_chain), "previous_same_assistants"), CANDIDATES)
        ]

    def reply_to(self, request_chain: int) -> Reply | None:
        """Return the last reply to a request."""
        return self._by_request.get(request_chain)

    def replies_to(self, request_chain: int) -> Iterator[Reply]:
        """Return the last replies to a request."""
        return islice(follow_links(self._by_request.get(request_chain), "previous_same_request"), CANDIDATES)

    def copied_reasoning(self, number: int, before: int) -> str:
        """Return the reasoning of the logged replies that a message copies, or an empty string if they disagree."""
        # A short message may occur by chance, so it must also follow the same message.
        same = (
            each
            for each in self.all_with_content(number)
            if each.new_numbers[-1:] == [before] or is_long_reply(each.message)
        )
        texts = {reasoning.text_or_block(reply.message) for reply in same}
        return texts.pop() if len(texts) == 1 else ""
