"""Track which choice of a response the conversation continues."""

from __future__ import annotations

from typing import NamedTuple

from msgspec import Struct, field, structs

from chatsquash.core import chat
from chatsquash.core.model import Response
from chatsquash.reading.choices import of_raw
from chatsquash.trees.replies import Reply, Requests


class _Choice(NamedTuple):
    reply: Reply
    at: int
    """Its index among the choices."""
    response: Response
    content_number: int
    assistant_chain: int


class Choices(Struct):
    """The choices after the first one of each response, by the chain that ends with the choice."""

    _by_chain: dict[int, _Choice] = field(default_factory=dict)
    _by_assistant_chain: dict[int, int] = field(default_factory=dict)
    """The last such chain for each assistant chain."""

    def add(self, reply: Reply, requests: Requests, raw: bytes) -> None:
        """Add the choices of the response to the last request."""
        for index, response in enumerate(of_raw(raw)):
            if index and response.message is not None:
                content_number, chain, assistant_chain = requests.chains_after(response.message)
                if chain != reply.chain:
                    self._by_chain.setdefault(chain, _Choice(reply, index, response, content_number, assistant_chain))
                    self._by_assistant_chain[assistant_chain] = chain

    def choose(self, chain: int) -> Reply | None:
        """Return the reply whose choice ends a chain; the first choice to be continued replaces the reply's content."""
        choice = self._by_chain.get(chain)
        if choice is None:
            return None
        reply, index, response, content_number, assistant_chain = choice
        # A line counts as one reply, so the choice that was continued first is final.
        if _is_open(reply) and response.message is not None:
            reply.choice, reply.message = index, response.message
            reply.content_number, reply.chain, reply.assistant_chain = content_number, chain, assistant_chain
            reply.is_ended = response.finish_reason is not None and not reply.is_cut
            reply.is_limited = chat.is_truncated(response.finish_reason)
        return reply

    def after(self, assistant_chain: int) -> Reply | None:
        """Return a copy of a reply with the choice that ends an assistant chain, unless one was already continued."""
        choice = self._by_chain.get(chain := self._by_assistant_chain.get(assistant_chain, 0))
        if choice is None or not _is_open(choice.reply):
            return None
        return structs.replace(
            choice.reply, content_number=choice.content_number, chain=chain, assistant_chain=assistant_chain
        )


def _is_open(reply: Reply) -> bool:
    """Return whether no request continues any of the choices so far."""
    return not (reply.children or reply.choice)
