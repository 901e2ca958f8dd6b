"""Debug exports of VS Code's chat: the prompts of a session with the requests that each of them caused."""

from __future__ import annotations

from collections.abc import Iterator

from chatsquash.core import jsonio
from chatsquash.core.model import Json
from chatsquash.formats.providers.openai_chat import response_body
from chatsquash.sources.arrays import Readable, elements

NAME = "chatreplay"
WHAT = "`{exportedAt, totalPrompts, prompts: [{prompt, logs}]}`"
SUFFIXES = (".json",)
COPIES = True

BEGINS = rb'[ \t\r\n]*+\{[ \t\r\n]*+"exportedAt"'
_ROLES = ("system", "user", "assistant", "tool")
_CACHE = 3
"""The type of a part that only marks a cache breakpoint."""


def fits(head: bytes) -> str | None:
    """Return the evidence for an export time, the number of prompts and the prompts, or ``None``."""
    known = b'"totalPrompts"' in head and b'"prompts"' in head
    return "exportedAt, totalPrompts and prompts" if known else None


def lines(file: Readable) -> Iterator[bytes]:
    """Yield a line for each request of each prompt."""
    for element in elements(file, ("prompts",)):
        prompt = jsonio.value(element.data)
        logs = prompt.get("logs") if isinstance(prompt, dict) else None
        for log in logs if isinstance(logs, list) else []:
            # The separate entries for tool calls contain nothing new.
            if isinstance(log, dict) and log.get("kind") == "request":
                yield jsonio.dumps(_line(log))


def _line(log: dict[str, Json]) -> dict[str, Json]:
    metadata = _object(log.get("metadata"))
    messages = _object(log.get("requestMessages")).get("messages")
    response = _object(log.get("response"))
    message = response.get("message")
    texts = [part for part in message if isinstance(part, str)] if isinstance(message, list) else [message]
    failed = log.get("type") not in (None, "ChatMLSuccess")
    request = {
        "model": metadata.get("model"),
        "messages": [_message(each) for each in messages] if isinstance(messages, list) else messages,
        "tools": metadata.get("tools"),
    }
    answer = {"role": "assistant", "content": "".join(filter(None, texts))}
    completion = {**response_body(answer, metadata.get("model")), "usage": metadata.get("usage")}
    return {
        "captured": NAME,
        "timestamp": metadata.get("startTime") or log.get("time"),
        "request": {name: value for name, value in request.items() if value is not None},
        "response": {"error": log.get("type")} if failed else completion,
    }


def _message(message: Json) -> Json:
    """Convert a message to the OpenAI chat format."""
    if not isinstance(message, dict):
        return message
    role = message.get("role")
    converted: dict[str, Json] = {"role": _ROLES[role] if type(role) is int and 0 <= role < len(_ROLES) else role}
    content = message.get("content")
    parts = [_part(part) for part in content if _kind(part) != _CACHE] if isinstance(content, list) else content
    texts = [part["text"] for part in parts if isinstance(part, dict) and part.get("type") == "text"] if parts else []
    converted["content"] = "".join(texts) if parts and len(texts) == len(parts) else parts
    for name, source_name in (("tool_calls", "toolCalls"), ("tool_call_id", "toolCallId"), ("name", "name")):
        if message.get(source_name):
            converted[name] = message[source_name]
    if converted.get("tool_calls") and not parts:
        converted["content"] = None
    return converted


def _kind(part: Json) -> Json:
    return part.get("type") if isinstance(part, dict) else None


def _part(part: Json) -> Json:
    match part:
        case {"type": 1, "text": str(content)}:
            return {"type": "text", "text": content}
        case {"type": 0, "imageUrl": url}:
            return {"type": "image_url", "image_url": url}
    return part


def _object(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}
