"""Mark failed tool results in their text, because chat messages have no field for it."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from chatsquash.checks import shapes
from chatsquash.core import chat
from chatsquash.core.model import Conversation, Json, Message, StageResult
from chatsquash.formats import parts
from chatsquash.formats.calls import ERROR


def mark_failed_results(conversation: Conversation) -> StageResult:
    """Prefix results that the log marks as errors with ``ERROR``; report how many were changed."""
    messages = [
        _with_prefix(message) if message["role"] == "tool" and chat.is_marked_failed(message) else message
        for message in conversation.messages
    ]
    changed = sum(new is not old for new, old in zip(messages, conversation.messages, strict=True))
    findings = [shapes.shape_changed({"failed results marked in their text": changed})] if changed else []
    return replace(conversation, messages=messages), findings


def _with_prefix(message: Message) -> Message:
    content: Any = message.get("content")
    if (chat.text(message) or "").startswith(ERROR) or not isinstance(content, str | list | None):
        return message
    return {**message, "content": _with_prefix_text(content)}


def _with_prefix_text(content: str | list[Json] | None) -> str | list[Json]:
    if not isinstance(content, list):
        return ERROR + (content or "")
    first = content[0] if content else None
    if isinstance(first, dict) and isinstance(first.get("text"), str):
        return [{**first, "text": ERROR + first["text"]}, *content[1:]]
    return [parts.text(ERROR), *content]
