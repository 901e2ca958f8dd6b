"""HTTP archives (HAR) saved by browsers and proxies: the exchanges with models among their entries."""

from __future__ import annotations

from base64 import b64decode
from collections.abc import Iterator

from chatsquash.core import jsonio
from chatsquash.core.model import Json
from chatsquash.sources import captures
from chatsquash.sources.arrays import Readable, elements

NAME = "HAR"
WHAT = "`{log: {version, creator, entries: [{request, response}]}}`"
SUFFIXES: tuple[str, ...] = (".har",)
COPIES = False

BEGINS = rb'(?:\xef\xbb\xbf)?[ \t\r\n]*+\{[ \t\r\n]*+"log"[ \t\r\n]*+:[ \t\r\n]*+\{'
_OTHER_MEMBERS = (b'"entries"', b'"creator"')
_TEXT = 1
"""The opcode of a WebSocket text message."""


def fits(head: bytes) -> str | None:
    """Return the evidence for an object whose first member is a log with entries or a creator, or ``None``."""
    return "log.entries" if any(name in head for name in _OTHER_MEMBERS) else None


def lines(file: Readable) -> Iterator[bytes]:
    """Yield a line for each request to a model, without headers and cookies."""
    for element in elements(file, ("log", "entries")):
        entry = jsonio.value(element.data)
        if isinstance(entry, dict):
            if line := captures.exchange_line(NAME, _exchange(entry)):
                yield line
            yield from captures.socket_lines(NAME, _messages(entry.get("_webSocketMessages")))


def _exchange(entry: dict[str, Json]) -> captures.Exchange:
    request, response = _object(entry.get("request")), _object(entry.get("response"))
    return captures.Exchange(
        when=entry.get("startedDateTime"),
        method=request.get("method"),
        url=request.get("url"),
        request_body=_object(request.get("postData")).get("text"),
        status=response.get("status"),
        response_body=_text(_object(response.get("content"))),
    )


def _messages(messages: Json) -> Iterator[tuple[bool, Json, Json]]:
    for each in messages if isinstance(messages, list) else []:
        if isinstance(each, dict) and each.get("opcode", _TEXT) == _TEXT:
            yield each.get("type") == "send", each.get("time"), each.get("data")


def _object(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}


def _text(content: dict[str, Json]) -> Json:
    """Return the text of a response."""
    # Some writers encode content that they consider binary.
    text = content.get("text")
    if content.get("encoding") != "base64" or not isinstance(text, str):
        return text
    try:
        return b64decode(text).decode("utf-8", "replace")
    except ValueError:
        return None
