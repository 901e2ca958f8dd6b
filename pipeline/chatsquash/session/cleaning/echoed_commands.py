"""Remove Claude Code's echo of a command the user typed; the command's text for the model is a separate message."""

from __future__ import annotations

from chatsquash.core import chat
from chatsquash.core.model import Message

SET = "claude-code"
PLACE = 5
ROLES = ("user",)


def tidy(message: Message) -> Message | None:
    """Return the message, or ``None`` if it consists of a command echo."""
    from chatsquash.formats.agents.claude_code.texts import (
        is_command_echo,
    )  # imported here because few runs use the set

    text = chat.text(message)
    if text is not None and is_command_echo(text) and not chat.other_parts(message):
        return None
    return message
