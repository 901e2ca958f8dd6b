"""Rearrange messages for chat templates: join, split or drop messages that a template does not support."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from chatsquash.checks import shapes
from chatsquash.core import chat
from chatsquash.core.marks import join_marks, split_marks
from chatsquash.core.model import Conversation, Json, Message, StageResult
from chatsquash.formats.providers.openai_chat.members import identifier
from chatsquash.records.arguments import short_ids

_ROLES = ("system", "user", "assistant")
_BETWEEN = "\n\n"
_JOINABLE = ("role", "content", "tool_calls", "reasoning_content")


def merge_consecutive(conversation: Conversation) -> StageResult:
    """Join consecutive messages of the same role: texts with an empty line between them, calls in order.

    Messages stay separate if text would move before calls that it followed, or if other fields differ.
    """
    merged: list[Message] = []
    joined_at: list[int] = []
    for at, message in enumerate(conversation.messages):
        if merged and _can_merge(merged[-1], message):
            merged[-1] = _merge(merged[-1], message)
            joined_at.append(at)
        else:
            merged.append(message)
    findings = [shapes.shape_changed({"messages joined to the preceding one": len(joined_at)})] if joined_at else []
    return Conversation(merged, conversation.tools, marks=join_marks(conversation, joined_at)), findings


def _can_merge(first: Message, second: Message) -> bool:
    if first["role"] != second["role"] or first["role"] not in _ROLES:
        return False
    if first.get("tool_calls") and (second.get("content") or second.get("reasoning_content")):
        return False
    forms = (("content", str | list | None), ("reasoning_content", str | None), ("tool_calls", list | None))
    if not all(isinstance(message.get(key), form) for message in (first, second) for key, form in forms):
        return False
    return _rest(first) == _rest(second)


def _rest(message: Message) -> dict[str, Any]:
    return {key: value for key, value in message.items() if key not in _JOINABLE}


def _merge(first: Message, second: Message) -> Message:
    new: dict[str, Any] = {**first, "content": join_contents(first.get("content"), second.get("content"))}
    thoughts: list[Any] = [message.get("reasoning_content") for message in (first, second)]
    if any(thoughts):
        new["reasoning_content"] = _BETWEEN.join(filter(None, thoughts))
    if calls := [*(first.get("tool_calls") or ()), *(second.get("tool_calls") or ())]:
        new["tool_calls"] = calls
    return new  # type: ignore[return-value]


def join_contents(first: Json, second: Json) -> Json:
    """Join the content of two messages, with an empty line between them."""
    if not first or not second:
        return first or second or ""
    if isinstance(first, str) and isinstance(second, str):
        return f"{first}{_BETWEEN}{second}"
    return [*_parts(first), {"type": "text", "text": _BETWEEN}, *_parts(second)]


def _parts(content: Json) -> list[Json]:
    return content if isinstance(content, list) else [{"type": "text", "text": content}]


def bridge_results(conversation: Conversation) -> StageResult:
    """Join a user message that follows a tool result to the result, with an empty line between the texts.

    Messages with other fields, or with content that is not a string, list or null, stay separate.
    """
    messages: list[Message] = []
    for message in conversation.messages:
        if messages and messages[-1]["role"] == "tool" and _can_bridge(messages[-1], message):
            content = join_contents(messages[-1].get("content"), message.get("content"))
            messages[-1] = {**messages[-1], "content": content}
        else:
            messages.append(message)
    count = len(conversation.messages) - len(messages)
    findings = [shapes.shape_changed({"user messages joined to the preceding result": count})] if count else []
    return Conversation(messages, conversation.tools, marks=conversation.marks), findings


def _can_bridge(result: Message, message: Message) -> bool:
    if message["role"] != "user" or message.keys() - {"role", "content"}:
        return False
    return all(isinstance(each.get("content"), str | list | None) for each in (result, message))


def drop_system(conversation: Conversation) -> StageResult:
    """Drop system messages; report how many there were."""
    messages = [message for message in conversation.messages if message["role"] != "system"]
    dropped = len(conversation.messages) - len(messages)
    findings = [shapes.shape_changed({"system messages dropped": dropped})] if dropped else []
    return Conversation(messages, conversation.tools, marks=conversation.marks), findings


def drop_text_with_calls(conversation: Conversation) -> StageResult:
    """Drop the text of messages that have calls; report how many were changed."""
    messages = list(map(_without_text, conversation.messages))
    changed = sum(new is not old for new, old in zip(messages, conversation.messages, strict=True))
    findings = [shapes.shape_changed({"text next to calls dropped": changed})] if changed else []
    return Conversation(messages, conversation.tools, marks=conversation.marks), findings


def _without_text(message: Message) -> Message:
    if not chat.calls(message) or not (chat.text(message) or "").strip():
        return message
    content = message["content"]
    remaining: Any = [part for part in content if chat.part_text(part) is None] if isinstance(content, list) else []
    return {**message, "content": remaining or ""}


_NOT_SPLIT = "parallel calls with missing results, not split"


def split_parallel(conversation: Conversation) -> StageResult:
    """Split parallel calls so that each call is followed by its result; text and reasoning stay with the first call.

    If any of the calls has no result, they stay together, which is reported.
    """
    messages: list[Message] = []
    counts: Counter[str] = Counter()
    parts: list[int] = []
    for first, *rest in _blocks(conversation.messages):
        split = None
        if len(chat.calls(first)) > 1:
            split = _split(first, rest)
            counts["parallel calls split into messages" if split else _NOT_SPLIT] += 1
        messages += split or [first, *rest]
        if first["role"] == "assistant":
            parts.append(len(chat.calls(first)) if split else 1)
    findings = [shapes.shape_changed(counts)] if counts else []
    return Conversation(messages, conversation.tools, marks=split_marks(conversation, parts)), findings


def _blocks(messages: list[Message]) -> Iterator[list[Message]]:
    """Yield the messages before the first assistant message, then each assistant message with those that follow it."""
    block: list[Message] = []
    for message in messages:
        if message["role"] == "assistant" and block:
            yield block
            block = []
        block.append(message)
    if block:
        yield block


def _split(message: Message, block: list[Message]) -> list[Message] | None:
    """Return the message and its results call by call, or ``None`` if a call has no result."""
    calls: list[Json] = message["tool_calls"]
    rest = list(block)
    result: list[Message] = []
    for call in calls:
        # Results may be logged in a different order from their calls.
        place = _result_index(call, rest)
        if place is None:
            return None
        message_of_call: Message = {"role": "assistant", "content": ""} if result else message
        result += [{**message_of_call, "tool_calls": [call]}, rest.pop(place)]
    return [*result, *rest]


def _result_index(call: Json, messages: list[Message]) -> int | None:
    if not isinstance(call, dict):
        return None
    ident = identifier(call.get("id"))
    for place, message in enumerate(messages):
        if message["role"] == "tool" and identifier(message.get("tool_call_id")) == ident:
            return place
    return None


def shorten_ids(conversation: Conversation) -> StageResult:
    """Replace call ids with ids of nine alphanumeric characters, the same for a call and its results."""
    short = short_ids(filter(None, map(identifier, _ids(conversation.messages))))
    # Calls without an id stay without one.
    messages = [_shorten(message, short) for message in conversation.messages]
    changed = sum(ident != short_id for ident, short_id in short.items())
    findings = [shapes.shape_changed({"ids shortened": changed})] if changed else []
    return Conversation(messages, conversation.tools, marks=conversation.marks), findings


def _ids(messages: list[Message]) -> Iterator[Json]:
    for message in messages:
        yield from (call.get("id") for call in chat.calls(message))
        yield message.get("tool_call_id")


def _shorten(message: Message, short: dict[str, str]) -> Message:
    new: dict[str, Any] = dict(message)
    if chat.calls(message):
        new["tool_calls"] = [
            _with_short_id("id", call, short) if isinstance(call, dict) else call for call in new["tool_calls"]
        ]
    return _with_short_id("tool_call_id", new, short)  # type: ignore[return-value]


def _with_short_id(key: str, members: dict[str, Any], short: dict[str, str]) -> dict[str, Any]:
    ident = identifier(members.get(key))
    return members if ident is None else {**members, key: short[ident]}


def split_text_and_calls(conversation: Conversation) -> StageResult:
    """Move the text and all other fields of a message with calls to a separate message before the calls."""
    split = [[*_split_message(message)] for message in conversation.messages]
    messages = [part for parts in split for part in parts]
    count = len(messages) - len(conversation.messages)
    findings = [shapes.shape_changed({"text split from calls": count})] if count else []
    counts = [len(parts) for parts in split if parts[0]["role"] == "assistant"]
    return Conversation(messages, conversation.tools, marks=split_marks(conversation, counts)), findings


def _split_message(message: Message) -> Iterator[Message]:
    if not chat.calls(message) or not (chat.text(message) or "").strip():
        yield message
        return
    text_message: Message = {key: value for key, value in message.items() if key != "tool_calls"}  # type: ignore[assignment]
    yield text_message
    yield {"role": "assistant", "content": "", "tool_calls": message["tool_calls"]}
