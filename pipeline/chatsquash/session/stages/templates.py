"""Stages that rearrange messages for chat templates: merge, split or drop what a template has no place for."""

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
_JOINED = ("role", "content", "tool_calls", "reasoning_content")


def merge_consecutive(conversation: Conversation) -> StageResult:
    """Texts with an empty line between them, calls in their order; how often is reported.

    Messages stay apart where text would come before calls that it followed, and where other members differ.
    """
    merged: list[Message] = []
    behind: list[int] = []
    for at, message in enumerate(conversation.messages):
        if merged and _fit(merged[-1], message):
            merged[-1] = _merge(merged[-1], message)
            behind.append(at)
        else:
            merged.append(message)
    findings = [shapes.shape_changed({"messages joined to the one before": len(behind)})] if behind else []
    return Conversation(merged, conversation.tools, marks=join_marks(conversation, behind)), findings


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


def _merge(first: Message, second: Message) -> Message:
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


def bridge_results(conversation: Conversation) -> StageResult:
    """Texts with an empty line between them, parts behind the result's; how often is reported.

    Messages with members beside their content stay, and so does content that is no string, list or null.
    """
    messages: list[Message] = []
    for message in conversation.messages:
        if messages and messages[-1]["role"] == "tool" and _fits(messages[-1], message):
            said = together(messages[-1].get("content"), message.get("content"))
            messages[-1] = {**messages[-1], "content": said}
        else:
            messages.append(message)
    count = len(conversation.messages) - len(messages)
    findings = [shapes.shape_changed({"messages of the user joined to the result before": count})] if count else []
    return Conversation(messages, conversation.tools, marks=conversation.marks), findings


def _fits(result: Message, message: Message) -> bool:
    if message["role"] != "user" or message.keys() - {"role", "content"}:
        return False
    return all(isinstance(each.get("content"), str | list | None) for each in (result, message))


def drop_system(conversation: Conversation) -> StageResult:
    """The conversation without system messages; how many they were is reported."""
    kept = [message for message in conversation.messages if message["role"] != "system"]
    gone = len(conversation.messages) - len(kept)
    findings = [shapes.shape_changed({"system messages dropped": gone})] if gone else []
    return Conversation(kept, conversation.tools, marks=conversation.marks), findings


def drop_text_beside_calls(conversation: Conversation) -> StageResult:
    """Messages with calls have no text; how many had some is reported."""
    messages = list(map(_without_text, conversation.messages))
    changed = sum(new is not old for new, old in zip(messages, conversation.messages, strict=True))
    findings = [shapes.shape_changed({"texts beside calls dropped": changed})] if changed else []
    return Conversation(messages, conversation.tools, marks=conversation.marks), findings


def _without_text(message: Message) -> Message:
    if not chat.calls(message) or not (chat.text(message) or "").strip():
        return message
    content = message["content"]
    left: Any = [part for part in content if chat.part_text(part) is None] if isinstance(content, list) else []
    return {**message, "content": left or ""}


_TOGETHER = "parallel calls without all results, not split"


def split_parallel(conversation: Conversation) -> StageResult:
    """Every call is followed by its result; the text stays with the first. How many were split off is reported.

    Calls of which one has no result stay together, which is reported, too.
    """
    messages: list[Message] = []
    counts: Counter[str] = Counter()
    parts: list[int] = []
    for first, *rest in _blocks(conversation.messages):
        split = None
        if len(chat.calls(first)) > 1:
            split = _split(first, rest)
            counts["parallel calls with messages of their own" if split else _TOGETHER] += 1
        messages += split or [first, *rest]
        if first["role"] == "assistant":
            parts.append(len(chat.calls(first)) if split else 1)
    findings = [shapes.shape_changed(counts)] if counts else []
    return Conversation(messages, conversation.tools, marks=split_marks(conversation, parts)), findings


def _blocks(messages: list[Message]) -> Iterator[list[Message]]:
    """Each message of the assistant and what follows it up to the next one; what is before the first, too."""
    block: list[Message] = []
    for message in messages:
        if message["role"] == "assistant" and block:
            yield block
            block = []
        block.append(message)
    if block:
        yield block


def _split(message: Message, block: list[Message]) -> list[Message] | None:
    """The message and what follows it, call by call; ``None`` where not every call has a result."""
    calls: list[Json] = message["tool_calls"]
    rest = list(block)
    done: list[Message] = []
    for call in calls:
        place = _place_of_result(call, rest)
        if place is None:
            return None
        around: Message = {"role": "assistant", "content": ""} if done else message
        done += [{**around, "tool_calls": [call]}, rest.pop(place)]
    return [*done, *rest]


def _place_of_result(call: Json, messages: list[Message]) -> int | None:
    if not isinstance(call, dict):
        return None
    ident = identifier(call.get("id"))
    for place, message in enumerate(messages):
        if message["role"] == "tool" and identifier(message.get("tool_call_id")) == ident:
            return place
    return None


def shorten(conversation: Conversation) -> StageResult:
    """Ids of nine letters and digits, the same one for a call and its results; those that are missing stay so."""
    short = short_ids(filter(None, map(identifier, _ids(conversation.messages))))
    messages = [_shorten(message, short) for message in conversation.messages]
    changed = sum(ident != made for ident, made in short.items())
    findings = [shapes.shape_changed({"ids shortened": changed})] if changed else []
    return Conversation(messages, conversation.tools, marks=conversation.marks), findings


def _ids(messages: list[Message]) -> Iterator[Json]:
    for message in messages:
        yield from (call.get("id") for call in chat.calls(message))
        yield message.get("tool_call_id")


def _shorten(message: Message, short: dict[str, str]) -> Message:
    new: dict[str, Any] = dict(message)
    if chat.calls(message):
        new["tool_calls"] = [_with("id", call, short) if isinstance(call, dict) else call for call in new["tool_calls"]]
    return _with("tool_call_id", new, short)  # type: ignore[return-value]


def _with(key: str, holder: dict[str, Any], short: dict[str, str]) -> dict[str, Any]:
    ident = identifier(holder.get(key))
    return holder if ident is None else {**holder, key: short[ident]}


def split_text_and_calls(conversation: Conversation) -> StageResult:
    """The text, with all but the calls, comes in a message before them; how often is reported."""
    split = [[*_halves(message)] for message in conversation.messages]
    messages = [part for parts in split for part in parts]
    count = len(messages) - len(conversation.messages)
    findings = [shapes.shape_changed({"texts split from calls": count})] if count else []
    counts = [len(parts) for parts in split if parts[0]["role"] == "assistant"]
    return Conversation(messages, conversation.tools, marks=split_marks(conversation, counts)), findings


def _halves(message: Message) -> Iterator[Message]:
    if not chat.calls(message) or not (chat.text(message) or "").strip():
        yield message
        return
    said: Message = {key: value for key, value in message.items() if key != "tool_calls"}  # type: ignore[assignment]
    yield said
    yield {"role": "assistant", "content": "", "tool_calls": message["tool_calls"]}
