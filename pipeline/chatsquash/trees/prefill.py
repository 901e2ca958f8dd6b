"""Replies that continue the last message of their request: a truncated reply, or text that the client wrote."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Any, NamedTuple

from chatsquash.core import chat, reasoning
from chatsquash.core.blocks import Block, Reasoning, Text, Turn
from chatsquash.core.model import Json, Message
from chatsquash.trees.canonical import Canon, is_long
from chatsquash.trees.replies import Reply


def is_prefill(message: Message) -> bool:
    """Whether the last message of a request is one that the reply continues."""
    return message["role"] == "assistant" and not chat.has_calls(message) and is_joinable(message)


def is_joinable(message: Message) -> bool:
    """Whether the content of a message is a text, a list of parts or absent; logs may have any value there."""
    return isinstance(message.get("content"), str | list | None)


def is_beginning(message: Message, reply: Message) -> bool:
    """Whether a message contains what a client keeps of a truncated reply: its first text, and its first calls."""
    said, whole = (reasoning.without_block(chat.text(each) or "").strip() for each in (message, reply))
    if not whole.startswith(said):
        return False
    kept, calls = chat.calls(message), chat.calls(reply)
    return len(kept) <= len(calls) and all(
        one.get("id") == other.get("id") and chat.call_name(one) == chat.call_name(other)
        for one, other in zip(kept, calls, strict=False)
    )


def is_kept_beginning(message: Message, reply: Message) -> bool:
    """The same for a message that others follow: it says something."""
    return bool((chat.text(message) or "").strip() or chat.calls(message)) and is_beginning(message, reply)


class Prefill(NamedTuple):
    """The last message of a request, which its reply continues."""

    message: Message
    asked: int
    """What the request is the same by without it."""
    spoken: int
    """The same for what assistants say alone."""
    logged: Reply | None
    """The logged reply that it is."""
    begun: Reply | None
    """The truncated reply that it is, or the beginning of."""
    is_item: bool
    """Whether it consists of items, after which a model begins a new one."""

    def join(self, reply: Reply, canon: Canon) -> None:
        """Make one message of a truncated reply and the reply that continues it.

        Text that the client wrote stays a separate message, unless a later request joins both.
        """
        whole = continued(self.message, reply.message)
        number = canon.number_of_both(self.message, reply.message, whole)
        chain = hash((self.asked, number))
        if self.begun is None:
            reply.is_prefilled, reply.other_said, reply.other_chain = self.logged is None, number, chain
            return
        self.begun.is_continued = reply.is_merged = True
        reply.other_said, reply.other_chain = reply.said, reply.chain
        reply.message, reply.said, reply.chain, reply.asked = whole, number, chain, self.asked
        reply.spoken = hash((self.spoken, number))
        if self.is_item and ((chat.text(self.message) or "").strip() or reasoning.text(self.message).strip()):
            reply.finished = self.message
        del reply.added[-1], reply.behind[-1]


def continued(prefill: Message, reply: Message) -> Message:
    """Return the message that consists of a prefill and the reply that continues it."""
    if chat.turn(prefill) or chat.turn(reply):
        return _of_turns(prefill, reply)
    begun, said = prefill.get("content"), reply.get("content")
    if isinstance(begun, list) or isinstance(said, list):
        content: Json = [*_parts(begun), *_parts(said)]
    else:
        content = _join(begun or "", said or "")
    made: Any = {**reply, "content": content}
    thoughts = [thought for each in (prefill, reply) if (thought := reasoning.text(each).strip())]
    if thoughts and reasoning.text(prefill).strip():
        made = {name: value for name, value in made.items() if name not in reasoning.MEMBERS}
        made[reasoning.MEMBER] = "\n\n".join(dict.fromkeys(thoughts))
    return made  # type: ignore[no-any-return]


def _join(begun: str, said: str) -> str:
    """The text of both; some services repeat the prefill in the reply."""
    return said if is_long(begun) and said.startswith(begun) else begun + said


def _parts(content: Json) -> list[Json]:
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if content else []


def without_finished(messages: list[Message], path: Iterable[Reply], canon: Canon) -> list[Message]:
    """Return messages in which finished items of truncated responses are apart from the replies that follow them.

    ``path``: the replies, the last one first.
    """
    waiting = deque(reply for reply in [*path][::-1] if reply.finished)
    if not waiting:
        return messages
    made: list[Message] = []
    for message in messages:
        reply = waiting[0] if waiting and message["role"] == "assistant" else None
        if reply and reply.finished and canon.number(message) == reply.said:
            waiting.popleft()
            made += _divide(message, reply.finished)
        else:
            made.append(message)
    return made


def _divide(message: Message, finished: Message) -> list[Message]:
    """A message as two: the blocks of the finished items, and those after them."""
    from chatsquash.formats import view  # as below
    from chatsquash.formats.providers.openai_chat.read import turns_of_messages

    turn, begun = turns_of_messages([message])[0], turns_of_messages([finished])[0]
    at = _end_of(begun.blocks, turn.blocks)
    if not 0 < at < len(turn.blocks):
        return [message]
    both = (turn.blocks[:at], turn.blocks[at:])
    return [view.message(Turn("assistant", blocks, native=turn.native)) for blocks in both]


def _end_of(begun: tuple[Block, ...], blocks: tuple[Block, ...]) -> int:
    """Where the blocks of finished items end among those of a message; 0 if it does not begin with them."""
    left = sum(type(block) is not Reasoning for block in begun)
    if not left:
        texts, begins = ([each.text for each in some if type(each) is Reasoning] for some in (begun, blocks))
        return len(begun) if texts == begins[: len(texts)] else 0
    for at, block in enumerate(blocks):
        if not left:
            return at
        left -= type(block) is not Reasoning
    return 0


def _of_turns(prefill: Message, reply: Message) -> Message:
    """The same where messages do not say all of their turns: reasoning before text and calls."""
    from chatsquash.formats import view  # which only truncated or prefilled replies need
    from chatsquash.formats.providers.openai_chat.read import turns_of_messages

    turns = turns_of_messages([prefill, reply])
    thoughts, others, at = list[Block](), list[Block](), 0
    for turn in turns:
        at = len(others)
        for block in turn.blocks:
            if type(block) is not Reasoning:
                others.append(block)
            elif block not in thoughts:
                thoughts.append(block)
    if 0 < at < len(others) and type(first := others[at - 1]) is Text and type(second := others[at]) is Text:
        others[at - 1 : at + 1] = [Text(_join(first.text, second.text), native={**first.native, **second.native})]
    return view.message(Turn("assistant", (*thoughts, *others), native=turns[-1].native))
