"""How loggers wrap a request, its response, its time and its session: every wrap becomes the one that is read.

That is ``{"timestamp", "session_id", "request", "response"}``.  Lines of other wraps are put together anew from raw
slices, which costs one pass over their bytes and no parsing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import Raw, Struct

from chatsquash import jsonio
from chatsquash.read.scan import members

_REFUSED = (msgspec.MsgspecError, ValueError, RecursionError)
_STATUS = ("status", "status_code", "statusCode")
_IDS = ("session_id", "litellm_session_id", "trace_id", "litellm_trace_id")
_BESIDE = ("tools", "functions", "system", "instructions")
"""What a request has beside its turns."""
_TIMES = ("timestamp", "startTime", "logged_at", "start_time")

Members = dict[str, bytes]
"""The raw members of a line, those that are there and not null."""


class Envelope(Struct, frozen=True):
    """One way to wrap an exchange."""

    name: str
    what: str
    """What it looks like, in words."""
    fits: Callable[[Members], bool]
    unwrap: Callable[[Members], Members] | None
    """Gives ``request``, ``response``, ``status``, ``timestamp`` and ``session_id``; ``None``: they stand there."""
    mixes: bool = False
    """Whether loggers that wrap so are known to write several sessions into a file."""


class _Outer(Struct, gc=False):
    timestamp: Raw = Raw()
    session_id: Raw = Raw()
    request: Raw = Raw()
    response: Raw = Raw()
    status: Raw = Raw()
    messages: Raw = Raw()
    model_parameters: Raw = Raw()
    call_type: Raw = Raw()
    proxy_server_request: Raw = Raw()
    args: Raw = Raw()
    kwargs: Raw = Raw()
    fncall_messages: Raw = Raw()
    fncall_response: Raw = Raw()
    litellm_session_id: Raw = Raw()
    litellm_trace_id: Raw = Raw()
    trace_id: Raw = Raw()
    startTime: Raw = Raw()  # noqa: N815 - the log's name
    start_time: Raw = Raw()
    logged_at: Raw = Raw()


class _Inner(Struct, gc=False):
    """What a request or a response may be wrapped in once more."""

    body: Raw = Raw()
    body_raw: Raw = Raw()
    timestamp: Raw = Raw()
    status: Raw = Raw()
    status_code: Raw = Raw()
    statusCode: Raw = Raw()  # noqa: N815 - the log's name
    tools: Raw = Raw()
    functions: Raw = Raw()
    system: Raw = Raw()
    instructions: Raw = Raw()
    messages: Raw = Raw()
    contents: Raw = Raw()
    input: Raw = Raw()
    session_id: Raw = Raw()


_outer = jsonio.decoder(_Outer)
_inner = jsonio.decoder(_Inner)


def outer(line: bytes) -> Members | None:
    """The raw members of a line by which envelopes are told apart; ``None`` for what is no JSON object."""
    return _members(_outer, line, _Outer)


def _members(decoder: Any, raw: bytes, kind: type[Struct]) -> Members | None:
    try:
        parsed = decoder.decode(raw)
        found = {name: bytes(getattr(parsed, name)) for name in kind.__struct_fields__}
    except _REFUSED:
        try:
            found = members(raw.removeprefix(b"\xef\xbb\xbf"))
        except (ValueError, RecursionError):
            return None
    return {name: value for name, value in found.items() if value not in (b"", b"null")}


def _within(raw: bytes | None) -> Members:
    return (_members(_inner, raw, _Inner) or {}) if raw and raw[:1] == b"{" else {}


def _text(raw: bytes | None) -> bytes | None:
    """JSON that is logged as text, as JSON."""
    if raw is None or raw[:1] != b'"':
        return raw
    try:
        text = jsonio.loads(raw).encode("utf-8", "surrogatepass")
        jsonio.loads(text)
    except (ValueError, RecursionError):
        return raw
    return bytes(text)


def _picked(found: Members, names: tuple[str, ...]) -> bytes | None:
    return next((found[name] for name in names if name in found and found[name] not in (b'""', b"{}")), None)


def _made(request: Members, **beside: bytes | None) -> Members:
    body = b"{%b}" % b",".join(b'"%b":%b' % (name.encode(), raw) for name, raw in request.items())
    return {"request": body, **{name: raw for name, raw in beside.items() if raw is not None}}


def session_id(found: Members) -> str | None:
    """The session that a line names, wherever its envelope does; ``None`` if it names none."""
    raw = _picked(found, _IDS) or _within(found.get("request")).get("session_id") or b""
    if raw[:1] != b'"' and not raw.removeprefix(b"-").isdigit():
        return None
    try:
        return str(jsonio.loads(raw))
    except ValueError:  # which makes the line one that cannot be read
        return None


# The envelopes


def _is_http(line: Members) -> bool:
    request = _within(line.get("request"))
    return "body" in request and not request.keys() & {"messages", "contents", "input"}


def _http(line: Members) -> Members:
    request, response = _within(line.get("request")), _within(line.get("response"))
    body = _text(request.get("body"))
    found = {
        "request": body,
        "response": _picked(response, ("body_raw", "body")) or line.get("response"),
        "status": _picked(response, _STATUS) or line.get("status"),
        "timestamp": line.get("timestamp") or request.get("timestamp") or line.get("logged_at"),
        "session_id": _picked(line, _IDS) or request.get("session_id"),
    }
    return {name: raw for name, raw in found.items() if raw is not None}


def _is_litellm(line: Members) -> bool:
    return "call_type" in line and bool(line.keys() & {"messages", "proxy_server_request"})


def _litellm(line: Members) -> Members:
    asked, given = _within(_text(line.get("proxy_server_request"))), _within(_text(line.get("model_parameters")))
    asked = {**asked, **_within(_text(asked.get("body")))}
    logged = _text(line.get("messages"))
    has_turns = logged and logged[:1] == b"[" and logged.translate(None, b" \t\r\n") != b"[]"
    turns = logged if has_turns else asked.get("messages", logged)
    beside = {name: raw for name in _BESIDE if (raw := given.get(name) or asked.get(name))}
    name = b"input" if b"responses" in line["call_type"] else b"messages"
    return _made(
        {**({name.decode(): turns} if turns else {}), **beside},
        response=_text(line.get("response")),
        status=line.get("status"),
        timestamp=_picked(line, _TIMES),
        session_id=_picked(line, _IDS),
    )


def _is_openhands(line: Members) -> bool:
    return line.keys() >= {"messages", "response", "kwargs"} or line.keys() >= {"fncall_messages", "response"}


def _openhands(line: Members) -> Members:
    given = _within(line.get("kwargs"))
    turns = line.get("fncall_messages") or line["messages"]
    return _made(
        {"messages": turns, **({"tools": given["tools"]} if "tools" in given else {})},
        response=line.get("fncall_response") or line["response"],
        timestamp=_picked(line, _TIMES),
        session_id=_picked(line, _IDS),
    )


PLAIN = Envelope("request and response", "`{timestamp, session_id, request, response}`", lambda _: True, None)
ENVELOPES = (
    Envelope("HTTP pairs", "`{request: {headers, body}, response: {status, body}, logged_at}`", _is_http, _http),
    Envelope("LiteLLM", "`{call_type, messages, response, startTime, ...}`", _is_litellm, _litellm, mixes=True),
    Envelope("OpenHands completions", "`{messages, response, args, kwargs, timestamp}`", _is_openhands, _openhands),
    PLAIN,
)


def recognise(line: bytes) -> Envelope | None:
    """How a line is wrapped; ``None`` for what is no JSON object, or wraps nothing."""
    found = outer(line)
    if found is None or not found.keys() & {"request", "messages", "proxy_server_request", "fncall_messages"}:
        return None
    envelope = next(each for each in ENVELOPES if each.fits(found))
    return envelope if envelope is not PLAIN or "request" in found else None


def unwrap(line: bytes, envelope: Envelope) -> bytes:
    """The line in the envelope that is read; as it is where it is in that, or does not fit."""
    found = outer(line) if envelope.unwrap else None
    if found is None or envelope.unwrap is None or not envelope.fits(found):
        return line
    parts = envelope.unwrap(found)
    return b"{%b}" % b",".join(b'"%b":%b' % (name.encode(), raw) for name, raw in parts.items())
