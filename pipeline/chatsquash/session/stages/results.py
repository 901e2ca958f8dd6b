"""Tool results: remove those that a client sent twice, and mark failed ones in their text."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from chatsquash.checks import shapes
from chatsquash.core import chat
from chatsquash.core.model import Conversation, Json, Message, StageResult

_MAX_CONTENTS = 8
"""The number of results per call id with which later results are compared."""


def drop_repeated_results(conversation: Conversation, *, loaded_only: bool) -> StageResult:
    """Drop results that repeat the call id and content of an earlier result after the same assistant message.

    Args:
        conversation: The conversation.
        loaded_only: Keep repeated results unless the conversation was loaded from a format other than OpenAI chat.
    """
    if loaded_only and not conversation.has_private:
        return conversation, ()
    ids = [message.get("tool_call_id") for message in conversation.messages if message["role"] == "tool"]
    if len(set(map(chat.id_key, ids))) == len(ids):
        return conversation, ()
    messages: list[Message] = []
    # The contents of the results since the last assistant message, by call id; ``None`` before the first one.
    contents_by_id: dict[str | bytes, list[Json]] | None = None
    for message in conversation.messages:
        if message["role"] == "assistant":
            contents_by_id = {}
        elif (
            message["role"] == "tool"
            and contents_by_id is not None
            and (key := chat.id_key(message.get("tool_call_id")))
        ):
            contents = contents_by_id.setdefault(key, [])
            if message.get("content") in contents[:_MAX_CONTENTS]:
                continue
            contents.append(message.get("content"))
        messages.append(message)
    dropped = len(conversation.messages) - len(messages)
    if not dropped:
        return conversation, ()
    return replace(conversation, messages=messages), [shapes.shape_changed({"repeated results removed": dropped})]


def mark_failed_results(conversation: Conversation) -> StageResult:
    """Prefix results that the log marks as errors with ``calls.ERROR``; report how many were changed.

    Chat messages have no field for it.
    """
    messages = [
        _with_prefix(message) if message["role"] == "tool" and chat.is_marked_failed(message) else message
        for message in conversation.messages
    ]
    changed = sum(new is not old for new, old in zip(messages, conversation.messages, strict=True))
    findings = [shapes.shape_changed({"failed results marked in their text": changed})] if changed else []
    return replace(conversation, messages=messages), findings


def _with_prefix(message: Message) -> Message:
    from chatsquash.formats.calls import ERROR  # imported here because few runs need it

    content: Any = message.get("content")
    if (chat.text(message) or "").startswith(ERROR) or not isinstance(content, str | list | None):
        return message
    return {**message, "content": _with_prefix_text(content, ERROR)}


def _with_prefix_text(content: str | list[Json] | None, prefix: str) -> str | list[Json]:
    if not isinstance(content, list):
        return prefix + (content or "")
    first = content[0] if content else None
    if isinstance(first, dict) and isinstance(first.get("text"), str):
        return [{**first, "text": prefix + first["text"]}, *content[1:]]
    return [{"type": "text", "text": prefix}, *content]
