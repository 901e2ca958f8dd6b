"""Join messages of one role that follow each other, for templates in which the roles alternate."""

from __future__ import annotations

from typing import Any

from chatsquash.checks import shapes
from chatsquash.core.marks import joined
from chatsquash.core.model import Conversation, Json, Message, Staged

_ROLES = ("system", "user", "assistant")
_BETWEEN = "\n\n"
_JOINED = ("role", "content", "tool_calls", "reasoning_content")


def merge_consecutive(conversation: Conversation) -> Staged:
    """Texts with an empty line between them, calls in their order; how often is reported.

    Messages stay apart where text would come before calls that it followed, and where other members differ.
    """
    merged: list[Message] = []
    behind: list[int] = []
    for at, message in enumerate(conversation.messages):
        if merged and _fit(merged[-1], message):
            merged[-1] = _merged(merged[-1], message)
            behind.append(at)
        else:
            merged.append(message)
    found = [shapes.shape_changed({"messages joined to the one before": len(behind)})] if behind else []
    return Conversation(merged, conversation.tools, marks=joined(conversation, behind)), found


def _fit(first: Message, second: Message) -> bool:
    if first["role"] != second["role"] or first["role"] not in _ROLES:
        return False
    if first.get("tool_calls") and (second.get("content") or second.get("reasoning_content")):
        return False
    forms = (("content", str | list | None), ("reasoning_content", str | None), ("tool_calls", list | None))
    if not all(isinstance(message.get(key), form) for message in (first, second) for key, form in forms):
        return False
    return _rest(first) == _rest(second)


def _rest(message: Message) -> dict[str, Any]:
    return {key: value for key, value in message.items() if key not in _JOINED}


def _merged(first: Message, second: Message) -> Message:
    new: dict[str, Any] = {**first, "content": together(first.get("content"), second.get("content"))}
    thoughts: list[Any] = [message.get("reasoning_content") for message in (first, second)]
    if any(thoughts):
        new["reasoning_content"] = _BETWEEN.join(filter(None, thoughts))
    if calls := [*(first.get("tool_calls") or ()), *(second.get("tool_calls") or ())]:
        new["tool_calls"] = calls
    return new  # type: ignore[return-value]


def together(first: Json, second: Json) -> Json:
    """Two contents as one, with an empty line between them."""
    if not first or not second:
        return first or second or ""
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}{_BETWEEN}{second}"
    return [*_parts(first), {"type": "text", "text": _BETWEEN}, *_parts(second)]


def _parts(content: Json) -> list[Json]:
    return content if isinstance(content, list) else [{"type": "text", "text": content}]
