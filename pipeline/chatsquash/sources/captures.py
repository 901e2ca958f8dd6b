"""What proxies and browsers captured of an exchange over HTTP, as a line of a log: bodies, time and status alone.

Headers, cookies and what a URL asks for may hold keys, and are in no line.
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
"""How the paths end at which models are asked."""
_TURNS = ("messages", "contents", "input", "prompt")
_LONGEST_URL = 1 << 16
MEMBER = "captured"
"""The member of a line that says what captured it."""


class Exchange(Struct, frozen=True):
    """A request and its answer, each member as it was captured, of whatever type."""

    when: Json
    method: Json
    url: Json
    sent: Json
    """The body, as text."""
    status: Json
    answered: Json
    """The body of the answer, as text."""


def line(by: str, exchange: Exchange) -> bytes | None:
    """An exchange as a line; ``None`` for what was not sent to a model.

    What was sent to one and is no JSON is a line without a request, which counts as one that cannot be read.
    """
    if exchange.method != "POST":
        return None
    body = jsonio.value(exchange.sent) if isinstance(exchange.sent, str) else None
    if not isinstance(body, dict):
        is_sent = _PATH.search(_path(exchange.url))
        return _spelled(by, exchange.when, {}, None, exchange.status) if is_sent else None
    if not _asks(exchange.url, body):
        return None
    return _spelled(by, exchange.when, body, exchange.answered, exchange.status)


def _spelled(by: str, when: Json, request: dict[str, Json], response: Json, status: Json) -> bytes:
    members: dict[str, Any] = {
        MEMBER: by,
        "timestamp": when,
        "request": request,
        "response": response,
        "status": status,
    }
    if (session := session_of(request)) is not None:
        members["session_id"] = session
    return jsonio.dumps(members)


def _asks(url: Json, body: dict[str, Json]) -> bool:
    """Whether a body asks a model: by where it went, or by messages that have roles."""
    if _PATH.search(_path(url)):
        return any(name in body for name in _TURNS)
    messages = body.get("messages")
    return isinstance(messages, list) and any(isinstance(each, dict) and "role" in each for each in messages)


def _path(url: Json) -> str:
    return re.split("[?#]", url[:_LONGEST_URL], maxsplit=1)[0] if isinstance(url, str) else ""


_SESSION = re.compile(r"_session_([0-9a-zA-Z-]{8,64})\Z")


def session_of(request: dict[str, Json]) -> str | None:
    """The session that a request's body names for its service."""
    metadata = request.get("metadata")
    user = metadata.get("user_id") if isinstance(metadata, dict) else None
    if isinstance(user, str) and len(user) < _LONGEST_URL:
        if match := _SESSION.search(user[-80:]):
            return match[1]
        user_id = jsonio.value(user) if user.startswith("{") else None
        if isinstance(user_id, dict) and isinstance(user_id.get("session_id"), str):
            return str(user_id["session_id"]) or None
    named = metadata.get("session_id") if isinstance(metadata, dict) else None
    named = named or request.get("prompt_cache_key")
    return named if isinstance(named, str) and named else None


def of_socket(by: str, messages: Iterator[tuple[bool, Json, Json]]) -> Iterator[bytes]:
    """The exchanges over a web socket: what was sent to have a response made, and the events that came for it.

    Each message is whether it was sent, when, and its text.
    """
    asked: dict[str, Json] | None = None
    when: Json = None
    events: list[Json] = []
    for is_sent, time, text in messages:
        value = jsonio.value(text) if isinstance(text, str) else None
        if not isinstance(value, dict):
            continue
        if is_sent and value.get("type") == "response.create":
            if asked:
                yield _spelled(by, when, asked, events, None)
            inner = value.get("response")
            asked = {**value, **inner} if isinstance(inner, dict) else dict(value)
            asked.pop("type", None)
            asked.pop("response", None)
            when, events = time, []
        elif not is_sent and asked:
            events.append(value)
    if asked:
        yield _spelled(by, when, asked, events, None)
