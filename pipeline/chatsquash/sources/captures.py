"""HTTP exchanges captured by proxies and browsers, as log lines with only bodies, time and status.

Headers, cookies and query strings may contain keys, so they are never copied into a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from msgspec import Struct

from chatsquash.core import jsonio
from chatsquash.core.model import Json

_PATH = re.compile(
    r"(?:/messages|/completions?|/responses|/api/chat|/api/generate|/converse(?:-stream)?"
    r"|/invoke(?:-with-response-stream)?|:(?:stream)?generateContent)/*\Z",
    re.IGNORECASE,
)
"""The endings of paths of model endpoints."""
_TURNS = ("messages", "contents", "input", "prompt")
_LONGEST_URL = 1 << 16
MEMBER = "captured"
"""The member with the name of the program that captured a line."""


class Exchange(Struct, frozen=True):
    """A captured request with its response; members may have any type."""

    when: Json
    method: Json
    url: Json
    request_body: Json
    """The request body as text."""
    status: Json
    response_body: Json
    """The response body as text."""


def exchange_line(writer: str, exchange: Exchange) -> bytes | None:
    """Encode an exchange as a line; return ``None`` if the request was not sent to a model.

    A model request whose body is not JSON becomes a line without a request, which counts as unreadable.
    """
    if exchange.method != "POST":
        return None
    body = jsonio.value(exchange.request_body) if isinstance(exchange.request_body, str) else None
    if not isinstance(body, dict):
        is_sent = _PATH.search(_path(exchange.url))
        return _encode_line(writer, exchange.when, {}, None, exchange.status) if is_sent else None
    if not _is_model_request(exchange.url, body):
        return None
    return _encode_line(writer, exchange.when, body, exchange.response_body, exchange.status)


def _encode_line(writer: str, when: Json, request: dict[str, Json], response: Json, status: Json) -> bytes:
    members: dict[str, Any] = {
        MEMBER: writer,
        "timestamp": when,
        "request": request,
        "response": response,
        "status": status,
    }
    if (session := session_of(request)) is not None:
        members["session_id"] = session
    return jsonio.dumps(members)


def _is_model_request(url: Json, body: dict[str, Json]) -> bool:
    """Return whether a request was sent to a model, based on its path or on messages with roles."""
    if _PATH.search(_path(url)):
        return any(name in body for name in _TURNS)
    messages = body.get("messages")
    return isinstance(messages, list) and any(isinstance(each, dict) and "role" in each for each in messages)


def _path(url: Json) -> str:
    return re.split("[?#]", url[:_LONGEST_URL], maxsplit=1)[0] if isinstance(url, str) else ""


_SESSION = re.compile(r"_session_([0-9a-zA-Z-]{8,64})\Z")


def session_of(request: dict[str, Json]) -> str | None:
    """Return the session id in a request body."""
    # Claude Code sends the session id in the user id, as a suffix or as JSON.
    metadata = request.get("metadata")
    user = metadata.get("user_id") if isinstance(metadata, dict) else None
    if isinstance(user, str) and len(user) < _LONGEST_URL:
        if match := _SESSION.search(user[-80:]):
            return match[1]
        user_id = jsonio.value(user) if user.startswith("{") else None
        if isinstance(user_id, dict) and isinstance(user_id.get("session_id"), str):
            return str(user_id["session_id"]) or None
    session = metadata.get("session_id") if isinstance(metadata, dict) else None
    session = session or request.get("prompt_cache_key")
    return session if isinstance(session, str) and session else None


def socket_lines(writer: str, messages: Iterator[tuple[bool, Json, Json]]) -> Iterator[bytes]:
    """Yield the exchanges of a WebSocket connection: each ``response.create`` with the events that follow it.

    Each message is a tuple of whether the client sent it, its time and its text.
    """
    request: dict[str, Json] | None = None
    when: Json = None
    events: list[Json] = []
    for is_sent, time, text in messages:
        value = jsonio.value(text) if isinstance(text, str) else None
        if not isinstance(value, dict):
            continue
        if is_sent and value.get("type") == "response.create":
            if request:
                yield _encode_line(writer, when, request, events, None)
            inner = value.get("response")
            request = {**value, **inner} if isinstance(inner, dict) else dict(value)
            request.pop("type", None)
            request.pop("response", None)
            when, events = time, []
        elif not is_sent and request:
            events.append(value)
    if request:
        yield _encode_line(writer, when, request, events, None)
