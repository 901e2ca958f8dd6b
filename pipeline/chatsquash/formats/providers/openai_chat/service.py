"""The constraints of OpenAI's service on chat completion requests."""

from __future__ import annotations

import re

from chatsquash.core.model import Json
from chatsquash.formats.service import NameRule, Service, only
from chatsquash.formats.values import Object, objects, string

_MEMBERS = {
    "system": ("role", "content", "name"),
    "developer": ("role", "content", "name"),
    "user": ("role", "content", "name"),
    "assistant": ("role", "content", "name", "refusal", "audio", "tool_calls"),
    "tool": ("role", "tool_call_id", "content"),
}
"""The allowed members of messages, by role."""
_Members = dict[str, tuple[str, ...]]
_NAMES = NameRule(re.compile(r"[\s<|\\/>]"), max_length=64)
"""The rule for speaker names."""
_PARTS: _Members = {
    "text": (),
    "refusal": (),
    "image_url": ("url", "detail"),
    "input_audio": ("data", "format"),
    "file": ("file_data", "file_id", "filename"),
}
"""The allowed part types with the members of their inner objects; types without members contain a string instead."""
_TOOLS: _Members = {
    "function": ("name", "description", "parameters", "strict"),
    "custom": ("name", "description", "format"),
}
_CALLS: _Members = {"function": ("name", "arguments"), "custom": ("name", "input")}


def _strict_body(body: Json) -> Json:
    """Return a request without empty messages, and without members and parts that the service does not accept."""
    messages = [converted for message in body["messages"] if _has_content(converted := _message(message))]
    tools = {"tools": [_typed_part(tool, _TOOLS) for tool in body["tools"]]} if "tools" in body else {}
    return {"messages": messages, **tools}


def _has_content(message: Object) -> bool:
    return message["role"] == "tool" or any(message.get(name) for name in ("content", "refusal", "tool_calls"))


def _message(message: Object) -> Object:
    converted = only(message, _MEMBERS[message["role"]])
    if isinstance(converted.get("content"), list):
        converted["content"] = [_typed_part(part, _PARTS) for part in converted["content"] if _is_part(part)]
    if "tool_calls" in converted:
        converted["tool_calls"] = [
            _typed_part({**call, "type": "custom" if "custom" in call else "function"}, _CALLS)
            for call in objects(converted["tool_calls"])
        ]
    if "audio" in converted:
        converted["audio"] = only(converted["audio"], ("id",)) if isinstance(converted["audio"], dict) else None
    if "name" in converted:
        converted["name"] = _NAMES.fit(str(converted["name"]))
    return converted


def _is_part(part: Object) -> bool:
    of = string(part, "type")
    return of in _PARTS and isinstance(part.get(of), dict if _PARTS[of] else str)


def _typed_part(holder: Object, members: _Members) -> Object:
    """Return a part, a call or a definition with only the allowed members inside and outside its inner object."""
    of = holder["type"]
    value = holder[of]
    own = only(value, members[of]) if isinstance(value, dict) else value
    return {**only(holder, ("id", "type", "prompt_cache_breakpoint")), of: own}


SERVICE = Service(
    "openai",
    names=NameRule(re.compile(r"[^a-zA-Z0-9_-]"), max_length=64),
    ids=NameRule(re.compile("(?!)"), max_length=40),
    accepts_reasoning=lambda _: False,
    requires_properties=True,
    remove_unknown_members=_strict_body,
)
