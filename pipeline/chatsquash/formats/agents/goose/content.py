"""What stands in goose's messages, as blocks of Anthropic."""

from __future__ import annotations

from itertools import compress

from chatsquash.core.model import Json
from chatsquash.formats.values import Object, at, compact, without

SHOWN = ("systemNotification", "actionRequired", "toolConfirmationRequest", "conversationCompacted")
"""What goose shows the user, and no model."""


def block(item: Json) -> Json:
    """A part of a message as a block; one that Anthropic has nothing like stays as it is."""
    match item:
        case {"type": "toolRequest" | "frontendToolRequest", "toolCall": dict(wrapped), **rest}:
            called = wrapped.get("value", wrapped)
            # A call that could not be parsed has neither a name nor arguments; its result needs it all the same.
            if not isinstance(called, dict) or "name" not in called:
                return {**rest, "type": "tool_use"}
            given = {"input": called["arguments"]} if called.get("arguments") is not None else {}
            return {"type": "tool_use", "id": item.get("id"), "name": called["name"], **given, **without(rest, "id")}
        case {"type": "toolResponse", "toolResult": result}:
            return {"type": "tool_result", "tool_use_id": item.get("id"), **_output(result)}
        case {"type": "redactedThinking", **rest}:
            return {**rest, "type": "redacted_thinking"}
        case {"type": "image" | "resource" | "resource_link" | "text"}:
            return _content(item)
    return item


def _output(result: Json) -> Object:
    """A result's content, of which the model sees what is not for the user alone."""
    if isinstance(result, dict) and ("error" in result or result.get("status") == "error"):
        error = result.get("error")
        return {"content": error if isinstance(error, str) else compact(error), "is_error": True}
    value = result.get("value", result) if isinstance(result, dict) else result
    failed = {"is_error": True} if at(value, "isError") is True else {}
    content = value.get("content") if isinstance(value, dict) else value
    if not content and at(value, "structuredContent") is not None:
        content = value["structuredContent"]
    if isinstance(content, list):
        audiences = (at(part, "annotations", "audience") for part in content)
        is_seen = (not isinstance(audience, list) or "assistant" in audience for audience in audiences)
        content = list(map(_content, compress(content, is_seen)))
    return {"content": content, **failed}


def _content(part: Json) -> Json:
    """A content of the Model Context Protocol as a block; marks of who it is for say nothing to the model."""
    match part:
        case {"type": "text", "text": str(text)}:
            return {"type": "text", "text": text}
        case {"type": "image", "data": str(data), "mimeType": str(mime)}:
            return {"type": "image", "source": {"type": "base64", "media_type": mime, "data": data}}
        case {"type": "resource", "resource": {"text": str(text)}}:
            return {"type": "text", "text": text}
    return part
