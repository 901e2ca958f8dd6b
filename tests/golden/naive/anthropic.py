"""Anthropic Messages, as section 3.3 of the specification has them."""

from __future__ import annotations

import base64
import json
from typing import Any

from tests.golden.naive.common import Links, Object, content, function_call, text


def conversation(request: Object) -> list[Object]:
    links = Links()
    system = request.get("system")
    messages = [{"role": "system", "content": content(parts(system))}] if system else []
    for turn in request["messages"]:
        messages += said(turn, links)
    return messages


def said(turn: Object, links: Links) -> list[Object]:
    if turn["role"] == "assistant":
        links.waiting = []
        return [assistant(turn["content"], links)]
    if not isinstance(turn["content"], list) or not any(block["type"] == "tool_result" for block in turn["content"]):
        return [{"role": turn["role"], "content": content(parts(turn["content"]))}]
    return results(turn["content"], links)


def results(blocks: list[Object], links: Links) -> list[Object]:
    """One message per result, in their order; what stands before the first run of them follows it."""
    start = next(at for at, block in enumerate(blocks) if block["type"] == "tool_result")
    stop = next((at for at in range(start, len(blocks)) if blocks[at]["type"] != "tool_result"), len(blocks))
    given = [block["tool_use_id"] for block in blocks if block.get("tool_use_id")]
    links.waiting.sort(key=lambda call: call[0] in given)  # those that no id answers come first
    messages: list[Object] = []
    for block in [*blocks[start:stop], *blocks[:start], *blocks[stop:]]:
        if block["type"] == "tool_result":
            ident = links.answered(block.get("tool_use_id"))
            messages.append({"role": "tool", "tool_call_id": ident, "content": content(parts(block.get("content")))})
        elif messages[-1]["role"] == "user":
            messages[-1]["content"] += parts([block])
        else:
            messages.append({"role": "user", "content": parts([block])})
    for message in messages:
        if message["role"] == "user":
            message["content"] = content(message["content"])
    return messages


def assistant(blocks: Any, links: Links) -> Object:
    blocks = [text(blocks)] if isinstance(blocks, str) else blocks
    calls = [at for at, block in enumerate(blocks) if block["type"] == "tool_use"]
    before = blocks[: calls[0]] if calls else blocks
    thoughts = [thought for block in blocks if (thought := thinking(block))]
    message = {"role": "assistant", "content": content(parts(before), None if calls else "")}
    if thoughts:
        message["reasoning_content"] = "\n\n".join(thoughts)
    if calls:
        used = [blocks[at] for at in calls]
        message["tool_calls"] = [
            function_call(links.called(block.get("id"), block["name"]), block["name"], block.get("input"))
            for block in used
        ]
    return message


def thinking(block: Object) -> str:
    packed = "openrouter.reasoning:"
    if block["type"] == "redacted_thinking" and block["data"].startswith(packed):
        return str(json.loads(base64.b64decode(block["data"].removeprefix(packed)))["text"])
    return str(block["thinking"]) if block["type"] == "thinking" else ""


def parts(blocks: Any) -> list[Object]:
    """Texts, images and documents; anything else has no place."""
    found: list[Object] = []
    for block in [text(blocks)] if isinstance(blocks, str) else blocks or []:
        source = block.get("source")
        if block["type"] == "text":
            found.append(text(block["text"]))
        elif block["type"] == "search_result":
            found += parts(block["content"])
        elif block["type"] == "document" and source["type"] == "text":
            found.append(text(source["data"]))
        elif block["type"] == "document":
            named = {"filename": block["title"]} if "title" in block else {}
            member = "file_url" if source["type"] == "url" else "file_data"
            found.append({"type": "file", "file": {member: address(source), **named}})
        elif block["type"] == "image":
            found.append({"type": "image_url", "image_url": {"url": address(source)}})
    return found


def tools(request: Object) -> list[Object]:
    names = {"name": "name", "description": "description", "input_schema": "parameters", "strict": "strict"}
    ours = [tool for tool in request.get("tools", []) if "input_schema" in tool]
    return [{new: tool[old] for old, new in names.items() if old in tool} for tool in ours]


def reply(response: Any) -> Object | None:
    return assistant(response["content"], Links()) if response and response.get("content") else None


def whole(events: list[Object]) -> Object:
    """The blocks that were started, each with all of its deltas."""
    blocks: dict[int, Object] = {}
    pieces: dict[int, str] = {}
    for event in events:
        if event["type"] == "content_block_start":
            blocks[event["index"]] = dict(event["content_block"])
        elif event["type"] == "content_block_delta":
            delta, block = event["delta"], blocks[event["index"]]
            for member in ("text", "thinking"):
                if member in delta:
                    block[member] += delta[member]
            pieces[event["index"]] = pieces.get(event["index"], "") + delta.get("partial_json", "")
    for index, block in blocks.items():
        if block["type"] == "tool_use" and pieces.get(index):
            try:
                block["input"] = json.loads(pieces[index])
            except ValueError:
                block["input"] = pieces[index]
    return {"content": [blocks[index] for index in sorted(blocks)]}


def address(source: Object) -> str:
    return str(source["url"]) if source["type"] == "url" else f"data:{source['media_type']};base64,{source['data']}"
