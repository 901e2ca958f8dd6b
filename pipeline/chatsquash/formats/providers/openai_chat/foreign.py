"""Detect OpenAI chat messages with content of other formats, as written by tracers and frameworks.

Such messages contain blocks of Anthropic, LangChain or the AI SDK, or calls that differ from OpenAI's.  ``rewriting``
converts them to OpenAI chat messages.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from chatsquash.core.model import Json
from chatsquash.formats.values import Object, objects, string

CALLS = frozenset(("tool_use", "tool_call", "tool-call", "function_call", "custom_tool_call", "invalid_tool_call"))
"""The types of call blocks in Anthropic, LangChain, the AI SDK and OpenAI Responses."""
RESULTS = frozenset(("tool_result", "tool-result", "tool_call_response", "function_call_output"))
"""The types of result blocks."""
_OTHERS = frozenset(("input_text", "output_text", "input_image", "input_file", "document"))
TYPES = CALLS | RESULTS | _OTHERS
"""The types of blocks that OpenAI chat does not support."""
_SUMMARY = "compaction"
"""The type of summary blocks, which only Anthropic has."""
_MEDIA = frozenset(("image", "file", "audio", "video"))
SYSTEM = ("system", "instructions")
"""The members of a request that may contain the system prompt in other formats."""


def any_foreign(messages: Iterable[Any]) -> bool:
    """Return whether any of the messages is foreign."""
    # This runs for every message of every log, so most of those without calls are skipped here.
    for message in messages:
        if (type(message.get("content")) is not str or not _PLAIN.issuperset(message)) and is_foreign(message):
            return True
    return False


_PLAIN = frozenset(("role", "content", "tool_call_id", "name"))


def is_foreign(message: Any) -> bool:
    """Return whether a message has calls, results, reasoning or media in a form other than OpenAI's."""
    content, calls = message.get("content"), message.get("tool_calls")
    if type(content) is list and any(map(_is_foreign_part, content)):
        return True
    if calls and _are_foreign_calls(calls):
        return True
    return "additional_kwargs" in message or "invalid_tool_calls" in message  # only LangChain writes these


def _is_foreign_part(part: Json) -> bool:
    if type(part) is not dict:
        return False
    of = part.get("type")
    if of == "text" or type(of) is not str:
        return False
    if of in _MEDIA:
        return not isinstance(part.get(of), dict)
    return of in TYPES or of == _SUMMARY or (of == "thinking" and "signature" in part)


def _are_foreign_calls(calls: Any) -> bool:
    """Return whether calls are a JSON string, or a call has its name next to its arguments or contains another call."""
    if type(calls) is not list:
        return isinstance(calls, str) and calls[:1] == "["
    for call in calls:
        if type(call) is dict and "function" not in call and "custom" not in call:
            if "toolName" in call or "tool_call" in call:
                return True
            if "name" in call and ("args" in call or "arguments" in call):
                return True
    return False


def has_foreign(request: Object) -> bool:
    """Return whether a request has foreign messages, foreign definitions or a separate system prompt."""
    prompt = (request.get(name) for name in SYSTEM)
    return (
        any(isinstance(each, str | list) and each for each in prompt)
        or any(map(is_foreign_tool, objects(request.get("tools"))))
        or any(map(is_foreign, objects(request.get("messages"))))
    )


def is_foreign_tool(tool: Any) -> bool:
    """Return whether a definition has its schema in a member of another format."""
    return (
        type(tool) is dict
        and "function" not in tool
        and ("input_schema" in tool or "inputSchema" in tool)
        and string(tool, "name") != ""
    )
