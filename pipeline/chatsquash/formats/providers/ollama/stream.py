"""A response of Ollama, put together from the lines that it was streamed in."""

from __future__ import annotations

from chatsquash.core.model import Json
from chatsquash.formats.base import Stream
from chatsquash.formats.values import Object, listed


def assemble(events: list[Json]) -> Stream:
    """Texts follow each other, and so do calls and images; any other member is the last one's."""
    body: Object = {}
    message: Object = {}
    texts: dict[str, list[str]] = {}
    for event in events:
        if not isinstance(event, dict):
            continue
        if event.get("error"):
            return Stream(event, whole=True)
        if is_chunk(event):
            body |= event
            _extend(message, texts, event["message"])
    if body:
        joined = {key: "".join(pieces) for key, pieces in texts.items()}
        body["message"] = {**message, **joined}
    return Stream(body, body.get("done") is True)


def _extend(message: Object, texts: dict[str, list[str]], added: Object) -> None:
    for key, value in added.items():
        if key in ("content", "thinking") and isinstance(value, str):
            message[key] = ""  # keeps the order of the members
            texts.setdefault(key, []).append(value)
        elif key in ("tool_calls", "images") and isinstance(value, list):
            message[key] = [*listed(message.get(key)), *value]
        elif value is not None:
            message[key] = value


def is_chunk(body: Object) -> bool:
    """Whether this is a response or a chunk of one, which look the same."""
    message = body.get("message")
    return isinstance(body.get("done"), bool) and isinstance(message, dict) and isinstance(message.get("role"), str)
