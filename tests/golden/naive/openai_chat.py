"""OpenAI chat completions, which are the record's own form; ``tests/oracle.py`` says more of them."""

from __future__ import annotations

from typing import Any

from tests.golden.naive.common import Object


def conversation(request: Object) -> list[Object]:
    return list(request["messages"])


def tools(request: Object) -> list[Object]:
    return [*(tool["function"] for tool in request.get("tools") or []), *request.get("functions", [])]


def reply(response: Any) -> Object | None:
    choices = response.get("choices") if isinstance(response, dict) else None
    return dict(choices[0]["message"]) if choices else None


def whole(events: list[Object]) -> Object:
    """Texts follow each other, and so do the arguments of each call."""
    message: Object = {"role": "assistant"}
    calls: dict[int, Object] = {}
    for delta in (event["choices"][0]["delta"] for event in events if event["choices"]):
        for member in ("content", "reasoning_content"):
            if delta.get(member) is not None:
                message[member] = message.get(member, "") + delta[member]
        for piece in delta.get("tool_calls") or []:
            call = calls.setdefault(piece["index"], {"id": piece.get("id"), "type": "function", "function": {}})
            for member, value in piece["function"].items():
                call["function"][member] = call["function"].get(member, "") + value
    if calls:
        message["tool_calls"] = [calls[index] for index in sorted(calls)]
    return {"choices": [{"message": message}]} if message.keys() > {"role"} else {}
