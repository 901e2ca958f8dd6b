"""What the Hub's viewer sees of a session trace, by its page "Session Traces Format" (hub-docs, 242f4a1)."""

from __future__ import annotations

from typing import Any

from .common import Object, block, merged, rest, text, turn

STS = "sts"


def read(document: Any) -> list[Object]:
    """The turns of a trace."""
    return merged(_turn(line["message"]) for line in document[1:])


def _turn(message: Object) -> Object:
    role, content = message["role"], text(message["content"])
    if role == "tool":
        own = rest(STS, message, "role", "content", "toolCallId", "timestamp", "model")
        return turn(role, [block("result", id=message["toolCallId"], content=content, native=own)])
    thought = message.get("reasoningContent")
    thoughts = [block("reasoning", text=thought)] if thought else []
    own = rest(STS, message, "role", "content", "reasoningContent", "toolCalls", "timestamp", "model")
    return turn(role, [*thoughts, *content, *map(_call, message.get("toolCalls") or [])], native=own)


def _call(call: Object) -> Object:
    held = call["function"]
    return block("call", id=call["id"], name=held["name"], arguments=held["arguments"])


def tools(document: Any) -> list[Object]:
    """The definitions of tools, which are further members of the header."""
    return list(document[0].get("tools", []))
