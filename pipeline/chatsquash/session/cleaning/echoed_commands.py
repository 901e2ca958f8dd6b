"""Claude Code's echo of a command that the user typed; what the command says to the model is another message."""

from __future__ import annotations

from chatsquash.core import chat
from chatsquash.core.model import Message

SET = "claude-code"
PLACE = 5
ROLES = ("user",)


def tidy(message: Message) -> Message | None:
    """The message, or ``None`` where its whole text is such an echo and it has no other parts."""
    from chatsquash.formats.agents.claude_code.texts import is_command_echo  # which few runs ask for

    text = chat.text(message)
    if text is not None and is_command_echo(text) and not chat.other_parts(message):
        return None
    return message
