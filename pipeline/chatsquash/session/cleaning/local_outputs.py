"""What a command printed that ran beside the model of Claude Code, and the warning in front of it."""

from __future__ import annotations

from chatsquash.core import chat
from chatsquash.core.model import Message

SET = "claude-code"
PLACE = 6
ROLES = ("user",)


def tidy(message: Message) -> Message | None:
    """The message, or ``None`` where its whole text is such an output and it has no other parts."""
    from chatsquash.formats.agents.claude_code.texts import is_local_output  # which few runs ask for

    text = chat.text(message)
    if text is not None and is_local_output(text) and not chat.other_parts(message):
        return None
    return message
