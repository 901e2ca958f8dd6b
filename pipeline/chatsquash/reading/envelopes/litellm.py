"""LiteLLM's payloads of logging callbacks, and rows of its spend logs."""

from __future__ import annotations

from chatsquash.reading.envelopes.plain import SESSION
from chatsquash.reading.members import Members, first_present, join_members, present, unquoted, within

NAME = "LiteLLM"
WHAT = "`{call_type, messages, response, startTime, ...}`"
NEEDS = frozenset(("call_type", "messages")), frozenset(("call_type", "proxy_server_request"))
MIXES = True

TIMES = ("timestamp", "startTime", "logged_at", "start_time")
_MARK = b"(litellm_truncated "
_TRACES = ("trace_id", "litellm_trace_id")
_BESIDE = ("tools", "functions", "system", "instructions", "max_tokens")
"""What a request has in addition to its turns."""


def fits(line: Members) -> bool:
    """All that have the members."""
    return "call_type" in line


def unwrap(line: Members) -> Members:
    """The turns, from the proxied request where the logger left them out, and the parameters beside them."""
    asked, given = within(unquoted(line.get("proxy_server_request"))), within(unquoted(line.get("model_parameters")))
    asked = {**asked, **within(unquoted(asked.get("body")))}
    logged = unquoted(line.get("messages"))
    has_turns = logged and logged[:1] == b"[" and logged.translate(None, b" \t\r\n") != b"[]"
    turns = logged if has_turns else asked.get("messages", logged)
    request = {"input" if b"responses" in line["call_type"] else "messages": turns} if turns else {}
    request |= {name: raw for name in _BESIDE if (raw := given.get(name) or asked.get(name))}
    return present(
        request=join_members(request),
        response=unquoted(line.get("response")),
        status=line.get("status"),
        timestamp=first_present(line, TIMES),
        session_id=first_present(line, SESSION),
        cut=_cut(line),
    )


def trace(line: Members) -> bytes | None:
    """Return the trace id of a row that names no session; a session id that repeats the trace id names none."""
    traced = first_present(line, _TRACES) if fits(line) else None
    return traced if traced and first_present(line, SESSION) == traced else None


def _cut(line: Members) -> bytes | None:
    """What spend logs cut of long texts, in the middle, as a mark says."""
    named = [name for name in ("messages", "response", "proxy_server_request") if _MARK in line.get(name, b"")]
    return b'"a text in %b"' % named[0].encode() if named else None
