"""What one message says, as presets for training have it: a string, and the text of its reasoning."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pipeline import chat, codec
from pipeline.formats import openai_chat
from pipeline.formats.openai_chat.members import is_empty
from pipeline.model import Message
from pipeline.write.holding import Notes

_THINKING = ("thinking", "redacted_thinking", "reasoning")
_MEMBERS = {
    "system": frozenset({"role", "content"}),
    "user": frozenset({"role", "content"}),
    "assistant": frozenset({"role", "content", "tool_calls", *chat.REASONING_KEYS}),
    "tool": frozenset({"role", "content", "tool_call_id", "name"}),
}
_PLAIN = chat.REASONING_KEYS[0]
_ODD = frozenset(chat.REASONING_KEYS[1:])


def text(message: Message, role: str, notes: Notes) -> str:
    """The content as a string: text parts are joined, other parts go; members that no preset has are noted."""
    if rest := message.keys() - _MEMBERS[role]:
        holder: dict[str, Any] = message  # type: ignore[assignment]
        notes.drop(f"member {key} of {role} messages" for key in sorted(rest) if not is_empty(holder[key]))
    content = message.get("content")
    if type(content) is str:
        return content
    if content is None:
        return ""
    if role == "tool" and not isinstance(content, str | list):
        notes.changed["results as JSON text"] += 1
        return codec.dumps(content).decode("utf-8", "surrogatepass")
    notes.drop(f"parts of type {kind}" for kind in _kinds(message))
    return chat.joined(message) or ""


def reasoning(message: Message) -> str:
    """The text of the reasoning, in whichever spelling; empty if there is none."""
    said = message.get(_PLAIN)
    if isinstance(message.get("content"), list) or not _ODD.isdisjoint(message) or not isinstance(said, str | None):
        return openai_chat.reasoning(message)
    return said or ""


def _kinds(message: Message) -> Iterator[str]:
    for part in chat.other_parts(message):
        kind = part.get("type") if isinstance(part, dict) else None
        if kind not in _THINKING or message["role"] != "assistant":
            yield kind if isinstance(kind, str) else type(part).__name__
