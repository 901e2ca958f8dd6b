"""What OpenAI's service wants of a request for a chat completion."""

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
"""What a message of a role may have."""
_Members = dict[str, tuple[str, ...]]
_NAMES = NameRule(re.compile(r"[\s<|\\/>]"), max_length=64)
"""How the one who speaks may be called."""
_PARTS: _Members = {
    "text": (),
    "refusal": (),
    "image_url": ("url", "detail"),
    "input_audio": ("data", "format"),
    "file": ("file_data", "file_id", "filename"),
}
"""The parts that the service has, and what they may hold that are no texts."""
_TOOLS: _Members = {
    "function": ("name", "description", "parameters", "strict"),
    "custom": ("name", "description", "format"),
}
_CALLS: _Members = {"function": ("name", "arguments"), "custom": ("name", "input")}


def _strict(body: Json) -> Json:
    """Messages and tools with the members and the parts that the service has."""
    messages = [made for message in body["messages"] if _says_something(made := _message(message))]
    tools = {"tools": [_typed_part(tool, _TOOLS) for tool in body["tools"]]} if "tools" in body else {}
    return {"messages": messages, **tools}


def _says_something(message: Object) -> bool:
    return message["role"] == "tool" or any(message.get(name) for name in ("content", "refusal", "tool_calls"))


def _message(message: Object) -> Object:
    made = only(message, _MEMBERS[message["role"]])
    if isinstance(made.get("content"), list):
        made["content"] = [_typed_part(part, _PARTS) for part in made["content"] if _is_part(part)]
    if "tool_calls" in made:
        made["tool_calls"] = [
            _typed_part({**call, "type": "custom" if "custom" in call else "function"}, _CALLS)
            for call in objects(made["tool_calls"])
        ]
    if "audio" in made:
        made["audio"] = only(made["audio"], ("id",)) if isinstance(made["audio"], dict) else None
    if "name" in made:
        made["name"] = _NAMES.fit(str(made["name"]))
    return made


def _is_part(part: Object) -> bool:
    of = string(part, "type")
    return of in _PARTS and isinstance(part.get(of), dict if _PARTS[of] else str)


def _typed_part(holder: Object, members: _Members) -> Object:
    """A part, a call or a definition with what stands under the name of its type."""
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
    remove_unknown_members=_strict,
)
