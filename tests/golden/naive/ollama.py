"""Ollama's ``/api/chat``, as section 3.5 of the specification has it."""

from __future__ import annotations

import base64
from typing import Any

from tests.golden.naive.common import Links, Object, compact, content, function_call, text

MAGIC = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"GIF8": "image/gif"}


def conversation(request: Object) -> list[Object]:
    links, messages, last = Links(), list[Object](), ""
    for turn in request["messages"]:
        if turn["role"] == "assistant":
            if last != "assistant":
                links.waiting = []
            messages.append(assistant(turn, links))
        elif turn["role"] == "tool":
            messages.append(result(turn, links))
        else:
            messages.append({"role": turn["role"], "content": shown(turn)})
        last = turn["role"]
    return messages


def shown(turn: Object) -> Any:
    """The text, and the images behind it."""
    images = [{"type": "image_url", "image_url": {"url": url(image)}} for image in turn.get("images") or []]
    said = turn.get("content") or ""
    return content([*([text(said)] if said else []), *images])


def url(image: str) -> str:
    mime = next(mime for magic, mime in MAGIC.items() if base64.b64decode(image).startswith(magic))
    return f"data:{mime};base64,{image}"


def result(turn: Object, links: Links) -> Object:
    name, value = turn.get("tool_name"), turn["content"]
    named = {"name": name} if name else {}
    said = value if isinstance(value, str) else compact(value)
    return {
        "role": "tool",
        "tool_call_id": links.answered(turn.get("tool_call_id"), name),
        **named,
        "content": said,
    }


def assistant(turn: Object, links: Links) -> Object:
    calls = turn.get("tool_calls") or []
    message = {"role": "assistant", "content": shown(turn) or (None if calls else "")}
    if turn.get("thinking"):
        message["reasoning_content"] = turn["thinking"]
    if calls:
        message["tool_calls"] = [
            function_call(
                links.called(call.get("id"), call["function"]["name"]),
                call["function"]["name"],
                call["function"].get("arguments"),
            )
            for call in calls
        ]
    return message


def tools(request: Object) -> list[Object]:
    return [tool["function"] for tool in request.get("tools") or []]


def reply(response: Any) -> Object | None:
    message = response.get("message") if isinstance(response, dict) else None
    return assistant(message, Links()) if message else None


def whole(events: list[Object]) -> Object:
    """Texts follow each other, and so do calls."""
    said = [event["message"] for event in events]
    joined: Object = {key: "".join(message.get(key) or "" for message in said) for key in ("content", "thinking")}
    joined["tool_calls"] = [call for message in said for call in message.get("tool_calls") or []]
    return {"message": {"role": "assistant", **joined}}
