"""Responses as the server-sent events in which providers stream them; a gateway may log that text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

_PIECE = 40
"""Characters of a delta."""
Event = dict[str, Any]


def streamed(style: str, body: dict[str, Any]) -> str:
    """Return a response as a stream; one without an end lacks the final events."""
    events = {"openai": _chat, "anthropic": _messages, "responses": _responses, "gemini": _candidates}[style](body)
    named = style in ("anthropic", "responses")
    lines = [f"{_name(each) if named else ''}data: {json.dumps(each)}\n\n" for each in events]
    is_done = style == "openai" and body["choices"][-1]["finish_reason"]
    return "".join(lines) + ("data: [DONE]\n\n" if is_done else "")


def _name(event: Event) -> str:
    return f"event: {event['type']}\n"


def _pieces(text: str) -> Iterator[str]:
    for at in range(0, len(text), _PIECE):
        yield text[at : at + _PIECE]


def _chat(body: dict[str, Any]) -> Iterator[Event]:
    shared = {name: value for name, value in body.items() if name in ("id", "model")}
    shared["object"] = "chat.completion.chunk"
    for choice in body["choices"]:
        for delta in _deltas(choice["message"]):
            yield {**shared, "choices": [{"index": choice["index"], "delta": delta, "finish_reason": None}]}
        if ended := choice["finish_reason"]:
            yield {**shared, "choices": [{"index": choice["index"], "delta": {}, "finish_reason": ended}]}


def _deltas(message: dict[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"role": "assistant", "content": ""}
    for name in ("reasoning_content", "content"):
        for piece in _pieces(message.get(name) or ""):
            yield {name: piece}
    for index, call in enumerate(message.get("tool_calls") or ()):
        function = {"name": call["function"]["name"], "arguments": ""}
        yield {"tool_calls": [{"index": index, "id": call["id"], "type": "function", "function": function}]}
        for piece in _pieces(call["function"]["arguments"]):
            yield {"tool_calls": [{"index": index, "function": {"arguments": piece}}]}


def _messages(body: dict[str, Any]) -> Iterator[Event]:
    begun = {**body, "content": [], "stop_reason": None}
    yield {"type": "message_start", "message": begun}
    for index, block in enumerate(body["content"]):
        empty = {"text": {"text": ""}, "thinking": {"thinking": "", "signature": ""}, "tool_use": {"input": {}}}
        yield {"type": "content_block_start", "index": index, "content_block": {**block, **empty[block["type"]]}}
        for delta in _block_deltas(block):
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    if ended := body["stop_reason"]:
        delta = {"stop_reason": ended, "stop_sequence": None}
        yield {"type": "message_delta", "delta": delta, "usage": {"output_tokens": body["usage"]["output_tokens"]}}
        yield {"type": "message_stop"}


def _block_deltas(block: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if block["type"] == "text":
        yield from ({"type": "text_delta", "text": piece} for piece in _pieces(block["text"]))
    elif block["type"] == "thinking":
        yield from ({"type": "thinking_delta", "thinking": piece} for piece in _pieces(block["thinking"]))
        yield {"type": "signature_delta", "signature": block["signature"]}
    else:
        written = json.dumps(block["input"])
        yield from ({"type": "input_json_delta", "partial_json": piece} for piece in _pieces(written))


def _responses(body: dict[str, Any]) -> Iterator[Event]:
    yield {"type": "response.created", "response": {**body, "status": "in_progress", "output": []}}
    for index, item in enumerate(body["output"]):
        yield {"type": "response.output_item.added", "output_index": index, "item": {**item, "status": "in_progress"}}
        yield {"type": "response.output_item.done", "output_index": index, "item": item}
    ended = {"completed": "response.completed", "incomplete": "response.incomplete"}.get(body["status"])
    if ended:
        yield {"type": ended, "response": body}


def _candidates(body: dict[str, Any]) -> Iterator[Event]:
    shared = {name: value for name, value in body.items() if name != "candidates"}
    for candidate in body["candidates"]:
        for part in candidate["content"]["parts"]:
            texts = [{**part, "text": piece} for piece in _pieces(part["text"])] if "text" in part else [part]
            for each in texts:
                content = {"role": "model", "parts": [each]}
                yield {**shared, "candidates": [{"content": content, "index": candidate["index"]}]}
        ended = {"finishReason": candidate["finishReason"]} if "finishReason" in candidate else {}
        content = {"role": "model", "parts": [{"text": ""}]}
        yield {**shared, "candidates": [{"content": content, "index": candidate["index"], **ended}]}
