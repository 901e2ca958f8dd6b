"""The parts of Crush's messages as those that the AI SDK has."""

from __future__ import annotations

import base64

from chatsquash.core.model import Json
from chatsquash.formats.base import TurnError
from chatsquash.formats.evidence import Unread
from chatsquash.formats.values import Object, kind, members, string

_PART = {
    "text": ("text",),
    "reasoning": ("thinking", "signature", "thought_signature", "responses_data", "started_at", "finished_at"),
    "tool_call": ("id", "tool_call_id", "name", "input", "provider_executed", "finished"),
    "tool_result": ("tool_call_id", "name", "content", "data", "mime_type", "is_error"),
    "image_url": ("url", "detail"),
    "binary": ("Path", "MIMEType", "Data"),
    "finish": ("reason", "time"),
    "shell_command": ("command", "output", "exit_code"),
}
"""The types of parts, and the members that are read of each."""
_LARGEST = 1 << 32


def read_part(of: Json, data: Object, place: str, unread: Unread) -> list[Json]:
    """A part as the AI SDK has it."""
    if not isinstance(of, str) or of not in _PART:
        unread.one(f"part of the type {of if isinstance(of, str) else kind(of)}")
        return []
    unread.rest(f"part.{of}", data, "type", *_PART[of])
    if of in ("tool_call", "tool_result"):
        return [_tool(of, data, place)]
    return _file(data, unread) if of == "binary" else _shown(of, data)


def _shown(of: str, data: Object) -> list[Json]:
    """What is said, thought or shown."""
    match of:
        case "text":
            return _text(string(data, "text").strip())
        case "shell_command":
            return _text(f"$ {string(data, 'command')}\n{string(data, 'output')}\n(exit code {_code(data)})")
        case "reasoning":
            said = {"type": "reasoning", "text": string(data, "thinking"), **_options(data)}
            return [said] if said["text"] or len(said) > 2 else []
        case "image_url":
            return [{"type": "file", "mediaType": "image/*", "url": data.get("url")}]
    return []


def _code(data: Object) -> str:
    """The code with which a command ended, if it is one."""
    code = data.get("exit_code")
    return str(code) if type(code) is int and abs(code) < _LARGEST else "unknown"


def _tool(of: str, data: Object, place: str) -> Json:
    """A call, or its result."""
    if of == "tool_result":
        return {"type": "tool-result", **_named(data, place), "output": _output(data)}
    hosted = {"providerExecuted": True} if data.get("provider_executed") is True else {}
    return {"type": "tool-call", **_named(data, place), "input": data.get("input"), **hosted}


def _text(value: str) -> list[Json]:
    return [{"type": "text", "text": value}] if value else []


def _named(data: Object, place: str) -> Object:
    """The id and the name of a call; raises ``TurnError`` where one is none."""
    name, own = data.get("name"), data.get("tool_call_id", data.get("id"))
    if not isinstance(name, str) or not isinstance(own, str) or not own:
        raise TurnError(f"{place} has no id or no name of a tool")
    return {"toolCallId": own, "toolName": name}


def _output(data: Object) -> Object:
    said, image = string(data, "content"), string(data, "data")
    if data.get("is_error") is True or not image:
        return {"type": "error-text" if data.get("is_error") is True else "text", "value": said}
    file = {"type": "file-data", "mediaType": string(data, "mime_type"), "data": image}
    return {"type": "content", "value": [*_text(said), file]}


def _options(data: Object) -> Object:
    """Who signed or encrypted reasoning, as the AI SDK says it."""
    told = members(data.get("responses_data"))
    found = {
        "anthropic": {"signature": string(data, "signature")},
        "google": {"thoughtSignature": string(data, "thought_signature")},
        "openai": {
            "itemId": string(told, "item_id"),
            "reasoningEncryptedContent": string(told, "encrypted_content"),
        },
    }
    held = {who: {name: value for name, value in each.items() if value} for who, each in found.items()}
    signed = {who: each for who, each in held.items() if each}
    return {"providerOptions": signed} if signed else {}


def _file(data: Object, unread: Unread) -> list[Json]:
    """A file that the user added; of one that was printed only the size is there."""
    mime, held = string(data, "MIMEType"), string(data, "Data")
    if mime.startswith("text/") and held:
        try:
            return _text(base64.b64decode(held, validate=True).decode("utf-8", "replace"))
        except ValueError:
            unread.one("part.binary.Data")
            return []
    name = string(data, "Path").replace("\\", "/").rpartition("/")[2]
    return [{"type": "file", "mediaType": mime, "data": held, **({"filename": name} if name else {})}] if held else []
