"""Remove Claude Code's ``<system-reminder>`` elements from user messages and tool results."""

from __future__ import annotations

from chatsquash.core import chat
from chatsquash.core.model import Json, Message

SET = "claude-code"
PLACE = 8
ROLES = ("user", "tool")


def tidy(message: Message) -> Message | None:
    """Return the message without reminders, or ``None`` for a user message that contained nothing else."""
    from chatsquash.formats.agents.claude_code.texts import (
        has_reminder,
        texts_of,
    )  # imported here because few runs use the set

    if not any(map(has_reminder, texts_of(message))):
        return message
    content = message["content"]
    remaining = _parts(content, message) if isinstance(content, list) else _without(content)
    is_empty = not remaining or (isinstance(remaining, str) and remaining.isspace())
    if is_empty and message["role"] == "user":
        return None
    return {**message, "content": remaining or ""}


def _without(text: str) -> str:
    """Remove reminders from a string, and the empty lines they leave at its ends."""
    from chatsquash.formats.agents.claude_code.texts import without_reminders

    remaining = without_reminders(text)
    return text if remaining == text else remaining.strip("\n")


def _parts(parts: list[Json], message: Message) -> list[Json]:
    """Remove reminders from content parts, and parts that contained nothing else."""
    remaining = [_part(part) for part in parts]
    # Breaks are indices of parts, so every part keeps its index, even an empty one.
    if chat.break_positions(message):
        return remaining
    return [part for part, before in zip(remaining, parts, strict=True) if part is before or chat.part_text(part)]


def _part(part: Json) -> Json:
    text = chat.part_text(part)
    remaining = None if text is None else _without(text)
    if remaining is None or remaining == text:
        return part
    return remaining if isinstance(part, str) else {**part, "text": remaining}
