"""What Anthropic's service wants of a request."""

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
"""What a block of a type may have beside its type; what the service ran is left as it was."""
_SOURCES = {
    "base64": ("media_type", "data"),
    "text": ("media_type", "data"),
    "url": ("url",),
    "file": ("file_id",),
    "content": ("content",),
}
"""What the source of an image or a document may have."""

_RUN = (
    *("web_search", "web_fetch", "code_execution", "bash_code_execution", "text_editor_code_execution"),
    *("tool_search_tool_regex", "tool_search_tool_bm25", "advisor"),
)
"""The tools that the service runs."""


def _runs(block: HostedCall | HostedResult) -> bool:
    """Whether a call or a result is one of the service's own tools, or of a server that it asked."""
    if block.provider != PROVIDER:
        return False
    if isinstance(block, HostedCall):
        return block.name in _RUN or native(block, PROVIDER).get("type") == "mcp_tool_use"
    named = (*_RUN, "mcp", "tool_search_tool")  # as the results of servers and of both searches are
    return block.name in named and isinstance(block.value, dict | list)


def _strict(body: Json) -> Json:
    """Turns that say something, with the members that the service has."""
    made = dict(body)
    if isinstance(body.get("system"), list):
        made["system"] = _known_members(body["system"])
    made["messages"] = [
        {"role": turn["role"], "content": _known_members(turn["content"])}
        for turn in objects(body["messages"])
        if turn["content"]
    ]
    if made["messages"] and made["messages"][-1]["role"] == "assistant":
        made["messages"][-1]["content"] = _strip_last(made["messages"][-1]["content"])
    return made


def _strip_last(content: Json) -> Json:
    """A last answer, which must not end in white space."""
    if isinstance(content, str):
        return content.rstrip()
    if isinstance(content, list) and isinstance(content[-1].get("text"), str):
        return [*content[:-1], {**content[-1], "text": content[-1]["text"].rstrip()}]
    return content


def _known_members(content: Json) -> Json:
    """Blocks with the members that the service has, those in results, too."""
    if not isinstance(content, list):
        return content
    made = [known_members(block, _MEMBERS) for block in objects(content)]
    for block in made:
        if block["type"] == "tool_result" and "content" in block:
            block["content"] = _known_members(block["content"])
        if isinstance(block.get("source"), dict):
            block["source"] = known_members(block["source"], _SOURCES)
    return made


SERVICE = Service(
    PROVIDER,
    accepts_reasoning=lambda block: block.signer == PROVIDER and bool(block.signature or block.encrypted),
    names=NameRule(re.compile(r"[^a-zA-Z0-9_-]"), max_length=128),
    ids=NameRule(re.compile(r"[^a-zA-Z0-9_-]"), max_length=256),
    accepts_hosted=_runs,
    rejects_trailing_reasoning=True,
    prompts=("system",),
    rejects_blank_texts=True,
    remove_unknown_members=_strict,
)
