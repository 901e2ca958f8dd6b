"""Give calls and their results ids that every template takes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from chatsquash.checks import shapes
from chatsquash.core import chat
from chatsquash.core.model import Conversation, Json, Message, Staged
from chatsquash.core.short_ids import short_ids
from chatsquash.formats.providers.openai_chat.members import identifier


def shorten(conversation: Conversation) -> Staged:
    """Ids of nine letters and digits, the same one for a call and its results; those that are missing stay so."""
    short = short_ids(filter(None, map(identifier, _ids(conversation.messages))))
    messages = [_shortened(message, short) for message in conversation.messages]
    changed = sum(ident != made for ident, made in short.items())
    found = [shapes.shape_changed({"ids shortened": changed})] if changed else []
    return Conversation(messages, conversation.tools, marks=conversation.marks), found


def _ids(messages: list[Message]) -> Iterator[Json]:
    for message in messages:
        yield from (call.get("id") for call in chat.calls(message))
        yield message.get("tool_call_id")


def _shortened(message: Message, short: dict[str, str]) -> Message:
    new: dict[str, Any] = dict(message)
    if chat.calls(message):
        new["tool_calls"] = [_with("id", call, short) if isinstance(call, dict) else call for call in new["tool_calls"]]
    return _with("tool_call_id", new, short)  # type: ignore[return-value]


def _with(key: str, holder: dict[str, Any], short: dict[str, str]) -> dict[str, Any]:
    ident = identifier(holder.get(key))
    return holder if ident is None else {**holder, key: short[ident]}
