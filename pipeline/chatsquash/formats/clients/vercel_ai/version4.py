"""UI messages of the AI SDK 4 as those of the later versions: calls beside the content, and parts of other names."""

from __future__ import annotations

from itertools import groupby

from chatsquash.core.model import Json
from chatsquash.formats.values import Object, at, objects, string, without

MEMBERS = ("toolInvocations", "experimental_attachments")
"""What only these messages have."""
_CALL = "tool-invocation"
_STATES = {"partial-call": "input-streaming", "result": "output-available"}


def newer(message: Object) -> Object:
    """A message as later versions have it, what it has beside in its metadata; one of these as it is."""
    logged, content = message.get("parts"), message.get("content")
    if logged is None and isinstance(content, str):
        logged = _parts(message, content)
    elif not isinstance(logged, list) or not (
        isinstance(content, str) or any(at(each, "type") == _CALL for each in logged)
    ):
        return message
    parts = [part for each in logged for part in _part(each)]
    parts += [_file(each) for each in objects(message.get("experimental_attachments"))]
    metadata = without(message, "id", "role", "parts", "content", "reasoning", *MEMBERS)
    return {**{key: message[key] for key in ("id", "role") if key in message}, "metadata": metadata, "parts": parts}


def tells(message: Object) -> bool:
    """Whether a message is of this version, and no plain chat."""
    return any(objects(message.get(member)) for member in MEMBERS)


def _parts(message: Object, content: str) -> list[Json]:
    """What a message without parts holds; text stands behind calls that were answered, with others before them."""
    thought, invoked = string(message, "reasoning"), objects(message.get("toolInvocations"))
    parts: list[Json] = [{"type": "reasoning", "text": thought}] if thought else []
    said: list[Json] = [{"type": "text", "text": content}] if content else []
    is_answered = all(each.get("state") == "result" for each in invoked)
    parts += [] if invoked and is_answered else said
    for place, (_, step) in enumerate(groupby(invoked, key=lambda each: each.get("step") or 0)):
        parts += [{"type": "step-start"}] if place else []
        parts += [{"type": _CALL, "toolInvocation": each} for each in step]
    return [*parts, {"type": "step-start"}, *said] if invoked and is_answered and said else parts


def _part(part: Json) -> list[Json]:
    """A part, as later versions have it; reasoning may be several."""
    match part:
        case {"type": "tool-invocation", "toolInvocation": dict(invoked)}:
            return [_tool(invoked)]
        case {"type": "reasoning", "details": list(details)} if details:
            return [_thought(each) for each in objects(details)]
        case {"type": "reasoning", "reasoning": str(text)}:
            return [{"type": "reasoning", "text": text}]
        case {"type": "source", "source": {"url": str(url), **source}}:
            named = {"sourceId": string(source, "id"), "url": url}
            return [{"type": "source-url", **named, **without(source, "id", "sourceType")}]
        case {"type": "file", "mimeType": str(mime), "data": str(data)}:
            return [{"type": "file", "mediaType": mime, "url": f"data:{mime};base64,{data}"}]
    return [part]


def _thought(detail: Object) -> Object:
    """Reasoning, of which this version does not say who signed it."""
    signature = string(detail, "signature") or string(detail, "data")
    own = {"signature": signature, **({"id": "redacted_thinking"} if string(detail, "data") else {})}
    part = {"type": "reasoning", "text": string(detail, "text")}
    return {**part, "providerMetadata": {"pydantic_ai": own}} if signature else part


def _tool(invoked: Object) -> Object:
    """A call, and its result."""
    name, state = invoked.get("toolName"), at(invoked, "state")
    read = ("toolName", "state", "args", "result", "step")
    part = {"type": f"tool-{name}" if isinstance(name, str) else "dynamic-tool", **without(invoked, *read)}
    part |= {"state": _STATES.get(state, "input-available") if isinstance(state, str) else "input-available"}
    given = {"output": invoked.get("result")} if state == "result" else {}
    return {**part, "input": invoked.get("args"), **given}


def _file(attached: Object) -> Object:
    named = {"filename": attached["name"]} if string(attached, "name") else {}
    return {"type": "file", "mediaType": string(attached, "contentType"), "url": string(attached, "url"), **named}
