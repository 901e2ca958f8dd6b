"""What a response of Ollama says."""

from __future__ import annotations

from chatsquash.core.model import Json, Response
from chatsquash.formats import view
from chatsquash.formats.base import refused, wrong
from chatsquash.formats.providers.ollama.read import START, said
from chatsquash.formats.providers.ollama.stream import assemble
from chatsquash.formats.values import Object, kind, string


def reply(body: Json) -> Response:
    """The message of a response; one that was logged as its chunks is put together first."""
    body = assemble(body).body if isinstance(body, list) else body
    return refused(body) or _answer(body, body.get("message"))


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
