"""Leave out text beside calls, for templates that have a place for one of them only."""

from __future__ import annotations

from typing import Any

from chatsquash.checks import shapes
from chatsquash.core import chat
from chatsquash.core.model import Conversation, Message, Staged


def drop_text_beside_calls(conversation: Conversation) -> Staged:
    """Messages with calls have no text; how many had some is reported."""
    messages = list(map(_without_text, conversation.messages))
    changed = sum(new is not old for new, old in zip(messages, conversation.messages, strict=True))
    found = [shapes.shape_changed({"texts beside calls dropped": changed})] if changed else []
    return Conversation(messages, conversation.tools, marks=conversation.marks), found


def _without_text(message: Message) -> Message:
    if not chat.calls(message) or not (chat.text(message) or "").strip():
        return message
    content = message["content"]
    left: Any = [part for part in content if chat.part_text(part) is None] if isinstance(content, list) else []
    return {**message, "content": left or ""}
