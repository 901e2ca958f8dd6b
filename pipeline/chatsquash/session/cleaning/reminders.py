"""Claude Code's reminders, in messages of the user and in results of tools."""

from __future__ import annotations

from chatsquash.core import chat
from chatsquash.core.model import Json, Message

SET = "claude-code"
PLACE = 8
ROLES = ("user", "tool")


def tidy(message: Message) -> Message | None:
    """The message without reminders; ``None`` for a user's that is nothing else."""
    from chatsquash.formats.agents.claude_code.texts import has_reminder, texts_of  # which few runs ask for

    if not any(map(has_reminder, texts_of(message))):
        return message
    content = message["content"]
    left = _parts(content, message) if isinstance(content, list) else _without(content)
    is_empty = not left or (isinstance(left, str) and left.isspace())
    if is_empty and message["role"] == "user":
        return None
    return {**message, "content": left or ""}


def _without(text: str) -> str:
    """A text without reminders, and without the empty lines at its ends that they leave."""
    from chatsquash.formats.agents.claude_code.texts import without_reminders

    left = without_reminders(text)
    return text if left == text else left.strip("\n")


def _parts(parts: list[Json], message: Message) -> list[Json]:
    """The parts without reminders; those that were nothing else go, unless the places of parts mean something."""
    left = [_part(part) for part in parts]
    if chat.break_positions(message):
        return left
    return [part for part, before in zip(left, parts, strict=True) if part is before or chat.part_text(part)]


def _part(part: Json) -> Json:
    text = chat.part_text(part)
    left = None if text is None else _without(text)
    if left is None or left == text:
        return part
    return left if isinstance(part, str) else {**part, "text": left}
