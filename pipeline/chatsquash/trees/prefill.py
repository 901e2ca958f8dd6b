"""Handle replies that continue the last message of their request: a truncated reply, or text written by the client."""

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
    """Return whether a reply may continue this last message of its request."""
    return message["role"] == "assistant" and not chat.has_calls(message) and is_joinable(message)


def is_joinable(message: Message) -> bool:
    """Return whether the content of a message is text, a list of parts or missing."""
    # Logs may contain any value there.
    return isinstance(message.get("content"), str | list | None)


def is_beginning(message: Message, reply: Message) -> bool:
    """Return whether a message contains what a client keeps of a truncated reply: the first text and calls."""
    beginning, complete = (reasoning.without_block(chat.text(each) or "").strip() for each in (message, reply))
    if not complete.startswith(beginning):
        return False
    kept_calls, calls = chat.calls(message), chat.calls(reply)
    return len(kept_calls) <= len(calls) and all(
        one.get("id") == other.get("id") and chat.call_name(one) == chat.call_name(other)
        for one, other in zip(kept_calls, calls, strict=False)
    )


def is_kept_beginning(message: Message, reply: Message) -> bool:
    """Return whether a message before others is a non-empty beginning of a reply."""
    return bool((chat.text(message) or "").strip() or chat.calls(message)) and is_beginning(message, reply)


class Prefill(NamedTuple):
    """The last message of a request, which its reply continues."""

    message: Message
    request_chain: int
    """The chain of the request without the message."""
    assistant_chain: int
    """The assistant chain of the request without the message."""
    logged_reply: Reply | None
    """The logged reply that matches the message."""
    truncated_reply: Reply | None
    """The truncated reply that the message repeats, completely or in part."""
    is_item: bool
    """Whether the message consists of items, after which a model begins a new one."""

    def join(self, reply: Reply, canon: Canon) -> None:
        """Join a truncated reply and the reply that continues it into one message.

        Text written by the client remains a separate message, unless a later request joins both.
        """
        complete = join_messages(self.message, reply.message)
        number = canon.number_of_both(self.message, reply.message, complete)
        chain = hash((self.request_chain, number))
        if self.truncated_reply is None:
            reply.is_prefilled, reply.other_content_number, reply.other_chain = self.logged_reply is None, number, chain
            return
        # The client sent the truncated text back as the beginning of this reply, so the truncated line counts as a
        # retry.
        self.truncated_reply.is_continued = reply.is_merged = True
        reply.other_content_number, reply.other_chain = reply.content_number, reply.chain
        reply.message, reply.content_number, reply.chain, reply.request_chain = (
            complete,
            number,
            chain,
            self.request_chain,
        )
        reply.assistant_chain = hash((self.assistant_chain, number))
        if self.is_item and ((chat.text(self.message) or "").strip() or reasoning.text(self.message).strip()):
            reply.finished = self.message
        del reply.new_numbers[-1], reply.new_messages[-1]


def join_messages(prefill: Message, reply: Message) -> Message:
    """Return the message made of a prefill and the reply that continues it."""
    if chat.turn(prefill) or chat.turn(reply):
        return _of_turns(prefill, reply)
    beginning, rest = prefill.get("content"), reply.get("content")
    if isinstance(beginning, list) or isinstance(rest, list):
        content: Json = [*_parts(beginning), *_parts(rest)]
    else:
        content = _join(beginning or "", rest or "")
    message: Any = {**reply, "content": content}
    thoughts = [thought for each in (prefill, reply) if (thought := reasoning.text(each).strip())]
    if thoughts and reasoning.text(prefill).strip():
        message = {name: value for name, value in message.items() if name not in reasoning.MEMBERS}
        message[reasoning.MEMBER] = "\n\n".join(dict.fromkeys(thoughts))
    return message  # type: ignore[no-any-return]


def _join(beginning: str, rest: str) -> str:
    """Return the joined text."""
    # Some services repeat the prefill in the reply.
    return rest if is_long(beginning) and rest.startswith(beginning) else beginning + rest


def _parts(content: Json) -> list[Json]:
    if isinstance(content, list):
        return content
    return [{"type": "text", "text": content}] if content else []


def without_finished(messages: list[Message], path: Iterable[Reply], canon: Canon) -> list[Message]:
    """Return messages in which finished items of truncated responses are separate from the replies after them.

    ``path``: the replies, latest first.
    """
    pending = deque(reply for reply in [*path][::-1] if reply.finished)
    if not pending:
        return messages
    result: list[Message] = []
    for message in messages:
        reply = pending[0] if pending and message["role"] == "assistant" else None
        if reply and reply.finished and canon.number(message) == reply.content_number:
            pending.popleft()
            result += _divide(message, reply.finished)
        else:
            result.append(message)
    return result


def _divide(message: Message, finished: Message) -> list[Message]:
    """Split a message into the blocks of the finished items and the blocks after them."""
    from chatsquash.formats import view  # only needed for truncated responses
    from chatsquash.formats.providers.openai_chat.read import turns_of_messages

    turn, beginning = turns_of_messages([message])[0], turns_of_messages([finished])[0]
    end = _end_of(beginning.blocks, turn.blocks)
    if not 0 < end < len(turn.blocks):
        return [message]
    both = (turn.blocks[:end], turn.blocks[end:])
    return [view.message(Turn("assistant", blocks, native=turn.native)) for blocks in both]


def _end_of(beginning: tuple[Block, ...], blocks: tuple[Block, ...]) -> int:
    """Return the index after the blocks of the finished items; 0 if the message does not begin with them."""
    remaining = sum(type(block) is not Reasoning for block in beginning)
    if not remaining:
        texts, begins = ([each.text for each in some if type(each) is Reasoning] for some in (beginning, blocks))
        return len(beginning) if texts == begins[: len(texts)] else 0
    for index, block in enumerate(blocks):
        if not remaining:
            return index
        remaining -= type(block) is not Reasoning
    return 0


def _of_turns(prefill: Message, reply: Message) -> Message:
    """Join messages whose turns contain more than text, with reasoning before text and calls."""
    from chatsquash.formats import view  # only needed for truncated or prefilled replies
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
