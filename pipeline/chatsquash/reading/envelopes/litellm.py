"""LiteLLM's payloads of logging callbacks, and rows of its spend logs."""

from __future__ import annotations

import base64
import re

from chatsquash.reading.envelopes.plain import SESSION
from chatsquash.reading.members import Members, first_present, join_members, present, unquoted, within

NAME = "LiteLLM"
WHAT = "`{call_type, messages, response, startTime, ...}`"
NEEDS = frozenset(("call_type", "messages")), frozenset(("call_type", "proxy_server_request"))
MIXES = True

TIMES = ("timestamp", "startTime", "logged_at", "start_time")
_MARK = b"(litellm_truncated "
_TRACES = ("trace_id", "litellm_trace_id")
_BESIDE = (
    *("tools", "functions", "system", "instructions", "previous_response_id", "conversation"),
    *("max_tokens", "max_completion_tokens", "max_output_tokens"),
)
"""What a request has in addition to its turns."""
_TURNS, _VALUES = ("messages", "input", "contents"), (b"[", b'"', b"{")
_REFERS, _ENCODED, _ID = "previous_response_id", b"resp_bGl0ZWxsbT", re.compile(rb"[\w.:-]+")
"""What a request refers to an earlier response by, how LiteLLM's ids of responses begin, and what ids consist of."""
_ROW = "request_id"
"""A member of rows of the spend logs, whose session id is a new one for each call if the client sends none."""


def fits(line: Members) -> bool:
    """All that have the members."""
    return "call_type" in line


def unwrap(line: Members) -> Members:
    """The turns, from the proxied request if the logger did not log them, and the parameters of the request."""
    return present(
        request=join_members(_with_plain_ids(_request(line), _REFERS)),
        response=_response(line),
        status=line.get("status"),
        timestamp=first_present(line, TIMES),
        session_id=first_present(line, SESSION),
        cut=_cut(line),
    )


def _request(line: Members) -> Members:
    body, given = _body(line), within(unquoted(line.get("model_parameters")))
    logged = unquoted(line.get("messages"))
    is_listed = logged is not None and logged[:1] == b"[" and logged.translate(None, b" \t\r\n") != b"[]"
    if not is_listed and any(body.get(name, b"")[:1] in _VALUES for name in _TURNS):
        return {**{name: raw for name in _BESIDE if (raw := given.get(name))}, **body}
    turns = {"input" if b"responses" in line["call_type"] else "messages": logged} if logged else {}
    return turns | {name: raw for name in _BESIDE if (raw := given.get(name) or body.get(name))}


def _response(line: Members) -> bytes | None:
    raw = unquoted(line.get("response"))
    if raw is None or _ENCODED not in raw:
        return raw
    return join_members(_with_plain_ids(within(raw), "id")) or raw


def _with_plain_ids(body: Members, name: str) -> Members:
    """A body with the provider's id of a response instead of LiteLLM's, which has that in base64.

    Clients send LiteLLM's id, and the parameters that it logs have the provider's.
    """
    raw = body.get(name, b"")
    if not raw.startswith(b'"' + _ENCODED):
        return body
    try:
        decoded = base64.b64decode(raw[1:-1].removeprefix(b"resp_"))
    except ValueError:
        return body
    _, _, known = decoded.partition(b";response_id:")
    return {**body, name: b'"%b"' % known} if known and _ID.fullmatch(known) else body


def _body(line: Members) -> Members:
    """The body of the proxied request, which may be logged alone or with its address and headers."""
    asked = within(unquoted(line.get("proxy_server_request")))
    return within(unquoted(asked["body"])) if "body" in asked else asked


def trace(line: Members) -> bytes | None:
    """Return the trace id of a row that names no session; a session id that repeats the trace id names none.

    Rows of the spend logs have the trace id as the session id, and no other.
    """
    if not fits(line):
        return None
    traced, named = first_present(line, _TRACES), first_present(line, SESSION)
    return named if named == traced or (traced is None and _ROW in line) else None


def _cut(line: Members) -> bytes | None:
    """What spend logs cut of long texts, in the middle, as a mark says."""
    named = [name for name in ("messages", "response", "proxy_server_request") if _MARK in line.get(name, b"")]
    return b'"a text in %b"' % named[0].encode() if named else None
