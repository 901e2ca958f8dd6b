"""The messages of each request as numbers, kept up from one request to the next by its edits."""

from __future__ import annotations

from msgspec import Struct, field

from chatsquash import chat
from chatsquash.model import Entry, Kept, Message
from chatsquash.tree.canonical import NOTHING, Canon


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
    _waiting: dict[str | bytes, int] = field(default_factory=dict)
    """The calls that the next results may answer, and their places, from 1."""

    def follow(self, entry: Entry) -> int:
        """Go on to the request of the next entry; returns how many of its first messages are as they were."""
        kept = entry.kept
        before, self.messages = self.numbers, entry.messages
        if kept < len(before):
            self.numbers = before[:kept]
            del self.chains[kept:], self.spoken[kept:]
            while self.assistants and self.assistants[-1] >= kept:
                self.assistants.pop()
            self._waiting = self._open(kept)
        at = kept
        for run in entry.edits[1:] if kept else entry.edits:
            if isinstance(run, Kept):
                self._extend(at, before[run.start : run.stop])
                at += run.stop - run.start
            else:
                self._extend(at, None, run.messages)
                at += len(run.messages)
        return kept

    def extend(self, messages: list[Message]) -> None:
        """Go on with messages."""
        self.messages = [*self.messages, *messages]
        self._extend(len(self.numbers), None, tuple(messages))

    def _extend(self, at: int, known: list[int] | None, messages: tuple[Message, ...] = ()) -> None:
        """Messages from a place on, by their numbers where these are known."""
        chain = self.chains[-1] if self.chains else 0
        spoken = self.spoken[-1] if self.spoken else 0
        for place, message in enumerate(messages or self.messages[at : at + len(known or ())], at):
            role = message["role"]
            answered = self._answered(message) if role == "tool" else 0
            number = known[place - at] if known else self.canon.number(message, answered)
            if number != NOTHING:
                chain = hash((chain, number))
            if role == "assistant":
                spoken = hash((spoken, number))
                self.assistants.append(place)
                self._waiting = _places(message)
            self.numbers.append(number)
            self.chains.append(chain)
            self.spoken.append(spoken)

    def _answered(self, message: Message) -> int:
        key = chat.id_key(message.get("tool_call_id"))
        return self._waiting.get(key, 0) if key is not None else 0

    @staticmethod
    def answered(message: Message, reply: Message) -> int:
        """The place of the call of a reply that a result answers, from 1; 0 for none."""
        key = chat.id_key(message.get("tool_call_id"))
        return _places(reply).get(key, 0) if key is not None else 0

    def _open(self, stop: int) -> dict[str | bytes, int]:
        """The calls of the last assistant before a place."""
        return _places(self.messages[self.assistants[-1]]) if self.assistants and self.assistants[-1] < stop else {}

    @property
    def chain(self) -> int:
        """What the whole request is the same by."""
        return self.chains[-1] if self.chains else 0

    def behind(self, reply: Message) -> tuple[int, int, int]:
        """The number of a reply, and the chain and the spoken chain that end with it."""
        number = self.canon.number(reply)
        spoken = self.spoken[-1] if self.spoken else 0
        return number, hash((self.chain, number)), hash((spoken, number))

    def system(self) -> str:
        """The system prompt that the request begins with; empty if it has none."""
        said = []
        for message in self.messages:
            if message["role"] not in ("system", "developer"):
                break
            said.append(chat.text(message) or "")
        return "\n".join(said)


def _places(message: Message) -> dict[str | bytes, int]:
    calls = ((chat.id_key(call.get("id")), at) for at, call in enumerate(chat.calls(message), 1))
    return {key: at for key, at in calls if key is not None}
