"""Responses that several files of an agent hold: who resumes a session may get a copy of its history."""

from __future__ import annotations

from msgspec.structs import replace

from chatsquash.core.model import Tokens
from chatsquash.core.outcome import Outcome
from chatsquash.reading.tokens import total
from chatsquash.trees.index import Index


class Copied:
    """Knows the responses of the sessions that came before; of each it keeps one number."""

    def __init__(self) -> None:
        self._seen = Index()

    def counted_once(self, outcome: Outcome) -> Outcome:
        """A session whose tokens are those of the responses that no session before it has."""
        again = [
            Tokens(prompt, completion)
            for digest, prompt, completion in outcome.replies.sampled
            if self._seen.put(digest or 1, 0) is not None
        ]
        if not again:
            return outcome
        copied, all_of_them = total(again), outcome.replies.tokens
        left = (None if have is None else have - (less or 0) for have, less in zip(all_of_them, copied, strict=True))
        return replace(outcome, replies=replace(outcome.replies, tokens=Tokens(*left)))
