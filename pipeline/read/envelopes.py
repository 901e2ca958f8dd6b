"""How a logger wraps request, response, time and session id: a line as raw slices of JSON, not yet parsed.

``msgspec`` skips over what nobody reads several times faster than any parser makes objects of it.  Where it refuses a
line (NaN and lone surrogates among other things), ``json``'s own scanner splits it the same way, so that a line is
JSON exactly when Python's ``json`` accepts it.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw, Struct

from pipeline import codec
from pipeline.model import Message, Reply, WrongType
from pipeline.read import scan
from pipeline.read.scan import members

NOTHING = b""
"""The raw slice of a member that is not there."""


class LineError(Exception):
    """A line that cannot be an entry: the code of the finding, and why."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


class Envelope(NamedTuple):
    """A line's members of interest, the large ones as raw JSON."""

    messages: bytes
    tools: bytes
    timestamp: bytes
    session_id: str | None
    reply: Reply


class _Request(Struct, gc=False):
    messages: Raw = Raw()
    tools: Raw = Raw()


class _WholeRequest(Struct, gc=False):
    messages: list[dict[str, Any]]
    tools: Raw = Raw()


class _Choice(Struct, gc=False):
    message: dict[str, Any] | None = None
    finish_reason: str | None = None


class _Response(Struct, gc=False):
    choices: list[_Choice] | None = None
    error: Raw = Raw()


class _Line(Struct, gc=False):
    """A line as nearly all are."""

    request: _Request
    timestamp: Raw = Raw()
    session_id: str | int | None = None
    response: _Response | None = None


class _WholeLine(Struct, gc=False):
    request: _WholeRequest
    timestamp: Raw = Raw()
    session_id: str | int | None = None
    response: _Response | None = None


class _OddLine(Struct, gc=False):
    """A line with something of another type around its request."""

    request: _Request
    timestamp: Raw = Raw()
    session_id: Raw = Raw()
    response: Raw = Raw()


_line = codec.decoder(_Line)
_odd_line = codec.decoder(_OddLine)
_whole_line = codec.decoder(_WholeLine)
_response = codec.decoder(_Response)
_array = msgspec.json.Decoder(list[Raw])

_BOM = b"\xef\xbb\xbf"
_ID_STARTS = tuple(bytes([digit]) for digit in b'"-0123456789')
_NO_ERROR = (NOTHING, b"null", b"false", b'""', b"{}", b"[]")
_ZERO = re.compile(rb"-?0(\.0*)?([eE][+-]?\d+)?")
_ERROR = "the response is an error body"
_REFUSED = (msgspec.MsgspecError, ValueError, RecursionError)


def split(line: bytes) -> Envelope:
    """The members of a line; raises ``LineError`` for what is no entry, and as ``codec.loads`` for a bad reply."""
    try:
        parsed = _line.decode(line)
    except _REFUSED:
        found = _split_odd(line)
    else:
        request = parsed.request
        found = Envelope(
            bytes(request.messages),
            bytes(request.tools),
            bytes(parsed.timestamp),
            _id(parsed.session_id),
            _answer(parsed.response),
        )
    if found.messages[:1] != b"[":
        what = "is missing" if found.messages == NOTHING else f"is {kind(found.messages)}, not a list"
        raise LineError("bad-entry", f"request.messages {what}")
    return found


def parse(line: bytes | bytearray) -> tuple[list[Message], Envelope] | None:
    """The messages of a line as objects, and its other members; ``None`` where ``split`` has to decide."""
    try:
        parsed = _whole_line.decode(line)
    except _REFUSED:
        return None
    tools, timestamp = bytes(parsed.request.tools), bytes(parsed.timestamp)
    envelope = Envelope(NOTHING, tools, timestamp, _id(parsed.session_id), _answer(parsed.response))
    return parsed.request.messages, envelope  # type: ignore[return-value]


def _split_odd(line: bytes) -> Envelope:
    try:
        parsed = _odd_line.decode(line)
    except _REFUSED:
        outer, inner = _split_slowly(line)
        raw = [
            *(inner.get(name, NOTHING) for name in ("messages", "tools")),
            *(outer.get(name, NOTHING) for name in ("timestamp", "session_id", "response")),
        ]
    else:
        request = parsed.request
        raw = list(map(bytes, (request.messages, request.tools, parsed.timestamp, parsed.session_id, parsed.response)))
    messages, tools, timestamp, session_id, response = raw
    value = codec.loads(session_id) if session_id[:1] in _ID_STARTS else None
    return Envelope(messages, tools, timestamp, _id(value), reply(response))


def is_blank(line: bytes | bytearray) -> bool:
    """Whether a line holds nothing but JSON's white space, behind a byte order mark or not."""
    return not line.removeprefix(_BOM).strip(b" \t\r\n")


def elements(raw: bytes) -> list[bytes]:
    """The raw elements of a JSON array."""
    try:
        return [bytes(element) for element in _array.decode(raw)]
    except _REFUSED:
        return scan.elements(raw)


def reply(raw: bytes) -> Reply:
    """What a response answers, or why it answers nothing; raises as ``codec.loads`` for what is no JSON after all."""
    if raw in (NOTHING, b"null"):
        return _answer(None)
    try:
        return _answer(_response.decode(raw))
    except _REFUSED:
        return _odd_reply(raw)


def kind(raw: bytes) -> str:
    """The JSON type of a raw value, in words."""
    first = raw[:1]
    names = {b"{": "an object", b"[": "a list", b'"': "a string", b"t": "a boolean", b"f": "a boolean", b"n": "null"}
    return names.get(first, "a number")


def _id(value: Any) -> str | None:
    """A session id: a string that is not empty, or the digits of an integer."""
    return str(value) if isinstance(value, (str, int)) and value != "" else None


def _answer(response: _Response | None) -> Reply:
    if response is None:
        return Reply(problem="there is no response")
    if _is_error(bytes(response.error)):
        return Reply(problem=_ERROR)
    if not response.choices:
        return Reply(problem="the response has no choices")
    first, count = response.choices[0], len(response.choices)
    if first.message is None:
        return Reply(None, count, first.finish_reason, "the first choice has no message")
    return _said(first.message, count, first.finish_reason)


def _is_error(raw: bytes) -> bool:
    """Whether the ``error`` of a response says that there was one."""
    compact = raw.translate(None, b" \t\r\n") if raw[:1] in b"{[" else raw
    return compact not in _NO_ERROR and not _ZERO.fullmatch(raw)


def _wrong(what: str, seen: str, count: int = 0) -> Reply:
    return Reply(None, count, None, f"{what} is {seen}", WrongType(what, seen))


def _said(message: dict[str, Any], count: int, stopped: str | None) -> Reply:
    """A reply without a role is the assistant's."""
    role = message.get("role")
    if not isinstance(role, str):
        message = {"role": "assistant", **{key: value for key, value in message.items() if key != "role"}}
    seen = None if role is None or isinstance(role, str) else kind(codec.dumps(role))
    wrong = WrongType("response.choices[0].message.role", seen) if seen else None
    return Reply(message, count, stopped, wrong=wrong)  # type: ignore[arg-type]


def _odd_reply(raw: bytes) -> Reply:
    """A response that is not of the expected shape, or holds what ``msgspec`` refuses."""
    if raw[:1] != b"{":
        return _wrong("response", kind(raw))
    response = members(raw)
    if _is_error(response.get("error", NOTHING)):
        return Reply(problem=_ERROR)
    choices = response.get("choices", b"null")
    if choices[:1] not in (b"[", b"n"):
        return _wrong("response.choices", kind(choices))
    return _odd_choices(elements(choices) if choices != b"null" else [])


def _odd_choices(found: list[bytes]) -> Reply:
    if not found:
        return _answer(_Response())
    if found[0][:1] != b"{":
        return _wrong("response.choices[0]", kind(found[0]), len(found))
    first = members(found[0])
    message, reason = first.get("message", b"null"), first.get("finish_reason", NOTHING)
    if message[:1] not in b"{n":
        return _wrong("response.choices[0].message", kind(message), len(found))
    try:
        choice = _Choice(codec.loads(message), codec.loads(reason) if reason[:1] == b'"' else None)
    except codec.NotFiniteError as problem:
        return _wrong("response.choices[0].message", f"an object with the number {problem}", len(found))
    return _answer(_Response([choice, *[_Choice()] * (len(found) - 1)]))


def _split_slowly(line: bytes) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """The raw members of a line and of its request."""
    try:
        outer = members(line.removeprefix(_BOM))
        request = outer.get("request", NOTHING)
        inner = members(request) if request[:1] == b"{" else {}
    except RecursionError:
        raise LineError("bad-line", "nested too deeply") from None
    except json.JSONDecodeError as problem:
        raise LineError(
            "bad-line", f"no JSON object: {problem.msg.removesuffix(' at')} at byte {problem.pos + 1}"
        ) from None
    except ValueError as problem:
        raise LineError("bad-line", f"no JSON object: {type(problem).__name__}") from None
    if request[:1] != b"{":
        what = "is missing" if request == NOTHING else f"is {kind(request)}, not an object"
        raise LineError("bad-entry", f"request {what}")
    return outer, inner
