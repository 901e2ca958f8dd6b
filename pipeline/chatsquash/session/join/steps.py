"""The replies that an agent's file alone has, as entries of the session that it is joined with."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator

from msgspec import Struct
from msgspec.structs import replace

from chatsquash.core.model import AddedRun, Edits, Entry, KeptRun, Message, Response, Tokens
from chatsquash.session.cleaning import clean
from chatsquash.session.join.files import View, said


class Step(Struct, frozen=True):
    """A reply that the agent's file alone has, and what stood before it."""

    line: int
    view: View
    number: int
    """Which of the replies of the conversation it is."""
    base: Entry | None
    """The last request of the conversation that the gateway logged, if it logged one."""
    place: int | None
    """Where the reply stands in that request; ``None``: behind it."""
    begin: int = 0
    """The message of the agent's conversation from which on messages go on from that request."""

    def entry(self) -> Entry:
        """The request and its reply."""
        logged, messages = self.view.reply(self.number), self.messages
        tools = self.base.tools if self.base else self.view.place.conversation.tools
        reply = Response(
            self.reply,
            finish_reason=logged.finish_reason,
            model=logged.model,
            id=logged.response_id or "",
            tokens=Tokens(logged.prompt_tokens, logged.completion_tokens),
        )
        return Entry(self.line, logged.time, None, messages, (AddedRun(tuple(messages)),), tools, reply, loaded=True)

    @property
    def reply(self) -> Message:
        """The reply, as the gateway logged it in a later request, else as the agent's file has it."""
        if self.base and self.place is not None:
            return self.base.messages[self.place]
        message = self.view.said(self.number)
        assert message is not None
        return message

    @property
    def messages(self) -> list[Message]:
        """What stood before it."""
        if self.base and self.place is not None:
            return self.base.messages[: self.place]
        at = self.view.reply(self.number).at or 0
        if self.base is None or self.base.reply.message is None:
            return self.view.messages[:at]
        return [*self.base.messages, self.base.reply.message, *self.view.messages[self.begin : at]]


def entries(steps: Iterator[Step], cleanups: tuple[str, ...]) -> Iterator[tuple[Step, Entry]]:
    """The steps of a conversation with their entries, cleaned by the rules of some sets."""
    waiting: deque[tuple[Step, Entry]] = deque()

    def logged() -> Iterator[Entry]:
        before: list[Message] = []
        for step in steps:
            entry = step.entry()
            entry = replace(entry, edits=_edits(before, entry.messages))
            waiting.append((step, entry))
            yield entry
            before = entry.messages

    is_whole, before = True, list[Message]()
    for made in clean(logged(), cleanups) if cleanups else logged():
        step, entry = waiting.popleft()
        is_whole = is_whole and isinstance(made, Entry)
        entry = made if isinstance(made, Entry) else entry
        yield step, entry if is_whole else replace(entry, edits=_edits(before, entry.messages))
        before = entry.messages


def _edits(before: list[Message], messages: list[Message]) -> Edits:
    """What leads from the messages of a request to those of one that goes on from it, or else begins anew."""
    kept = len(before) if before and messages[: len(before)] == before else 0
    added = tuple(messages[kept:])
    edits: Edits = (KeptRun(0, kept),) if kept else ()
    return (*edits, AddedRun(added)) if added else edits


class Places:
    """Finds replies in a request, each behind the one that was found before it."""

    def __init__(self, messages: list[Message]) -> None:
        self._waiting: dict[int, deque[int]] = {}
        self._last = -1
        for at, message in enumerate(messages):
            if message["role"] == "assistant":
                self._waiting.setdefault(said(message), deque()).append(at)

    def find(self, message: Message) -> int | None:
        """Where a reply stands."""
        waiting = self._waiting.get(said(message))
        while waiting:
            if (at := waiting.popleft()) > self._last:
                self._last = at
                return at
        return None
