"""Anthropic messages."""

from __future__ import annotations

from typing import Any

from tests.simulator.client import Client
from tests.simulator.nodes import Call, Node, Request
from tests.simulator.styles.common import TOOLS, respelled, schema, sent, text_of, usage

CALL = "toolu_"
MODEL = "claude-sonnet-4-5"
_FINISH = {"length": "max_tokens", None: None}


def request(asked: Request, client: Client, model: str) -> dict[str, Any]:
    """The body of a request."""
    body: dict[str, Any] = {"model": model, "max_tokens": asked.limit, "messages": _turns(asked, client)}
    if asked.system:
        body["system"] = [_text(asked.system)] if client.lists else asked.system
    if asked.tools:
        body["tools"] = [_tool(name) for name in asked.tools]
    return body


def response(node: Node, name: str | None, model: str) -> dict[str, Any]:
    """The body of a response."""
    finish = _FINISH.get(node.sampled.ended, "tool_use" if node.calls else "end_turn")
    said = {
        "type": "message",
        "role": "assistant",
        "model": model,
        "content": _said(node, [node.sampled.said(node)], None),
    }
    tokens = {"input_tokens": 9, "output_tokens": usage(node)}
    named = {"id": f"msg_{name}"} if name else {}
    return {**named, **said, "stop_reason": finish, "stop_sequence": None, "usage": tokens}


def _turns(asked: Request, client: Client) -> list[dict[str, Any]]:
    """Neighbouring results and texts of the user are one turn."""
    turns: list[dict[str, Any]] = []
    for node in sent(asked):
        text = text_of(node, asked)
        role = "assistant" if node.role == "assistant" else "user"
        if node.role == "assistant":
            content = _said(node, client.pieces(text), client)
        elif node.role == "tool":
            content = [{"type": "tool_result", "tool_use_id": client.call_id(node.call), "content": text}]
            content += [_text(asked.extra[node])] if node in asked.extra else []
        else:
            content = [_text(piece) for piece in client.pieces(text)]
        if turns and turns[-1]["role"] == role:
            turns[-1]["content"] += content
        else:
            turns.append({"role": role, "content": content})
    if asked.prefill:
        turns.append({"role": "assistant", "content": [_text(asked.prefill)]})
    if client.lists:
        turns[-1]["content"][-1]["cache_control"] = {"type": "ephemeral"}
        return turns
    return [_plain(turn) for turn in turns]


def _plain(turn: dict[str, Any]) -> dict[str, Any]:
    only = turn["content"][0] if len(turn["content"]) == 1 else {}
    return {**turn, "content": only["text"]} if only.get("type") == "text" else turn


def _said(node: Node, pieces: list[str], client: Client | None) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    if node.reasoning and not (client and client.strips_reasoning):
        blocks.append({"type": "thinking", "thinking": node.reasoning, "signature": "c2lnbmF0dXJl"})
    blocks += [_text(piece) for piece in pieces if piece]
    return blocks + [_call(call, client) for call in node.calls]


def _call(call: Call, client: Client | None) -> dict[str, Any]:
    name = client.call_id(call) if client else call.id
    return {"type": "tool_use", "id": name, "name": call.name, "input": respelled(call, client)}


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _tool(name: str) -> dict[str, Any]:
    return {"name": name, "description": TOOLS[name][0], "input_schema": schema(name)}
