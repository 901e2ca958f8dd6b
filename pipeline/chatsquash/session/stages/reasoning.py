"""Write reasoning, tool calls and results as markup in message texts, or remove reasoning."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from chatsquash.checks import reading
from chatsquash.core import chat, jsonio
from chatsquash.core.marks import without
from chatsquash.core.model import Conversation, Json, Message, StageResult, Violation
from chatsquash.core.reasoning import MEMBER, MEMBERS, in_text, is_part, leading_block, text
from chatsquash.records.markup import drop_thought, inline_thought, strip_tags

_PROVIDER = "provider_specific_fields"
"""The field in which LiteLLM repeats fields from the provider."""


def place_reasoning(conversation: Conversation, *, mode: str) -> StageResult:
    """Move reasoning, whatever its spelling, to its own field (``keep``), inline it as ``<think>``, or ``drop`` it.

    A message without other content is dropped and reported.
    """
    convert = {"keep": _extract, "inline": _inline_reasoning, "drop": _drop}[mode]
    messages: list[Message] = []
    dropped: list[int] = []
    for at, message in enumerate(conversation.messages):
        new = convert(message) if message["role"] == "assistant" else message
        # A message that was empty in the log is kept; a message is dropped only if reasoning was its only content.
        is_kept = new is message or _has_content(new) or not _has_content(message)
        if is_kept:
            messages.append(new)
        else:
            dropped.append(at)
    findings = [reading.unsupported_content({"reasoning without other content": len(dropped)}, None)] if dropped else []
    return Conversation(messages, conversation.tools, marks=without(conversation, dropped)), findings


def _has_content(message: Message) -> bool:
    return any(value for key, value in message.items() if key != "role")


def _extract(message: Message) -> Message:
    """Move a leading ``<think>`` block from the text to the reasoning field, unless the field already contains it."""
    thought = in_text(message)
    if not thought:
        return message
    remaining = _with_leading_text(message, leading_block(_leading_text(message))[1])
    known = text(message)
    if strip_tags(thought) in known:
        return remaining
    extended: Any = {**remaining, MEMBER: "\n\n".join(filter(None, [known, thought]))}
    return extended  # type: ignore[no-any-return]


def _inline_reasoning(message: Message) -> Message:
    bare = _without(message)
    old_text = _leading_text(bare)
    thought = text(message)
    new_text = inline_thought(old_text, thought)
    if new_text == old_text:
        return bare
    return _with_prefixed_text(bare, new_text) if new_text.endswith(old_text) else _with_leading_text(bare, new_text)


def _drop(message: Message) -> Message:
    bare = _without(message)
    old_text = _leading_text(bare)
    new_text = drop_thought(old_text, text(message))
    return bare if new_text == old_text else _with_leading_text(bare, new_text)


def _leading_text(message: Message) -> str:
    """Return the text that a message begins with."""
    content = message.get("content")
    first = content[0] if isinstance(content, list) and content else content
    return chat.part_text(first) or ""


def _with_leading_text(message: Message, text: str) -> Message:
    """Replace the text that the message begins with; drop its part if nothing is left of it."""
    content = message["content"]
    if isinstance(content, list):
        part = {**content[0], "text": text} if isinstance(content[0], dict) else {"type": "text", "text": text}
        return {**message, "content": [*([part] if text else []), *content[1:]]}
    return {**message, "content": text}


def _without(message: Message) -> Message:
    """Return the message without reasoning fields and reasoning parts."""
    content = message.get("content")
    if not any(key in message for key in (*MEMBERS, _PROVIDER)) and not isinstance(content, list):
        return message
    result: Message = _bare(message)
    if isinstance(provider := message.get(_PROVIDER), dict):
        result[_PROVIDER] = _bare(provider)  # type: ignore[literal-required]
    if isinstance(content, list):
        result["content"] = [part for part in content if not is_part(part)]
    return result


def _bare(members: Any) -> Any:
    return {key: value for key, value in members.items() if key not in MEMBERS}


def _with_prefixed_text(message: Message, new_text: str) -> Message:
    """Prefix the leading text of a message; ``new_text`` ends with the current one, and parts are unchanged."""
    content = message.get("content")
    if isinstance(content, list):
        prefix = new_text.removesuffix(_leading_text(message))
        return {**message, "content": [{"type": "text", "text": prefix}, *content]}
    return {**message, "content": new_text}


def inline_calls(conversation: Conversation) -> StageResult:
    """Write calls as ``<tool_call>`` blocks and results as ``<tool_result>`` elements.

    Parts that are not text, and numbers in arguments that lose digits, are reported.
    """
    messages = []
    findings: list[Violation] = []
    rounded: list[str] = []
    for at, message in enumerate(conversation.messages):
        if not is_inlined(message):
            messages.append(message)
            continue
        messages.append(_with_result(message) if message["role"] == "tool" else _with_calls(message, rounded))
        if dropped := chat.other_parts(message):
            findings.append(reading.parts_dropped(Counter(map(_kind, dropped)), at))
    if rounded:
        findings.append(reading.number_changed(rounded, len(rounded)))
    return Conversation(messages, conversation.tools, marks=conversation.marks), findings


def is_inlined(message: Message) -> bool:
    """Return whether a message is rewritten as markup; malformed calls are left to the checks of native calls."""
    if message["role"] == "tool":
        return message.get("tool_call_id") is not None
    calls: Json = message.get("tool_calls")
    if message["role"] != "assistant" or not calls or not isinstance(calls, list):
        return False
    return all(isinstance(call, dict) and chat.call_name(call) for call in calls)


def _with_calls(message: Message, rounded: list[str]) -> Message:
    calls = message["tool_calls"]
    text = chat.joined_text(message)
    blocks = [_block(call["function"], rounded) for call in calls]
    result: dict[str, Any] = {**message, "content": "\n".join([text, *blocks] if text else blocks).strip()}
    del result["tool_calls"]
    return result  # type: ignore[return-value]


def _block(function: dict[str, Any], rounded: list[str]) -> str:
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        arguments = jsonio.value(arguments, arguments)
    rounded += jsonio.rounded(arguments)
    try:
        encoded = json.dumps({"name": function["name"], "arguments": arguments}, ensure_ascii=False)
    except RecursionError:  # the JSON parser accepts a few more levels of nesting than the encoder
        encoded = json.dumps({"name": function["name"], "arguments": function["arguments"]}, ensure_ascii=False)
    # Arguments may contain the closing tags; escape every < so that the markup stays parseable.
    if chat.CALL_CLOSE in encoded or chat.RESULT_CLOSE in encoded:
        encoded = encoded.replace("<", "\\u003c")
    return f"{chat.CALL_OPEN}{encoded}{chat.CALL_CLOSE}"


def _with_result(message: Message) -> Message:
    call_id: Json = message["tool_call_id"]
    id_text = call_id if isinstance(call_id, str) else jsonio.dumps(call_id).decode()
    escaped = id_text.replace('"', "&quot;").replace("<", "&lt;")
    text = chat.joined_text(message) or ""
    content = f'{chat.RESULT_OPEN} tool_call_id="{escaped}">{text}{chat.RESULT_CLOSE}'
    result: dict[str, Any] = {**message, "content": content}
    del result["tool_call_id"]
    return result  # type: ignore[return-value]


def _kind(part: Json) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    return kind if isinstance(kind, str) else type(part).__name__
