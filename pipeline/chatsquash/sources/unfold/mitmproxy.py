"""Files saved by mitmproxy: a sequence of flows with the transferred bytes."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from typing import Any

from chatsquash.core.model import Json
from chatsquash.sources import captures
from chatsquash.sources.arrays import LONGEST, Readable
from chatsquash.storage import decoders

NAME = "mitmproxy"
WHAT = "flows written by `mitmdump -w`"
SUFFIXES = (".flow", ".flows", ".mitm", ".dump")
COPIES = False

BEGINS = rb"\d{1,9}:(?s:.)"
_MEMBERS = (b"7:version", b"4:type", b"7:request", b"11:client_conn", b"2:id")
_LONGEST = 256 << 20
"""The maximum size in bytes of a decompressed body."""


def fits(head: bytes) -> str | None:
    """Return the evidence for the length of a flow, followed by keys of flows, or ``None``."""
    return "a mitmproxy flow" if sum(name in head for name in _MEMBERS) > 1 else None


def lines(file: Readable) -> Iterator[bytes]:
    """Yield a line for each request to a model, without headers and cookies."""
    for flow in values(file):
        if isinstance(flow, dict) and flow.get("type", "http") == "http":
            request, response = _object(flow.get("request")), _object(flow.get("response"))
            if line := captures.exchange_line(NAME, _exchange(request, response)):
                yield line
            yield from captures.socket_lines(NAME, _messages(_object(flow.get("websocket")).get("messages")))


def _exchange(request: dict[str, Any], response: dict[str, Any]) -> captures.Exchange:
    return captures.Exchange(
        when=request.get("timestamp_start"),
        method=_text(request.get("method")),
        url=_text(request.get("path")),
        request_body=_body(request),
        status=response.get("status_code"),
        response_body=_body(response),
    )


def _messages(messages: Json) -> Iterator[tuple[bool, Json, Json]]:
    """Yield WebSocket messages, which are stored as lists of opcode, whether the client sent it, content and time."""
    for each in messages if isinstance(messages, list) else []:
        if isinstance(each, list) and len(each) > 3:
            yield bool(each[1]), each[3], _text(each[2])


def _object(value: Json) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: Json) -> Json:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else value


def _body(message: dict[str, Any]) -> Json:
    """Return a decompressed body, or ``None`` if it cannot be decompressed."""
    content = message.get("content")
    if not isinstance(content, bytes):
        return None
    encodings = [value for name, value in _headers(message) if name == "content-encoding"]
    for encoding in reversed(",".join(encodings).split(",")):
        expanded = _expand(content, encoding.strip().lower())
        if expanded is None:
            return None
        content = expanded
    return content.decode("utf-8", "replace")


def _headers(message: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the headers with names in lower case."""
    headers = message.get("headers")
    for pair in headers if isinstance(headers, list) else []:
        if isinstance(pair, list) and len(pair) == 2:
            name, value = map(_text, pair)
            if isinstance(name, str) and isinstance(value, str):
                yield name.lower(), value


def _expand(data: bytes, encoding: str) -> bytes | None:  # noqa: PLR0911 - one for each encoding
    try:
        match encoding:
            case "" | "identity":
                return data
            case "gzip" | "x-gzip":
                return zlib.decompressobj(31).decompress(data, _LONGEST)
            case "deflate":
                return zlib.decompressobj(15 if data[:1] == b"\x78" else -15).decompress(data, _LONGEST)
            case "zstd":
                return decoders.expand(decoders.zstd(), data, _LONGEST)
            case "br":
                return _expand_brotli(data)
    except ImportError:
        return None
    except decoders.error_types():
        return None
    return None


def _expand_brotli(data: bytes) -> bytes:
    import brotli  # type: ignore[import-untyped, import-not-found, unused-ignore] # of the extra `captures`

    decoder = brotli.Decompressor()
    try:
        return bytes(decoder.process(data, output_buffer_limit=_LONGEST))
    except brotli.error:
        raise ValueError("is not valid brotli") from None


_DIGITS = 10
_DEEPEST = 20


def values(file: Readable) -> Iterator[Any]:
    """Yield the consecutive values in a file.

    Raises:
        ValueError: A value is malformed.
    """
    number = 0
    while first := file.read(1):
        number += 1
        try:
            yield _value(*_next(file, first), 0)
        except ValueError as problem:
            raise ValueError(f"flow {number:,} is damaged: {problem}") from None


def _next(file: Readable, first: bytes) -> tuple[bytes, int]:
    """Read the next value; return its bytes and its type."""
    length = first
    while not length.endswith(b":"):
        digit = file.read(1)
        if not digit or len(length) > _DIGITS:
            raise ValueError("it has no length")
        length += digit
    size = _number(length[:-1])
    if size > LONGEST:
        raise ValueError(f"it has more than {LONGEST:,} bytes")
    data = file.read(size)
    kind = file.read(1)
    if len(data) < size or not kind:
        raise ValueError("the file ends within it")
    return data, kind[0]


def _number(digits: bytes) -> int:
    if not digits.isdigit() or len(digits) > _DIGITS:
        raise ValueError("a length is not a number")
    return int(digits)


def _value(data: bytes, kind: int, depth: int) -> Any:  # noqa: PLR0911 - one for each type
    if depth > _DEEPEST:
        raise ValueError("it is nested too deeply")
    match chr(kind):
        case ",":
            return data
        case ";":
            return data.decode("utf-8", "replace")
        case "#":
            return int(data) if len(data) < 2 * _DIGITS else None
        case "^":
            return float(data)
        case "!":
            return data == b"true"
        case "~":
            return None
        case "]":
            return list(_nested_values(data, depth + 1))
        case "}":
            values = list(_nested_values(data, depth + 1))
            names = (name.decode("utf-8", "replace") if isinstance(name, bytes) else name for name in values[::2])
            return {name: value for name, value in zip(names, values[1::2], strict=False) if isinstance(name, str)}
    raise ValueError("it has an unknown type")


def _nested_values(data: bytes, depth: int) -> Iterator[Any]:
    """Yield the values nested in a list or an object."""
    at = 0
    while at < len(data):
        colon = data.find(b":", at, at + _DIGITS + 1)
        if colon < 0:
            raise ValueError("a part of it has no length")
        stop = colon + 1 + _number(data[at:colon])
        if stop >= len(data):
            raise ValueError("a part of it is too long")
        yield _value(data[colon + 1 : stop], data[stop], depth)
        at = stop + 1
