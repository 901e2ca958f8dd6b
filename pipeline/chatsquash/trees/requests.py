"""The messages of each request as numbers, kept up from one request to the next by its edits."""

from __future__ import annotations

from collections.abc import Callable

from msgspec import Struct, field

from chatsquash.core import chat
from chatsquash.core.model import Added, Edits, Kept, Message
from chatsquash.trees.canonical import NOTHING, Canon, result_number

Meet = Callable[[int, int, int], tuple[int, int]]
"""Takes the place of an assistant's message, the chain and the spoken chain that end there; gives them as those of the
logged reply that this is, in whatever wording."""


def numbered(messages: list[Message], canon: Canon) -> list[tuple[int, Message]]:
    """Messages of a request, each with what it is the same by."""
    requests = Requests(canon)
    requests.follow(messages, (Added(tuple(messages)),))
    return [*zip(requests.numbers, messages, strict=True)]


class Requests(Struct):
    """The request that was followed last, message by message."""

    canon: Canon = field(default_factory=Canon)
    messages: list[Message] = field(default_factory=list)
    numbers: list[int] = field(default_factory=list)
    """What each message is the same by."""
    chains: list[int] = field(default_factory=list)
    """What everything up to and including each message is the same by."""
    spoken: list[int] = field(default_factory=list)
    """The same for what assistants say alone."""
    assistants: list[int] = field(default_factory=list)
    """The places of the assistants' messages."""

    def follow(self, messages: list[Message], edits: Edits, meet: Meet | None = None) -> int:
        """Go on to the next request; returns how many of its first messages are as they were."""
        kept = edits[0].stop if edits and isinstance(edits[0], Kept) and edits[0].start == 0 else 0
        before, self.messages = self.numbers, messages
        if kept < len(before):
            self.numbers = before[:kept]
            del self.chains[kept:], self.spoken[kept:]
            while self.assistants and self.assistants[-1] >= kept:
                self.assistants.pop()
        at = kept
        for run in edits[1:] if kept else edits:
            if isinstance(run, Kept):
                self._extend(at, before[run.start : run.stop], (), meet)
                at += run.stop - run.start
            else:
                self._extend(at, None, run.messages, meet)
                at += len(run.messages)
        return kept

    def _extend(self, at: int, known: list[int] | None, messages: tuple[Message, ...], meet: Meet | None) -> None:
        """Messages from a place on, by their numbers where these are known."""
        chain = self.chains[-1] if self.chains else 0
        spoken = self.spoken[-1] if self.spoken else 0
        chains, spokens, numbers, canon = self.chains, self.spoken, self.numbers, self.canon
        for place, message in enumerate(messages or self.messages[at : at + len(known or ())], at):
            role = message["role"]
            if known:
                number = known[place - at]
            elif role == "tool":
                asked = self.messages[self.assistants[-1]] if self.assistants else None
                number = result_number(answered(message, asked) if asked else 0)
            else:
                number = canon.number(message)
            if number != NOTHING:
                chain = hash((chain, number))
            numbers.append(number)
            if role == "assistant":
                spoken = hash((spoken, number))
                self.assistants.append(place)
                if meet:
                    chain, spoken = meet(place, chain, spoken)
            chains.append(chain)
            spokens.append(spoken)

    def rebase(self, place: int, chain: int, spoken: int) -> None:
        """Take what ends at a place for another chain, behind which no assistant says anything."""
        self.chains[place], self.spoken[place] = chain, spoken
        for at in range(place + 1, len(self.numbers)):
            if self.numbers[at] != NOTHING:
                chain = hash((chain, self.numbers[at]))
            self.chains[at], self.spoken[at] = chain, spoken

    @property
    def chain(self) -> int:
        """What the whole request is the same by."""
        return self.chains[-1] if self.chains else 0

    def behind(self, reply: Message) -> tuple[int, int, int]:
        """The number of a reply, and the chain and the spoken chain that end with it."""
        number = self.canon.number(reply)
        spoken = self.spoken[-1] if self.spoken else 0
        return number, hash((self.chain, number)), hash((spoken, number))


def answered(message: Message, reply: Message) -> int:
    """The place of the call of a reply that a result answers, from 1; 0 for none."""
    wanted = message.get("tool_call_id")
    if wanted is None:
        return 0
    calls = reply.get("tool_calls")
    for place, call in enumerate(calls if isinstance(calls, list) else (), 1):
        if isinstance(call, dict) and call.get("id") == wanted:
            return place
    return 0


def system_prompt(messages: list[Message]) -> str:
    """The system prompt that messages begin with; empty if they have none."""
    said = []
    for message in messages:
        if message["role"] not in ("system", "developer"):
            break
        said.append(chat.text(message) or "")
    return "\n".join(said)
