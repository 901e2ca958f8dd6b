"""Gemini ``generateContent``, with the ids of calls that Gemini CLI sends."""

from __future__ import annotations

from typing import Any

from tests.simulator.client import Client
from tests.simulator.nodes import Node, Request
from tests.simulator.styles.common import TOOLS, respelled, schema, sent, text_of, usage

CALL = "call_"
MODEL = "gemini-3-pro"
_FINISH = {"stop": "STOP", "length": "MAX_TOKENS"}


def request(asked: Request, client: Client, model: str) -> dict[str, Any]:
    """Return the body of a request; gateways add the model, which is part of the URL."""
    body: dict[str, Any] = {"model": model, "contents": _contents(asked, client)}
    if asked.system:
        body["systemInstruction"] = {"role": "user", "parts": [{"text": asked.system}]}
    if asked.tools:
        body["tools"] = [{"functionDeclarations": [_tool(name) for name in asked.tools]}]
    return {**body, "generationConfig": {"maxOutputTokens": asked.limit, "temperature": 1}}


def response(node: Node, name: str | None, model: str) -> dict[str, Any]:
    """Return the body of a response."""
    others = [_candidate([{"text": text}], "STOP") for text in node.sampled.others]
    ended = _FINISH.get(node.sampled.ended or "")
    candidates = [*others, _candidate(_said(node, [node.sampled.said(node)], None), ended)]
    for index, candidate in enumerate(candidates):
        candidate["index"] = index
    tokens = {"promptTokenCount": 9, "candidatesTokenCount": usage(node), "totalTokenCount": 9 + usage(node)}
    named = {"responseId": name} if name else {}
    return {"candidates": candidates, "usageMetadata": tokens, "modelVersion": model, **named}


def _candidate(parts: list[dict[str, Any]], finish: str | None) -> dict[str, Any]:
    ended = {"finishReason": finish} if finish else {}
    return {"content": {"role": "model", "parts": parts}, **ended}


def _contents(asked: Request, client: Client) -> list[dict[str, Any]]:
    """Return one content for each message; neighbouring results are one content."""
    contents: list[dict[str, Any]] = []
    before: Node | None = None
    for node in sent(asked):
        text = text_of(node, asked)
        role = "model" if node.role == "assistant" else "user"
        parts = [{"text": piece} for piece in client.pieces(text)]
        if node.role == "assistant":
            parts = _said(node, client.pieces(text), client)
        elif node.role == "tool":
            answer = {"name": node.call.name, "response": {"output": text}, "id": client.call_id(node.call)}
            parts = [{"functionResponse": answer}]
        if before and before.role == node.role == "tool":
            contents[-1]["parts"] += parts
        else:
            contents.append({"role": role, "parts": parts})
        before = node
    if asked.prefill:
        contents.append({"role": "model", "parts": [{"text": asked.prefill}]})
    return contents


def _said(node: Node, pieces: list[str], client: Client | None) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    if node.reasoning and not (client and client.strips_reasoning):
        parts.append({"text": node.reasoning, "thought": True})
    parts += [{"text": piece} for piece in pieces if piece]
    for call in node.calls:
        name = client.call_id(call) if client else call.id
        arguments = respelled(call, client)
        parts.append({"functionCall": {"id": name, "name": call.name, "args": arguments}, "thoughtSignature": "c2ln"})
    return parts


def _tool(name: str) -> dict[str, Any]:
    return {"name": name, "description": TOOLS[name][0], "parametersJsonSchema": schema(name)}
