"""Convert messages of the AI SDK 4, as sent by Cursor, to OpenAI chat turns."""

from __future__ import annotations

from chatsquash.core.model import Json
from chatsquash.formats.calls import function_call, tool_message
from chatsquash.formats.evidence import Unread, member_path
from chatsquash.formats.parts import data_url, image
from chatsquash.formats.values import Object, as_list, at, compact, objects, string

MODEL = "lastUsedModel"
_OPTIONS = "providerOptions"
_MESSAGE = ("role", "content", "id", _OPTIONS)
_CURSOR = ("modelProviderMessageId", "isSummary", "highLevelToolCallResult", "modelName")
_RESULT = "highLevelToolCallResult"
_PART = {
    "text": ("type", "text"),
    "reasoning": ("type", "text", "signature"),
    "redacted-reasoning": ("type", "data"),
    "tool-call": ("type", "toolCallId", "toolName", "args", "input"),
    "tool-result": ("type", "toolCallId", "toolName", "result", "output", "experimental_content", "isError"),
}
"""The members that are read, by part type."""


def is_summary(message: Object) -> bool:
    """Return whether a message replaces compacted messages."""
    return at(message, _OPTIONS, "cursor", "isSummary") is True


def named_model(message: Object) -> str:
    """Return the model name in a message or in its parts, or an empty string."""
    holders = (message, *objects(message.get("content")))
    names = (string(at(each, _OPTIONS, "cursor"), "modelName") for each in holders)
    return next((name for name in names if name), "")


def turns(message: Object, model: str, unread: Unread) -> list[Object]:
    """Return the turns of a message; tool messages have one turn per result."""
    unread.count_members("message", message, *_MESSAGE)
    unread.count_members("message.providerOptions", message.get(_OPTIONS), "cursor")
    unread.count_members("message.providerOptions.cursor", at(message, _OPTIONS, "cursor"), *_CURSOR)
    for part in objects(message.get("content")):
        part_type = string(part, "type")
        unread.count_members(
            member_path("message.content", str(part_type)), part, *_PART.get(part_type, tuple(part)), _OPTIONS
        )
        unread.count_members("message.content.providerOptions.cursor", at(part, _OPTIONS, "cursor"), *_CURSOR)
    role, content = message.get("role"), message.get("content")
    if role == "tool":
        unread.count_members(f"message.{_RESULT}", at(message, _OPTIONS, "cursor", _RESULT), "isError")
        return [
            _result(part, message)
            if string(part, "type") == "tool-result"
            else {"role": "user", "content": [_part(part)]}
            for part in objects(content)
        ]
    if role == "assistant":
        return [assistant_turn(content, model)]
    return [{"role": role, "content": list(map(_part, content)) if isinstance(content, list) else content}]


def assistant_turn(content: Json, model: str) -> Object:
    """Convert the content of an assistant message: reasoning, text and calls."""
    thoughts, parts, calls = list[Json](), list[Json](), list[Json]()
    for part in as_list(content):
        match part:
            case {"type": "reasoning", "text": str(text), **more}:
                thoughts.append(thought(text, string(more, "signature"), "", model))
            case {"type": "redacted-reasoning", "data": str(data)}:
                thoughts.append(thought("", "", data, model))
            case {"type": "tool-call", "toolName": name, **more}:
                calls.append(function_call(more.get("toolCallId"), name, more.get("args", more.get("input"))))
            case _:
                parts.append(_part(part))
    return reply(parts, thoughts, calls)


def reply(parts: list[Json], thoughts: list[Json], calls: list[Json]) -> Object:
    """Build a reply from text, reasoning and calls."""
    members = {"content": parts, "reasoning_details": thoughts, "tool_calls": calls}
    return {"role": "assistant", "content": None, **{name: value for name, value in members.items() if value}}


def thought(text: str, signature: str, hidden: str, model: str) -> Object:
    """Build a reasoning block; the signer is only known for Anthropic's models."""
    signature_format = "anthropic-claude-v1" if "claude" in model.lower() else "unknown"
    if hidden:
        return {"type": "reasoning.encrypted", "data": hidden, "format": signature_format}
    return {
        "type": "reasoning.text",
        "text": text,
        "format": signature_format,
        **({"signature": signature} if signature else {}),
    }


def _result(part: Object, message: Object) -> Object:
    high = at(message, _OPTIONS, "cursor", _RESULT)
    flags = (part.get("isError"), at(high, "isError"), at(high, "output", "isError"))
    parts = [_part(each) for each in as_list(part.get("experimental_content"))]
    value = part.get("result", part.get("output"))
    # The parts repeat the value, unless they contain images.
    is_seen = value is None or any(string(each, "type") == "image_url" for each in parts)
    content = parts if parts and is_seen else value if value is not None else ""
    if isinstance(content, list) and not is_seen:
        content = compact(content)
    return tool_message(part.get("toolCallId"), content, "failed" if True in flags else "", part.get("toolName"))


def _part(part: Json) -> Json:
    """Convert a content part; images may be inline data or URLs."""
    match part:
        case {"type": "image", "image": str(data)} | {"type": "image", "data": str(data)}:
            mime = string(part, "mimeType") or string(part, "mediaType") or "image/png"
            return image(data if ":" in data[:20] else data_url(mime, data))
        case {"type": "text", "text": str(text)}:
            return {"type": "text", "text": text}
    return part
