"""OpenAI chat completions."""

from __future__ import annotations

from typing import Any

from tests.simulator.client import Client
from tests.simulator.nodes import Node, Request
from tests.simulator.styles.common import TOOLS, schema, sent, spelled, text_of, usage

CALL = "call_"
MODEL = "gpt-5-mini"
_FINISH = {"length": "length", None: None}


def request(asked: Request, client: Client, model: str) -> dict[str, Any]:
    """The body of a request."""
    messages = [{"role": "system", "content": asked.system}] if asked.system else []
    messages += [_message(node, asked, client) for node in sent(asked)]
    if asked.prefill:
        messages.append({"role": "assistant", "content": asked.prefill})
    body = {"model": model, "messages": messages, "max_tokens": asked.limit}
    return {**body, "tools": [_tool(name) for name in asked.tools]} if asked.tools else body


def response(node: Node, name: str | None, model: str) -> dict[str, Any]:
    """The body of a response."""
    text = node.sampled.said(node)
    if node.sampled.tagged and node.reasoning:
        text = f"<think>\n{node.reasoning}\n</think>\n\n{text}"
    message: dict[str, Any] = {"role": "assistant", "content": text or None}
    if node.reasoning and not node.sampled.tagged:
        message["reasoning_content"] = node.reasoning
    if node.calls:
        message["tool_calls"] = [_call(call, call.id, spelled(call)) for call in node.calls]
    finish = _FINISH.get(node.sampled.ended, "tool_calls" if node.calls else "stop")
    body = {
        "object": "chat.completion",
        "model": model,
        "usage": {"prompt_tokens": 9, "completion_tokens": usage(node)},
    }
    others = [({"role": "assistant", "content": text}, "stop") for text in node.sampled.others]
    choices = [
        {"index": index, "message": said, "finish_reason": ended}
        for index, (said, ended) in enumerate([*others, (message, finish)])
    ]
    return {**({"id": f"chatcmpl-{name}"} if name else {}), **body, "choices": choices}


def _message(node: Node, asked: Request, client: Client) -> dict[str, Any]:
    text = text_of(node, asked)
    if node.role == "tool":
        return {"role": "tool", "tool_call_id": client.call_id(node.call), "content": text}
    content: Any = text
    if client.lists and text:
        content = [{"type": "text", "text": piece} for piece in client.pieces(text)]
    if node.role == "user":
        return {"role": "user", "content": content}
    message: dict[str, Any] = {"role": "assistant", "content": content or None}
    if node.reasoning and not client.strips_reasoning and not client.thinks:
        message["reasoning_content"] = node.reasoning
    if node.calls:
        message["tool_calls"] = [_call(call, client.call_id(call), spelled(call, client)) for call in node.calls]
    return message


def _call(call, name: str, arguments: str) -> dict[str, Any]:
    return {"id": name, "type": "function", "function": {"name": call.name, "arguments": arguments}}


def _tool(name: str) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "description": TOOLS[name][0], "parameters": schema(name)}}
