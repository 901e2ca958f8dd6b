"""Write native tool calls and results as markup in the text."""

from __future__ import annotations

import json
from collections import Counter
from typing import Any

from chatsquash.checks import reading
from chatsquash.core import chat, jsonio
from chatsquash.core.model import Conversation, Json, Message, StageResult, Violation


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
