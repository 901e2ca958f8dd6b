"""Payloads of LiteLLM's logging callbacks, and rows of its spend logs."""

from __future__ import annotations

import base64
import re

from chatsquash.reading.envelopes.plain import SESSION
from chatsquash.reading.members import Members, first_present, join_members, object_members, present, unquoted

NAME = "LiteLLM"
WHAT = "`{call_type, messages, response, startTime, ...}`"
NEEDS = frozenset(("call_type", "messages")), frozenset(("call_type", "proxy_server_request"))
MIXES = True

TIMES = ("timestamp", "startTime", "logged_at", "start_time")
_MARK = b"(litellm_truncated "
_TRACES = ("trace_id", "litellm_trace_id")
_PARAMETERS = (
    *("tools", "functions", "system", "instructions", "previous_response_id", "conversation"),
    *("max_tokens", "max_completion_tokens", "max_output_tokens"),
)
"""The members of a request apart from its turns."""
_NO_TURNS = re.compile(rb"\[[ \t\r\n]*\][ \t\r\n]*")
_TURNS, _VALUES = ("messages", "input", "contents"), (b"[", b'"', b"{")
_REFERS, _ENCODED, _ID = "previous_response_id", b"resp_bGl0ZWxsbT", re.compile(rb"[\w.:-]+")
"""The member that refers to an earlier response, the prefix of LiteLLM's response ids, and the syntax of ids."""
_ROW = "request_id"
"""A member of spend log rows. Their session id is new for each call unless the client sends one."""


def fits(line: Members) -> bool:
    """Return whether a line has the marker of this envelope."""
    return "call_type" in line


def unwrap(line: Members) -> Members:
    """Return the request with its parameters, from the proxied request if the logger omitted the turns."""
    return present(
        request=join_members(_with_plain_ids(_request(line), _REFERS)),
        response=_response(line),
        status=line.get("status"),
        timestamp=first_present(line, TIMES),
        session_id=first_present(line, SESSION),
        cut=_cut(line),
    )


def _request(line: Members) -> Members:
    body, parameters = _body(line), object_members(unquoted(line.get("model_parameters")))
    messages = unquoted(line.get("messages"))
    is_listed = messages is not None and messages[:1] == b"[" and not _NO_TURNS.fullmatch(messages)
    if not is_listed and any(body.get(name, b"")[:1] in _VALUES for name in _TURNS):
        return {**{name: raw for name in _PARAMETERS if (raw := parameters.get(name))}, **body}
    turns = {"input" if b"responses" in line["call_type"] else "messages": messages} if messages else {}
    return turns | {name: raw for name in _PARAMETERS if (raw := parameters.get(name) or body.get(name))}


def _response(line: Members) -> bytes | None:
    raw = unquoted(line.get("response"))
    if raw is None or _ENCODED not in raw:
        return raw
    return join_members(_with_plain_ids(object_members(raw), "id")) or raw


def _with_plain_ids(body: Members, name: str) -> Members:
    """Return a body with the provider's response id instead of LiteLLM's, which contains it in base64."""
    # Clients send LiteLLM's id, but the logged parameters contain the provider's.
    raw = body.get(name, b"")
    if not raw.startswith(b'"' + _ENCODED):
        return body
    try:
        decoded = base64.b64decode(raw[1:-1].removeprefix(b"resp_"))
    except ValueError:
        return body
    _, _, provider_id = decoded.partition(b";response_id:")
    return {**body, name: b'"%b"' % provider_id} if provider_id and _ID.fullmatch(provider_id) else body


def _body(line: Members) -> Members:
    """Return the body of the proxied request, which is logged by itself or with its address and headers."""
    proxied = object_members(unquoted(line.get("proxy_server_request")))
    return object_members(unquoted(proxied["body"])) if "body" in proxied else proxied


def trace(line: Members) -> bytes | None:
    """Return the trace id of a row that has no other session id."""
    if not fits(line):
        return None
    # A session id that repeats the trace id identifies a call, and spend log rows have no other trace id.
    trace_id, session_id = first_present(line, _TRACES), first_present(line, SESSION)
    return session_id if session_id == trace_id or (trace_id is None and _ROW in line) else None


def _cut(line: Members) -> bytes | None:
    """Describe a text that was truncated in the middle, according to the marker in spend logs."""
    members = [name for name in ("messages", "response", "proxy_server_request") if _MARK in line.get(name, b"")]
    return b'"a text in %b"' % members[0].encode() if members else None
