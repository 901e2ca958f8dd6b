"""Remove the output of commands that the user ran in Claude Code without the model, and the warning before it."""

from __future__ import annotations

from chatsquash.core import chat
from chatsquash.core.model import Message

SET = "claude-code"
PLACE = 6
ROLES = ("user",)


def tidy(message: Message) -> Message | None:
    """Return the message, or ``None`` if it consists of such output."""
    from chatsquash.formats.agents.claude_code.texts import (
        is_local_output,
    )  # imported here because few runs use the set

    text = chat.text(message)
    if text is not None and is_local_output(text) and not chat.other_parts(message):
        return None
    return message
