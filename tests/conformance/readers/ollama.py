"""What Ollama's server sees of a request's messages."""

from __future__ import annotations

from typing import Any

from .common import Links, Object, arguments, block, both, image_type, merged, rest, text, turn

OLLAMA = "ollama"


def read(document: Any) -> list[Object]:
    """The turns of a request; results without ids are found by their names."""
    links = Links()
    return merged(_turn(message, links) for message in document["messages"])


def _turn(message: Object, links: Links) -> Object:
    role = message["role"]
    links.next(by_assistant=role == "assistant")
    content = [*text(message.get("content")), *map(_image, message.get("images") or [])]
    if role == "tool":
        name = message.get("tool_name") or ""
        own = rest(OLLAMA, message, "role", "content", "images", "tool_name", "tool_call_id")
        answered = links.answer(message.get("tool_call_id"), name)
        return turn(role, [block("result", id=answered, name=name, content=content, native=own)])
    if role != "assistant":
        return turn(role, content, native=rest(OLLAMA, message, "role", "content", "images"))
    thought = message.get("thinking")
    thoughts = [block("reasoning", text=thought)] if thought else []
    calls = [_call(each, links) for each in message.get("tool_calls") or []]
    own = rest(OLLAMA, message, "role", "content", "images", "thinking", "tool_calls")
    return turn(role, [*thoughts, *content, *calls], native=own)


def _call(logged: Object, links: Links) -> Object:
    held = logged["function"]
    inner = rest(OLLAMA, held, "name", "arguments", "index")
    own = both(rest(OLLAMA, logged, "id", "function"), {OLLAMA: {"function": inner[OLLAMA]}} if inner else {})
    name = held.get("name") or ""
    return block(
        "call", id=links.call(logged.get("id"), name), name=name, arguments=arguments(held["arguments"]), native=own
    )


def _image(data: str) -> Object:
    mime = image_type(data)
    return (
        block("media", kind="image", mime=mime, data=data)
        if mime
        else block("other", provider=OLLAMA, value={"images": data})
    )
