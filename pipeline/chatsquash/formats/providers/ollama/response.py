"""What a response of Ollama says."""

from __future__ import annotations

from chatsquash.core.model import Json, Response
from chatsquash.formats import view
from chatsquash.formats.base import Stream, missing_reply, wrong
from chatsquash.formats.providers.ollama.read import START, said
from chatsquash.formats.values import Object, as_list, kind, string


def reply(body: Json) -> Response:
    """The message of a response; one that was logged as its chunks is put together first."""
    return assemble(body).answer(_whole) if isinstance(body, list) else _whole(body)


def _whole(body: Json) -> Response:
    return missing_reply(body) or _answer(body, body.get("message"))


def _answer(body: Object, message: Json) -> Response:
    if message is None:
        return Response(problem="the response has no message")
    if not isinstance(message, dict):
        return wrong("response.message", kind(message))
    if not isinstance(message.get("content"), str | None):
        return wrong("response.message.content", kind(message["content"]))
    stopped = string(body, "done_reason") or None
    turn, _ = said(message, START)
    if not (turn.blocks or turn.native):
        return Response(None, 1, stopped, "the response's message is empty")
    read = view.message(turn)
    called = stopped == "stop" and "tool_calls" in read
    return Response(read, 1, "tool_calls" if called else stopped)


def assemble(events: list[Json]) -> Stream:
    """Texts follow each other, and so do calls and images; any other member is the last one's."""
    body: Object = {}
    message: Object = {}
    texts: dict[str, list[str]] = {}
    error: Json = None
    for event in events:
        if not isinstance(event, dict):
            continue
        if error := event.get("error") or None:
            break
        if is_chunk(event):
            body |= event
            _extend(message, texts, event["message"])
    if body:
        joined = {key: "".join(pieces) for key, pieces in texts.items()}
        body["message"] = {**message, **joined}
    return Stream(body, body.get("done") is True and error is None, error)


def _extend(message: Object, texts: dict[str, list[str]], added: Object) -> None:
    for key, value in added.items():
        if key in ("content", "thinking") and isinstance(value, str):
            message[key] = ""  # keeps the order of the members
            texts.setdefault(key, []).append(value)
        elif key in ("tool_calls", "images") and isinstance(value, list):
            message[key] = [*as_list(message.get(key)), *value]
        elif value is not None:
            message[key] = value


def is_chunk(body: Object) -> bool:
    """Whether this is a response or a chunk of one, which look the same."""
    message = body.get("message")
    return isinstance(body.get("done"), bool) and isinstance(message, dict) and isinstance(message.get("role"), str)
