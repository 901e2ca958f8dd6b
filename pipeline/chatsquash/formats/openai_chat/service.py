"""What OpenAI's service wants of a request for a chat completion."""

from __future__ import annotations

import re

from chatsquash.formats.service import Letters, Service, only
from chatsquash.formats.values import Object, objects
from chatsquash.model import Json

_MEMBERS = {
    "system": ("role", "content", "name"),
    "developer": ("role", "content", "name"),
    "user": ("role", "content", "name"),
    "assistant": ("role", "content", "name", "refusal", "audio", "tool_calls"),
    "tool": ("role", "tool_call_id", "content"),
}
"""What a message of a role may have."""
_INNER = {
    "text": None,
    "refusal": None,
    "image_url": ("url", "detail"),
    "input_audio": ("data", "format"),
    "file": ("file_data", "file_id", "filename"),
}
"""The parts that the service has, and what they may hold."""


def _strict(body: Json) -> Json:
    """Messages with the members and the parts that the service has."""
    messages = [made for message in body["messages"] if _says_something(made := _message(message))]
    tools = {"tools": [only(tool, ("type", "function", "custom")) for tool in body["tools"]]} if "tools" in body else {}
    return {"messages": messages, **tools}


def _says_something(message: Object) -> bool:
    return message["role"] == "tool" or any(value for name, value in message.items() if name not in ("role", "name"))


def _message(message: Object) -> Object:
    made = only(message, _MEMBERS[message["role"]])
    if isinstance(made.get("content"), list):
        made["content"] = [_part(part) for part in made["content"] if part.get("type") in _INNER]
    if "tool_calls" in made:
        made["tool_calls"] = [only(call, ("id", "type", "function", "custom")) for call in objects(made["tool_calls"])]
    return made


def _part(part: Object) -> Object:
    of = part["type"]
    inner = _INNER[of]
    return {**only(part, ("type", of, "prompt_cache_breakpoint")), **({of: only(part[of], inner)} if inner else {})}


SERVICE = Service(
    names=Letters(re.compile(r"[^a-zA-Z0-9_-]"), longest=64),
    ids=Letters(re.compile("(?!)"), longest=40),
    takes=lambda _: False,
    strict=_strict,
)
