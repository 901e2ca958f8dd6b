"""OpenAI Responses, with the whole history in each request."""

from __future__ import annotations

from typing import Any

from tests.simulator.client import Client
from tests.simulator.nodes import Call, Node, Request
from tests.simulator.styles.common import TOOLS, schema, sent, spelled, text_of, usage

CALL = "call_"
MODEL = "gpt-5"
_STATUS = {"stop": "completed", "length": "incomplete", None: "in_progress"}


def request(asked: Request, client: Client, model: str) -> dict[str, Any]:
    """The body of a request."""
    items = [item for node in sent(asked) for item in _items(node, text_of(node, asked), client)]
    body: dict[str, Any] = {"model": model, "input": items, "max_output_tokens": asked.limit, "store": False}
    if asked.conversation:
        body |= {"conversation": {"id": asked.conversation}, "store": True}
    if asked.previous:
        body |= {"previous_response_id": asked.previous, "store": True}
    if asked.system:
        body["instructions"] = asked.system
    if asked.tools:
        body["tools"] = [_tool(name) for name in asked.tools]
    return body


def response(node: Node, name: str | None, model: str) -> dict[str, Any]:
    """The body of a response."""
    status = _STATUS[node.sampled.ended]
    why = {"reason": "max_output_tokens"} if status == "incomplete" else None
    tokens = {"input_tokens": 9, "output_tokens": usage(node), "total_tokens": 9 + usage(node)}
    named = {"id": f"resp_{name}"} if name else {}
    body = {"object": "response", "status": status, "incomplete_details": why, "model": model, "usage": tokens}
    return {**named, **body, "output": _said(node, [node.text], None)}


def _items(node: Node, text: str, client: Client) -> list[dict[str, Any]]:
    if node.role == "tool":
        return [{"type": "function_call_output", "call_id": client.call_id(node.call), "output": text}]
    pieces = client.pieces(text)
    if node.role == "assistant":
        return _said(node, pieces, client)
    content: Any = [{"type": "input_text", "text": piece} for piece in pieces] if client.lists else "".join(pieces)
    return [{"role": "user", "content": content}]


def _said(node: Node, pieces: list[str], client: Client | None) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = []
    if node.reasoning and not (client and client.strips_reasoning):
        summary = [{"type": "summary_text", "text": node.reasoning}]
        items.append({"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": "ZW5jcnlwdGVk"})
    if node.text:
        content = [{"type": "output_text", "text": piece, "annotations": []} for piece in pieces]
        items.append({"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": content})
    return items + [_call(call, client) for call in node.calls]


def _call(call: Call, client: Client | None) -> dict[str, Any]:
    name = client.call_id(call) if client else call.id
    made = {"type": "function_call", "status": "completed", "call_id": name, "name": call.name}
    return {**made, "arguments": spelled(call, client)}


def _tool(name: str) -> dict[str, Any]:
    return {
        "type": "function",
        "name": name,
        "description": TOOLS[name][0],
        "parameters": schema(name),
        "strict": False,
    }
