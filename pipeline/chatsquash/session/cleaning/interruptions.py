"""Claude Code's word that the user stopped the model."""

from __future__ import annotations

from chatsquash.core import chat
from chatsquash.core.model import Message

SET = "claude-code"
PLACE = 7
ROLES = ("user",)


def tidy(message: Message) -> Message | None:
    """The message, or ``None`` where its whole text is that and it has no other parts."""
    from chatsquash.formats.agents.claude_code.texts import is_interruption  # which few runs ask for

    text = chat.text(message)
    if text is not None and is_interruption(text) and not chat.other_parts(message):
        return None
    return message
