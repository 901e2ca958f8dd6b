"""What Anthropic's library sees of a request's messages and system prompt."""

from __future__ import annotations

import json
from typing import Any

from .common import Object, arguments, block, merged, rest, runs, text, turn

ANTHROPIC = "anthropic"
_RESULT = "_tool_result"
_FUNCTION = ("name", "description", "input_schema", "strict")


def read(document: Any) -> list[Object]:
    """The turns of a request."""
    prompt = document.get("system")
    found = [turn("system", _blocks(prompt))] if prompt else []
    for message in document["messages"]:
        blocks = _blocks(message["content"])
        own = rest(ANTHROPIC, message, "role", "content")
        if message["role"] == "user":
            made = runs(blocks) or [turn("user", [])]
        else:
            made = [turn(message["role"], blocks)]
        made[0] = {**made[0], **({"native": own} if own else {})}
        found += made
    return merged(found)


def _blocks(content: Any) -> list[Object]:
    return text(content) if isinstance(content, str) else [made for each in content for made in _block(each)]


def _block(each: Object) -> list[Object]:
    of = each["type"]
    match of:
        case "text":
            cited = each.get("citations") or []
            return text(each["text"], rest(ANTHROPIC, each, "type", "text", "citations")) + list(map(_source, cited))
        case "thinking":
            own = rest(ANTHROPIC, each, "type", "thinking", "signature")
            return [
                block("reasoning", text=each["thinking"], signer=ANTHROPIC, signature=each["signature"], native=own)
            ]
        case "redacted_thinking":
            own = rest(ANTHROPIC, each, "type", "data")
            return [block("reasoning", signer=ANTHROPIC, encrypted=each["data"], native=own)]
        case "tool_use":
            own = rest(ANTHROPIC, each, "type", "id", "name", "input")
            return [block("call", id=each["id"], name=each["name"], arguments=arguments(each["input"]), native=own)]
        case "tool_result":
            return [_result(each)]
        case "server_tool_use":
            own = rest(ANTHROPIC, each, "type", "id", "name", "input")
            given = json.dumps(each["input"])
            return [
                block("hosted_call", id=each["id"], name=each["name"], arguments=given, provider=ANTHROPIC, native=own)
            ]
        case "image" | "document":
            return _medium(each, "image" if of == "image" else "file")
    if of.endswith(_RESULT):
        value = each["content"]
        failed = isinstance(value, dict) and value.get("type", "").endswith("_error")
        own = rest(ANTHROPIC, each, "type", "tool_use_id", "content")
        more = {"outcome": "failed" if failed else "success", "provider": ANTHROPIC, "native": own}
        return [block("hosted_result", id=each["tool_use_id"], name=of.removesuffix(_RESULT), value=value, **more)]
    return [block("other", provider=ANTHROPIC, value=each)]


def _result(each: Object) -> Object:
    own = rest(ANTHROPIC, each, "type", "tool_use_id", "content", "is_error")
    outcome = "failed" if each.get("is_error") else "success"
    return block("result", id=each["tool_use_id"], content=_blocks(each["content"]), outcome=outcome, native=own)


def _source(cited: Object) -> Object:
    titled = "title" if cited.get("url") else "document_title"
    own = rest(ANTHROPIC, cited, "url", titled)
    return block("source", url=cited.get("url"), title=cited.get(titled), native=own)


def _medium(each: Object, kind: str) -> list[Object]:
    source = each["source"]
    own = rest(ANTHROPIC, each, "type", "source", "title")
    name = each.get("title")
    match source["type"]:
        case "base64":
            return [block("media", kind=kind, mime=source["media_type"], data=source["data"], name=name, native=own)]
        case "url":
            return [block("media", kind=kind, url=source["url"], name=name, native=own)]
        case "file":
            return [block("media", kind=kind, file_id=source["file_id"], provider="anthropic", name=name, native=own)]
    held = {**each, "source": {key: value for key, value in source.items() if key != "data"}}
    return text(source["data"], {ANTHROPIC: {"document": held}})


def tools(document: Any) -> list[Object]:
    """The definitions of tools."""
    return [
        {"type": "function", "function": _function(tool), "native": rest(ANTHROPIC, tool, *_FUNCTION, "type")}
        for tool in document.get("tools", [])
    ]


def _function(tool: Object) -> Object:
    return {("parameters" if key == "input_schema" else key): tool[key] for key in _FUNCTION if key in tool}
