"""The constraints of OpenAI's service on Responses requests."""

from __future__ import annotations

import re

from chatsquash.core.model import Json
from chatsquash.formats.providers.openai_responses.items import PROVIDER, type_of
from chatsquash.formats.service import NameRule, Service, known_members, only
from chatsquash.formats.values import Object, string

_CALL = ("id", "call_id", "name", "namespace", "caller", "status")
_ITEMS = {
    "message": ("role", "content", "status", "phase"),
    "reasoning": ("id", "summary", "content", "encrypted_content", "status"),
    "function_call": (*_CALL, "arguments"),
    "custom_tool_call": ("id", "call_id", "name", "namespace", "caller", "input"),
    "function_call_output": (*_CALL, "output"),
    "custom_tool_call_output": ("id", "call_id", "caller", "output"),
}
"""The allowed members of each item type, in addition to ``type``; hosted calls are not listed."""
_IDS = {"message": "msg", "reasoning": "rs", "function_call": "fc", "custom_tool_call": "ctc"}
"""The required prefixes of item ids."""
_OF_MEDIA = ("detail", "file_id", "prompt_cache_breakpoint")
_PARTS = {
    "input_text": ("text", "prompt_cache_breakpoint"),
    "input_image": (*_OF_MEDIA, "image_url"),
    "input_file": (*_OF_MEDIA, "file_data", "file_url", "filename"),
    "output_text": ("text", "annotations", "logprobs"),
    "refusal": ("refusal",),
}
_TOOL = ("name", "description", "defer_loading", "allowed_callers", "async")
_TOOLS = {
    "function": (*_TOOL, "parameters", "strict", "output_schema"),
    "custom": (*_TOOL, "format"),
    "namespace": ("name", "description", "tools"),
}


def _strict_body(body: Json) -> Json:
    """Return a request without empty items, and without members that the service does not accept."""
    converted = {**body, "input": [_item(item) for item in body["input"] if item.get("content") not in ([], "")]}
    return {**converted, "tools": _tools(body["tools"])} if "tools" in body else converted


def _item(item: Object) -> Object:
    of = type_of(item)
    if not isinstance(of, str) or of not in _ITEMS:
        return item
    converted = only(item, ("type", *_ITEMS[of]))
    if of == "message" and item.get("role") == "assistant":
        converted |= only(item, ("id",))
    if not string(converted, "id").startswith(_IDS.get(of, "")):
        converted.pop("id", None)
    for member in ("content", "output"):
        if isinstance(converted.get(member), list):
            converted[member] = [known_members(part, _PARTS) for part in converted[member]]
    return converted


def _tools(tools: Json) -> Json:
    converted = [known_members(tool, _TOOLS) for tool in tools]
    return [{**tool, "tools": _tools(tool["tools"])} if "tools" in tool else tool for tool in converted]


SERVICE = Service(
    PROVIDER,
    names=NameRule(re.compile(r"[^a-zA-Z0-9_-]"), max_length=128),
    ids=NameRule(re.compile("(?!)"), max_length=64),
    accepts_reasoning=lambda block: block.signer == PROVIDER and bool(block.encrypted or block.id.startswith("rs")),
    rejects_trailing_reasoning=True,
    requires_properties=True,
    remove_unknown_members=_strict_body,
)
