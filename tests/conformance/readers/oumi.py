"""What Oumi sees of a conversation that it is trained on."""

from __future__ import annotations

from typing import Any

from .common import Object, block, image_type, linked, merged, rest, text, turn

OUMI = "oumi"


def read(document: Any) -> list[Object]:
    """The turns of a conversation."""
    return merged(map(_turn, document["messages"]))


def _turn(message: Object) -> Object:
    role, content = message["role"], _items(message.get("content"))
    if role == "tool":
        own = rest(OUMI, message, "role", "tool_call_id", "content")
        return turn(role, [block("result", id=message["tool_call_id"], content=content, native=own)])
    thought = message.get("reasoning_content")
    thoughts = [block("reasoning", text=thought)] if thought else []
    calls = [_call(each) for each in message.get("tool_calls") or []]
    own = rest(OUMI, message, "role", "content", "reasoning_content", "tool_calls")
    return turn(role, [*thoughts, *content, *calls], native=own)


def _call(call: Object) -> Object:
    held = call["function"]
    own = rest(OUMI, call, "id", "type", "function")
    return block("call", id=call["id"], name=held["name"], arguments=held["arguments"], native=own)


def _items(content: Any) -> list[Object]:
    return text(content) if isinstance(content, str) else [made for item in content or [] for made in _item(item)]


def _item(item: Object) -> list[Object]:
    if item["type"] == "text":
        return text(item["content"], rest(OUMI, item, "type", "content"))
    if item["type"] == "image_binary":
        own = rest(OUMI, item, "type", "binary")
        return [block("media", kind="image", mime=image_type(item["binary"]), data=item["binary"], native=own)]
    return [linked("image", item["content"], native=rest(OUMI, item, "type", "content"))]
