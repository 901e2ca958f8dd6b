"""HTTP pairs logged by proxies: the bodies of a request and its response, as objects or strings."""

from __future__ import annotations

from chatsquash.reading.envelopes.plain import SESSION
from chatsquash.reading.members import Members, first_present, object_members, present, unquoted

NAME = "HTTP pairs"
WHAT = "`{request: {headers, body}, response: {status, body}, logged_at}`"
NEEDS = (frozenset(("request",)),)
MIXES = False

_STATUS = ("status", "status_code", "statusCode")
_TURNS = {"messages", "contents", "input"}


def fits(line: Members) -> bool:
    """Return whether the request of a line has a body, and no turns next to it."""
    raw = line.get("request", b"")
    if b'"body"' not in raw and b"\\u" not in raw:  # most requests, which then need no parsing
        return False
    request = object_members(raw)
    return "body" in request and not request.keys() & _TURNS


def unwrap(line: Members) -> Members:
    """Return the bodies with their status and time."""
    request, response = object_members(line.get("request")), object_members(line.get("response"))
    return present(
        request=unquoted(request.get("body")),
        response=first_present(response, ("body_raw", "body")) or line.get("response"),
        status=first_present(response, _STATUS) or line.get("status"),
        timestamp=line.get("timestamp") or request.get("timestamp") or line.get("logged_at"),
        session_id=first_present(line, SESSION) or request.get("session_id"),
    )
