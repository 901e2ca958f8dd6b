"""Titles and endings of sessions for lists: the beginning of the first prompt, and how the conversation ended."""

from __future__ import annotations

from typing import Any

import msgspec

from chatsquash.core import jsonio
from chatsquash.core.model import Json, Message
from chatsquash.records import NotARecordError
from chatsquash.records.reading import native, record
from chatsquash.trees.canonical import prompt_text

LONGEST = 200
"""Characters of a title."""
_MAX_SCANNED = 10_000
"""Characters of a prompt that are used for its title."""
_MESSAGES = 30
"""Messages of a record that are searched for a prompt."""


def title(messages: list[Message]) -> str | None:
    """Return the beginning of the first nonempty user message, in one line, or ``None`` if there is none."""
    prompts = (prompt_text(message) for message in messages if message["role"] == "user")
    text = next(filter(None, prompts), None)
    return None if text is None else one_line(text)


def title_of_value(value: Json) -> str | None:
    """Return the title of a record of any preset, or ``None`` if the value is not a record."""
    try:
        return title(native(record(value)).messages)
    except NotARecordError:
        return None


def title_of_line(data: bytes) -> str | None:
    """Return the title of a record from its JSON; only the first messages are parsed."""
    try:
        members = msgspec.json.decode(data, type=dict[str, msgspec.Raw])
        return title_of_value({name: _beginning(raw) for name, raw in members.items() if name != "tools"})
    except (ValueError, RecursionError):  # msgspec rejects some JSON that other parsers accept
        return None


def _beginning(raw: msgspec.Raw) -> Json:
    """Parse a member of a record; only the first items of a list."""
    data = bytes(raw)
    if not data.startswith(b"["):
        return jsonio.loads(data)
    return [jsonio.loads(bytes(each)) for each in msgspec.json.decode(data, type=list[msgspec.Raw])[:_MESSAGES]]


def one_line(text: str) -> str:
    """Return the beginning of a text in one line."""
    text = " ".join(text[:_MAX_SCANNED].split())
    return text if len(text) <= LONGEST else text[: LONGEST - 1] + "…"


def ending(row: dict[str, Any]) -> str | None:
    """Return how the conversation of a record ended, by the strongest evidence."""
    if row["reward"] is not None:
        return f"reward {row['reward']:g}"
    if row["exit"] is not None:
        return f"exit {row['exit']}"
    if row["truncated"]:
        return "truncated"
    if row["last_user"] in ("thanks", "complaint", "correction"):
        return str(row["last_user"])
    finish: str | None = row["finish"]
    return finish
