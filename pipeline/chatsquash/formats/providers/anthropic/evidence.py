"""The evidence for Anthropic Messages."""

from __future__ import annotations

import re

from chatsquash.formats.base import Mark, Marks
from chatsquash.formats.providers.openai_chat.members import TYPES
from chatsquash.formats.values import Object, objects

_BLOCKS = frozenset(
    (
        "tool_use",
        "tool_result",
        "redacted_thinking",
        "server_tool_use",
        "mcp_tool_use",
        "container_upload",
        "search_result",
        "tool_addition",
        "tool_removal",
        "compaction",
    )
)
_EVENTS = frozenset(
    (
        "message_start",
        "message_delta",
        "message_stop",
        "content_block_start",
        "content_block_delta",
        "content_block_stop",
    )
)
_DATE_SUFFIX = re.compile(r"_\d{8}\Z")


def _may_fit(body: Object) -> bool:
    """Return whether a request has a list of turns, and neither turns nor tools that are specific to OpenAI."""
    turns = body.get("messages")
    return isinstance(turns, list) and not (
        any(turn.get("tool_calls") or turn.get("role") in ("tool", "function", "developer") for turn in objects(turns))
        or any("function" in tool for tool in objects(body.get("tools")))
    )


def accepts(body: Object) -> bool:
    """Return whether a request has no turns or blocks that are specific to other formats."""
    blocks = (block for turn in objects(body.get("messages")) for block in objects(turn.get("content")))
    is_other = any("type" not in block or (type(of := block["type"]) is str and of in _OTHER_TYPES) for block in blocks)
    return _may_fit(body) and not is_other and not any(map(_is_extended, objects(body.get("messages"))))


def _is_extended(turn: Object) -> bool:
    return "additional_kwargs" in turn or "invalid_tool_calls" in turn


_OTHER_TYPES = TYPES.difference(("tool_use", "tool_result", "document"))


def _has_blocks(body: Object) -> bool:
    blocks = (block for turn in objects(body.get("messages")) for block in objects(turn.get("content")))
    return any(map(_is_own_block, blocks)) and _may_fit(body)


def _is_own_block(block: Object) -> bool:
    match block:
        case {"type": "thinking", "thinking": str()} | {"type": "image" | "document", "source": {}}:
            return True
        case {"type": str(kind)}:
            return kind in _BLOCKS or kind.endswith("_tool_result")
    return False


def _has_tools(body: Object) -> bool:
    tools = objects(body.get("tools"))
    has_dates = any(isinstance(kind := tool.get("type"), str) and _DATE_SUFFIX.search(kind) for tool in tools)
    return _may_fit(body) and (has_dates or any("input_schema" in tool for tool in tools))


def _has_system(body: Object) -> bool:
    prompt = body.get("system")
    return _may_fit(body) and (isinstance(prompt, list) or (isinstance(prompt, str) and "max_tokens" in body))


def _has_options(body: Object) -> bool:
    has_own_members = any(body.get(key) is not None for key in ("anthropic_version", "stop_sequences", "mcp_servers"))
    thinking, model = body.get("thinking"), body.get("model")
    has_thinking = isinstance(thinking, dict) and "type" in thinking
    is_claude = isinstance(model, str) and model.startswith("claude") and "max_tokens" in body
    return _may_fit(body) and (has_own_members or has_thinking or is_claude)


def _is_response(body: Object) -> bool:
    is_message = body.get("type") == "message" and body.get("role") == "assistant"
    return is_message and ("stop_reason" in body or "usage" in body)


def _is_event(event: Object) -> bool:
    kind = event.get("type")
    return isinstance(kind, str) and kind in _EVENTS


marks = Marks(
    request=(
        Mark(7, "content blocks such as tool_use and thinking", _has_blocks),
        Mark(8, "tools with input_schema or a dated type", _has_tools),
        Mark(8, "system as a list, or together with max_tokens", _has_system),
        Mark(8, "anthropic_version, stop_sequences, mcp_servers, thinking.type or a claude model", _has_options),
    ),
    response=(
        Mark(4, "type message with stop_reason or usage", _is_response),
        Mark(8, "type error with an error", lambda body: body.get("type") == "error" and "error" in body),
    ),
    event=(Mark(3, "events such as message_start", _is_event),),
)
