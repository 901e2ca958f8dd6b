"""Give text beside calls a message of its own, for templates that print only one of them."""

from __future__ import annotations

from collections.abc import Iterator

from chatsquash.checks import shapes
from chatsquash.core import chat
from chatsquash.core.marks import divided
from chatsquash.core.model import Conversation, Message, Staged


def split_text_and_calls(conversation: Conversation) -> Staged:
    """The text, with all but the calls, comes in a message before them; how often is reported."""
    split = [[*_parts(message)] for message in conversation.messages]
    messages = [part for parts in split for part in parts]
    count = len(messages) - len(conversation.messages)
    found = [shapes.shape_changed({"texts split from calls": count})] if count else []
    counts = [len(parts) for parts in split if parts[0]["role"] == "assistant"]
    return Conversation(messages, conversation.tools, marks=divided(conversation, counts)), found


def _parts(message: Message) -> Iterator[Message]:
    if not chat.calls(message) or not (chat.text(message) or "").strip():
        yield message
        return
    said: Message = {key: value for key, value in message.items() if key != "tool_calls"}  # type: ignore[assignment]
    yield said
    yield {"role": "assistant", "content": "", "tool_calls": message["tool_calls"]}
