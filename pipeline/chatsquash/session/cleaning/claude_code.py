"""The text that Claude Code writes as the user: echoes, output of local commands, notices and reminders."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from chatsquash.core import chat
from chatsquash.core.lazy import LazyModule
from chatsquash.core.model import Json, Message
from chatsquash.session.cleaning import CleaningRule

if TYPE_CHECKING:
    from chatsquash.formats.agents.claude_code import texts
else:  # listing the rules does not need it
    texts = LazyModule("chatsquash.formats.agents.claude_code.texts")

PLACE = 2


def without_echo(message: Message) -> Message | None:
    """Return the message, or ``None`` if it consists of the echo of a command.

    The command's text for the model is a separate message.
    """
    return _unless(message, texts.is_command_echo)


def without_output(message: Message) -> Message | None:
    """Return the message, or ``None`` for the output of a command that the user ran without the model.

    The warning that precedes such output is also removed.
    """
    return _unless(message, texts.is_local_output)


def without_interruption(message: Message) -> Message | None:
    """Return the message, or ``None`` if it consists of the notice that the user interrupted the model."""
    return _unless(message, texts.is_interruption)


def _unless(message: Message, is_from_client: Callable[[str], bool]) -> Message | None:
    text = chat.text(message)
    if text is not None and is_from_client(text) and not chat.other_parts(message):
        return None
    return message


def without_reminders(message: Message) -> Message | None:
    """Return the message without reminders, or ``None`` for a user message that contained nothing else."""
    if not any(map(texts.has_reminder, texts.texts_of(message))):
        return message
    content = message["content"]
    remaining = _parts(content, message) if isinstance(content, list) else _without(content)
    is_empty = not remaining or (isinstance(remaining, str) and remaining.isspace())
    if is_empty and message["role"] == "user":
        return None
    return {**message, "content": remaining or ""}


def _without(text: str) -> str:
    """Remove reminders from a string, and the empty lines they leave at its ends."""
    remaining = texts.without_reminders(text)
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


RULES = (
    CleaningRule(name="echoed_commands", roles=("user",), tidy=without_echo),
    CleaningRule(name="local_outputs", roles=("user",), tidy=without_output),
    CleaningRule(name="interruptions", roles=("user",), tidy=without_interruption),
    CleaningRule(name="reminders", roles=("user", "tool"), tidy=without_reminders),
)
