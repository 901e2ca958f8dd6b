"""Load the reply in an Ollama response, and assemble streamed responses."""

from __future__ import annotations

from chatsquash.core.model import Json, Response
from chatsquash.formats import view
from chatsquash.formats.base import Stream, missing_reply, wrong
from chatsquash.formats.providers.ollama.read import START, load_assistant
from chatsquash.formats.providers.ollama.usual import text_and_calls
from chatsquash.formats.values import Object, as_list, kind, string


def reply(body: Json) -> Response:
    """Load the message of a response, which may be a list of chunks."""
    return assemble(body).answer(_reply_in) if isinstance(body, list) else _reply_in(body)


def _reply_in(body: Json) -> Response:
    return missing_reply(body) or _answer(body, body.get("message"))


def _answer(body: Object, message: Json) -> Response:
    if message is None:
        return Response(problem="the response has no message")
    if not isinstance(message, dict):
        return wrong("response.message", kind(message))
    if not isinstance(message.get("content"), str | None):
        return wrong("response.message.content", kind(message["content"]))
    done_reason = string(body, "done_reason") or None
    usual = text_and_calls(message, START.call) if "role" in message else None
    if usual and any(usual):
        return Response(view.reply(*usual), 1, "tool_calls" if done_reason == "stop" and usual[1] else done_reason)
    turn, _ = load_assistant(message, START)
    if not (turn.blocks or turn.native):
        return Response(None, 1, done_reason, "the response's message is empty")
    reply_message = view.message(turn)
    has_calls = done_reason == "stop" and "tool_calls" in reply_message
    return Response(reply_message, 1, "tool_calls" if has_calls else done_reason)


def assemble(events: list[Json]) -> Stream:
    """Assemble a response: text, calls and images are joined; for other members, the last value is used."""
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
        joined_texts = {key: "".join(pieces) for key, pieces in texts.items()}
        body["message"] = {**message, **joined_texts}
    return Stream(body, body.get("done") is True and error is None, error)


def _extend(message: Object, texts: dict[str, list[str]], new_members: Object) -> None:
    for key, value in new_members.items():
        if key in ("content", "thinking") and isinstance(value, str):
            message[key] = ""  # preserves the order of the members
            texts.setdefault(key, []).append(value)
        elif key in ("tool_calls", "images") and isinstance(value, list):
            message[key] = [*as_list(message.get(key)), *value]
        elif value is not None:
            message[key] = value


def is_chunk(body: Object) -> bool:
    """Return whether an object is a complete response or a chunk, which have the same form."""
    message = body.get("message")
    return isinstance(body.get("done"), bool) and isinstance(message, dict) and isinstance(message.get("role"), str)
