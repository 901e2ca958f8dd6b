"""Reasoning, tool calls and results as markup in the text of messages, or reasoning removed."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from chatsquash.checks import reading
from chatsquash.core import chat, jsonio
from chatsquash.core.marks import without
from chatsquash.core.model import Conversation, Json, Message, StageResult, Violation
from chatsquash.core.reasoning import MEMBER, MEMBERS, in_text, is_part, leading_block, text
from chatsquash.records.markup import bare, drop_thought, inline_thought

_PROVIDER = "provider_specific_fields"
"""Where LiteLLM repeats what it takes from a provider."""


def reason(conversation: Conversation, *, mode: str) -> StageResult:
    """Reasoning, in every spelling, in its own member, as ``<think>`` blocks before the text, or removed.

    A message that held nothing else is left out, which is reported.
    """
    work = {"keep": _take_out, "inline": _inline, "drop": _drop}[mode]
    messages: list[Message] = []
    gone: list[int] = []
    for at, message in enumerate(conversation.messages):
        new = work(message) if message["role"] == "assistant" else message
        left = new is message or _says_something(new) or not _says_something(message)
        if left:
            messages.append(new)
        else:
            gone.append(at)
    findings = [reading.unsupported_content({"reasoning alone": len(gone)}, None)] if gone else []
    return Conversation(messages, conversation.tools, marks=without(conversation, gone)), findings


def _says_something(message: Message) -> bool:
    return any(value for key, value in message.items() if key != "role")


def _take_out(message: Message) -> Message:
    """Move the block of reasoning that a text begins with to the member, unless the message has reasoning there."""
    thought = in_text(message)
    if not thought:
        return message
    left = _with_beginning(message, leading_block(_start(message))[1])
    known = text(message)
    if bare(thought) in known:
        return left
    whole: Any = {**left, MEMBER: "\n\n".join(filter(None, [known, thought]))}
    return whole  # type: ignore[no-any-return]


def _inline(message: Message) -> Message:
    bare = _without(message)
    said = _start(bare)
    thought = text(message)
    written = inline_thought(said, thought)
    if written == said:
        return bare
    return _prefixed(bare, written) if written.endswith(said) else _with_beginning(bare, written)


def _drop(message: Message) -> Message:
    bare = _without(message)
    said = _start(bare)
    left = drop_thought(said, text(message))
    return bare if left == said else _with_beginning(bare, left)


def _start(message: Message) -> str:
    """The text that a message begins with."""
    content = message.get("content")
    first = content[0] if isinstance(content, list) and content else content
    return chat.part_text(first) or ""


def _with_beginning(message: Message, beginning: str) -> Message:
    """The message with another text where it begins; a part of which nothing is left goes."""
    content = message["content"]
    if isinstance(content, list):
        part = (
            {**content[0], "text": beginning} if isinstance(content[0], dict) else {"type": "text", "text": beginning}
        )
        return {**message, "content": [*([part] if beginning else []), *content[1:]]}
    return {**message, "content": beginning}


def _without(message: Message) -> Message:
    """The message without its reasoning members and without parts of its content that are reasoning."""
    content = message.get("content")
    if not any(key in message for key in (*MEMBERS, _PROVIDER)) and not isinstance(content, list):
        return message
    kept: Message = _bare(message)
    if isinstance(provider := message.get(_PROVIDER), dict):
        kept[_PROVIDER] = _bare(provider)  # type: ignore[literal-required]
    if isinstance(content, list):
        kept["content"] = [part for part in content if not is_part(part)]
    return kept


def _bare(holder: Any) -> Any:
    return {key: value for key, value in holder.items() if key not in MEMBERS}


def _prefixed(message: Message, written: str) -> Message:
    """The message with a text that ends with the one that it begins with; parts stay as they are."""
    content = message.get("content")
    if isinstance(content, list):
        prefix = written.removesuffix(_start(message))
        return {**message, "content": [{"type": "text", "text": prefix}, *content]}
    return {**message, "content": written}


def inline(conversation: Conversation) -> StageResult:
    """``<tool_call>`` blocks for calls and ``<tool_result>`` elements for results.

    Parts that are no text, and numbers in arguments that lose digits, are reported.
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
    """Whether a message is written with markup; where calls are no calls, the checks of native ones say so."""
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
    written: dict[str, Any] = {**message, "content": "\n".join([text, *blocks] if text else blocks).strip()}
    del written["tool_calls"]
    return written  # type: ignore[return-value]


def _block(function: dict[str, Any], rounded: list[str]) -> str:
    arguments = function.get("arguments")
    if isinstance(arguments, str):
        arguments = jsonio.value(arguments, arguments)
    rounded += jsonio.rounded(arguments)
    try:
        written = json.dumps({"name": function["name"], "arguments": arguments}, ensure_ascii=False)
    except RecursionError:  # parsing may go a few levels deeper than writing
        written = json.dumps({"name": function["name"], "arguments": function["arguments"]}, ensure_ascii=False)
    if chat.CALL_CLOSE in written or chat.RESULT_CLOSE in written:
        written = written.replace("<", "\\u003c")
    return f"{chat.CALL_OPEN}{written}{chat.CALL_CLOSE}"


def _with_result(message: Message) -> Message:
    call_id: Json = message["tool_call_id"]
    written_id = call_id if isinstance(call_id, str) else jsonio.dumps(call_id).decode()
    quoted = written_id.replace('"', "&quot;").replace("<", "&lt;")
    text = chat.joined_text(message) or ""
    content = f'{chat.RESULT_OPEN} tool_call_id="{quoted}">{text}{chat.RESULT_CLOSE}'
    written: dict[str, Any] = {**message, "content": content}
    del written["tool_call_id"]
    return written  # type: ignore[return-value]


def _kind(part: Json) -> str:
    kind = part.get("type") if isinstance(part, dict) else None
    return kind if isinstance(kind, str) else type(part).__name__
