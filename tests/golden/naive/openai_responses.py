"""OpenAI Responses, as section 3.2 of the specification has them."""

from __future__ import annotations

from typing import Any

from tests.golden.naive.common import Links, Object, compact, content, text

CALLS = {"function_call": ("function", "arguments"), "custom_tool_call": ("custom", "input")}
HOSTED = ("web_search_call", "mcp_call", "mcp_list_tools", "code_interpreter_call")


def chained(entries: list[Object]) -> list[Object]:
    """Each request with what came before it, where it refers to a response of this log."""
    known: dict[str, list[Any]] = {}
    found = []
    for entry in entries:
        request = entry["request"]
        items = [*known.get(request.get("previous_response_id"), []), *listed(request["input"])]
        found.append({**entry, "request": {**request, "input": items}})
        if isinstance(entry["response"], dict) and "output" in entry["response"]:
            known[entry["response"]["id"]] = [*items, *entry["response"]["output"]]
    return found


def listed(given: Any) -> list[Any]:
    return [{"role": "user", "content": given}] if isinstance(given, str) else given


def conversation(request: Object) -> list[Object]:
    links, messages = Links(), list[Object]()
    if request.get("instructions"):
        messages.append({"role": "system", "content": request["instructions"]})
    run: list[Object] = []
    for item in [*listed(request["input"]), None]:
        if item and is_assistants(item):
            run.append(item)
            continue
        if run:
            links.waiting = []
            messages.append(assistant(run, links))
            run = []
        if item:
            messages.append(said(item, links))
    return messages


def is_assistants(item: Object) -> bool:
    kind = item.get("type", "message")
    return kind in ("reasoning", *CALLS, *HOSTED) or (kind == "message" and item["role"] == "assistant")


def said(item: Object, links: Links) -> Object:
    """What anybody but the assistant said."""
    if item.get("type", "message") == "message":
        return {"role": item["role"], "content": content(parts(item["content"]))}
    ident = links.answered(item.get("call_id"))
    return {"role": "tool", "tool_call_id": ident, "content": output(item["output"])}


def output(value: Any) -> Any:
    if isinstance(value, list) and all(isinstance(block, dict) and "type" in block for block in value):
        return content(parts(value))
    return value if isinstance(value, str) else compact(value)


def parts(blocks: Any) -> list[Object]:
    found = []
    for block in [{"type": "input_text", "text": blocks}] if isinstance(blocks, str) else blocks:
        if block["type"] in ("input_text", "output_text"):
            found.append(text(block["text"]))
        elif block["type"] == "input_image":
            image = {"url": block["image_url"], **({"detail": block["detail"]} if "detail" in block else {})}
            found.append({"type": "image_url", "image_url": image})
        elif block["type"] == "input_file":
            file = {key: block[key] for key in ("file_data", "file_id", "file_url", "filename") if key in block}
            found.append({"type": "file", "file": file})
    return found


def assistant(items: list[Object], links: Links) -> Object:
    """Reasoning, text and calls of one run of items; what a hosted tool did has no place, nor text behind calls."""
    kinds = [item.get("type", "message") for item in items]
    first = next((at for at, kind in enumerate(kinds) if kind in CALLS), len(items))
    said = [item for item, kind in zip(items, kinds, strict=True) if kind == "message"]
    early = [item for item, kind in zip(items[:first], kinds, strict=False) if kind == "message"]
    blocks = [block for item in said if isinstance(item["content"], list) for block in item["content"]]
    refusals = [block["refusal"] for block in blocks if block["type"] == "refusal"]
    message = {"role": "assistant", "content": content([p for item in early for p in parts(item["content"])], None)}
    if refusals:
        message["refusal"] = "\n\n".join(refusals)
    thoughts = [
        "\n\n".join(part["text"] for part in item.get("content") or item["summary"])
        for item, kind in zip(items, kinds, strict=True)
        if kind == "reasoning"
    ]
    if any(thoughts):
        message["reasoning_content"] = "\n\n".join(thought for thought in thoughts if thought)
    calls = [call(item, links) for item, kind in zip(items, kinds, strict=True) if kind in CALLS]
    return {**message, **({"tool_calls": calls} if calls else {})}


def call(item: Object, links: Links) -> Object:
    kind, member = CALLS[item["type"]]
    ident = links.called(item.get("call_id"), item["name"])
    return {"id": ident, "type": kind, kind: {"name": item["name"], member: item[member]}}


def tools(request: Object) -> list[Object]:
    members = ("name", "description", "parameters", "strict")
    ours = [tool for tool in request.get("tools") or [] if tool["type"] == "function"]
    return [{member: tool[member] for member in members if member in tool} for tool in ours]


def reply(response: Any) -> Object | None:
    output = response.get("output") if isinstance(response, dict) else None
    return assistant(output, Links()) if output else None


def whole(events: list[Object]) -> Object:
    """The response of the last event, else the items that were done, else what their deltas add up to."""
    items: dict[int, Object] = {}
    for event in events:
        kind = event["type"]
        if kind in ("response.completed", "response.incomplete"):
            return dict(event["response"])
        if kind == "response.output_item.added":
            items[event["output_index"]] = {**event["item"]}
        elif kind == "response.output_item.done":
            items[event["output_index"]] = event["item"]
        elif kind == "response.output_text.delta":
            item = items[event["output_index"]]
            before = item["content"][0]["text"] if item["content"] else ""
            item["content"] = [{"type": "output_text", "text": before + event["delta"]}]
        elif kind == "response.function_call_arguments.delta":
            items[event["output_index"]]["arguments"] += event["delta"]
    return {"output": [items[index] for index in sorted(items)]}
