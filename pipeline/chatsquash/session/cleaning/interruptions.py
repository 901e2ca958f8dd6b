"""Remove Claude Code's notices that the user interrupted the model."""

from __future__ import annotations

from chatsquash.core import chat
from chatsquash.core.model import Message

SET = "claude-code"
PLACE = 7
ROLES = ("user",)


def tidy(message: Message) -> Message | None:
    """Return the message, or ``None`` if it consists of the notice."""
    from chatsquash.formats.agents.claude_code.texts import (
        is_interruption,
    )  # imported here because few runs use the set

    text = chat.text(message)
    if text is not None and is_interruption(text) and not chat.other_parts(message):
        return None
    return message
