"""The constraints of Anthropic's service on requests."""

from __future__ import annotations

import re

from chatsquash.core.blocks import HostedCall, HostedResult
from chatsquash.core.model import Json
from chatsquash.formats.providers.anthropic.blocks import PROVIDER
from chatsquash.formats.service import NameRule, Service, known_members
from chatsquash.formats.values import objects
from chatsquash.formats.writing import native

_MEMBERS = {
    "text": ("text", "citations", "cache_control"),
    "thinking": ("thinking", "signature"),
    "redacted_thinking": ("data",),
    "tool_use": ("id", "name", "input", "caller", "cache_control"),
    "tool_result": ("tool_use_id", "content", "is_error", "cache_control"),
    "image": ("source", "cache_control"),
    "document": ("source", "title", "context", "citations", "cache_control"),
}
"""The allowed members of each block type, in addition to ``type``; hosted calls and results are not listed."""
_SOURCES = {
    "base64": ("media_type", "data"),
    "text": ("media_type", "data"),
    "url": ("url",),
    "file": ("file_id",),
    "content": ("content",),
}
"""The allowed members of each source type of images and documents."""

_HOSTED_TOOLS = (
    *("web_search", "web_fetch", "code_execution", "bash_code_execution", "text_editor_code_execution"),
    *("tool_search_tool_regex", "tool_search_tool_bm25", "advisor"),
)
"""The names of the tools that the service runs."""


def _is_hosted(block: HostedCall | HostedResult) -> bool:
    """Return whether a call or a result belongs to a tool of the service, or of an MCP server called by the service."""
    if block.provider != PROVIDER:
        return False
    if isinstance(block, HostedCall):
        return block.name in _HOSTED_TOOLS or native(block, PROVIDER).get("type") == "mcp_tool_use"
    names = (*_HOSTED_TOOLS, "mcp", "tool_search_tool")  # results of MCP servers and of both tool searches
    return block.name in names and isinstance(block.value, dict | list)


def _strict_body(body: Json) -> Json:
    """Return a request without empty turns and without members that the service does not accept."""
    strict_body = dict(body)
    if isinstance(body.get("system"), list):
        strict_body["system"] = _known_members(body["system"])
    strict_body["messages"] = [
        {"role": turn["role"], "content": _known_members(turn["content"])}
        for turn in objects(body["messages"])
        if turn["content"]
    ]
    if strict_body["messages"] and strict_body["messages"][-1]["role"] == "assistant":
        strict_body["messages"][-1]["content"] = _strip_last(strict_body["messages"][-1]["content"])
    return strict_body


def _strip_last(content: Json) -> Json:
    """Strip trailing white space, which the service rejects at the end of a final assistant turn."""
    if isinstance(content, str):
        return content.rstrip()
    if isinstance(content, list) and isinstance(content[-1].get("text"), str):
        return [*content[:-1], {**content[-1], "text": content[-1]["text"].rstrip()}]
    return content


def _known_members(content: Json) -> Json:
    """Remove members that the service does not accept from blocks, including those inside results."""
    if not isinstance(content, list):
        return content
    blocks = [known_members(block, _MEMBERS) for block in objects(content)]
    for block in blocks:
        if block["type"] == "tool_result" and "content" in block:
            block["content"] = _known_members(block["content"])
        if isinstance(block.get("source"), dict):
            block["source"] = known_members(block["source"], _SOURCES)
    return blocks


SERVICE = Service(
    PROVIDER,
    accepts_reasoning=lambda block: block.signer == PROVIDER and bool(block.signature or block.encrypted),
    names=NameRule(re.compile(r"[^a-zA-Z0-9_-]"), max_length=128),
    ids=NameRule(re.compile(r"[^a-zA-Z0-9_-]"), max_length=256),
    accepts_hosted=_is_hosted,
    rejects_trailing_reasoning=True,
    prompts=("system",),
    rejects_blank_texts=True,
    remove_unknown_members=_strict_body,
)
