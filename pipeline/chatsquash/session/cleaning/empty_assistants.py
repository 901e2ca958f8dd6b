"""Rule c: messages of the assistant that say nothing, where another message of the assistant follows."""

from __future__ import annotations

from chatsquash.core import chat, reasoning
from chatsquash.core.model import Message

SET = "goose"
PLACE = 3
OPENS = ""
ROLES = ("assistant",)
FOLLOWER = "assistant"
_SUBSTANCE = ("tool_calls", "tool_call_id", "function_call", "refusal", "audio", *reasoning.MEMBERS)


def goes(message: Message) -> bool:
    """Whether a message has a text that says nothing, and has nothing else."""
    text = chat.text(message)
    if text is None or (text and not text.isspace()):
        return False
    return not any(message.get(key) for key in _SUBSTANCE) and not chat.other_parts(message)
