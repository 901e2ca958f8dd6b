"""Claude Code's reminders, in messages of the user and in results of tools."""

from __future__ import annotations

from chatsquash import chat
from chatsquash.formats.client_texts import has_reminder, texts_of, without_reminders
from chatsquash.model import Json, Message

SET = "claude-code"
PLACE = 8
ROLES = ("user", "tool")


def tidy(message: Message) -> Message | None:
    """The message without reminders; ``None`` for a user's that is nothing else."""
    if not any(map(has_reminder, texts_of(message))):
        return message
    content = message["content"]
    left = _parts(content, message) if isinstance(content, list) else _stripped(content)
    is_empty = not left or (isinstance(left, str) and left.isspace())
    if is_empty and message["role"] == "user":
        return None
    return {**message, "content": left or ""}


def _stripped(text: str) -> str:
    """A text without reminders, and without the empty lines at its ends that they leave."""
    return without_reminders(text).strip("\n") if has_reminder(text) else text


def _parts(parts: list[Json], message: Message) -> list[Json]:
    """The parts without reminders; those that were nothing else go, unless the places of parts mean something."""
    left = [_part(part) for part in parts]
    if chat.BREAKS in chat.private(message):
        return left
    return [part for part, before in zip(left, parts, strict=True) if part is before or chat.part_text(part)]


def _part(part: Json) -> Json:
    text = chat.part_text(part)
    if text is None or not has_reminder(text):
        return part
    return _stripped(text) if isinstance(part, str) else {**part, "text": _stripped(text)}
