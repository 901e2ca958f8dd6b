"""Rule c: remove empty assistant messages that are followed by another assistant message."""

from __future__ import annotations

from chatsquash.core import chat, reasoning
from chatsquash.core.model import Message

SET = "goose"
PLACE = 3
OPENS = ""
ROLES = ("assistant",)
FOLLOWER = "assistant"
_SUBSTANCE = ("tool_calls", "tool_call_id", "function_call", "refusal", "audio", *reasoning.MEMBERS)


def removes(message: Message) -> bool:
    """Return whether a message has empty or blank text and nothing else."""
    text = chat.text(message)
    if text is None or (text and not text.isspace()):
        return False
    return not any(message.get(key) for key in _SUBSTANCE) and not chat.other_parts(message)
