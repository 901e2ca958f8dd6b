"""Responses with several choices: which of them the conversation continues."""

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
    said: int
    spoken: int


class Choices(Struct):
    """The choices after the first of all responses, by what a request and the choice are the same by."""

    _by_chain: dict[int, _Choice] = field(default_factory=dict)
    _spoken: dict[int, int] = field(default_factory=dict)
    """The last chain after the same words of assistants."""

    def add(self, reply: Reply, requests: Requests, raw: bytes) -> None:
        """Note the choices of the response to the request that was followed last."""
        for at, response in enumerate(of_raw(raw)):
            if at and response.message is not None:
                said, chain, spoken = requests.behind(response.message)
                if chain != reply.chain:
                    self._by_chain.setdefault(chain, _Choice(reply, at, response, said, spoken))
                    self._spoken[spoken] = chain

    def choose(self, chain: int) -> Reply | None:
        """Return the reply of which a later request contains a choice, which becomes the reply if none is so far.

        The choice that an earlier request contains stays the reply, since a line counts as one.
        """
        choice = self._by_chain.get(chain)
        if choice is None:
            return None
        reply, at, response, said, spoken = choice
        if _is_open(reply) and response.message is not None:
            reply.choice, reply.message = at, response.message
            reply.said, reply.chain, reply.spoken = said, chain, spoken
            reply.is_ended = response.finish_reason is not None and not reply.is_cut
            reply.is_limited = chat.is_truncated(response.finish_reason)
        return reply

    def after(self, spoken: int) -> Reply | None:
        """Return a reply as it is with the choice after these words of assistants, if none is chosen so far."""
        choice = self._by_chain.get(chain := self._spoken.get(spoken, 0))
        if choice is None or not _is_open(choice.reply):
            return None
        return structs.replace(choice.reply, said=choice.said, chain=chain, spoken=spoken)


def _is_open(reply: Reply) -> bool:
    """Whether no request continues from one of the choices so far."""
    return not (reply.children or reply.choice)
