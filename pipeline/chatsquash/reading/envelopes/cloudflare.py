"""Logpush data from Cloudflare's AI Gateway."""

from __future__ import annotations

from chatsquash.reading.envelopes.plain import SESSION_MEMBERS
from chatsquash.reading.members import Members, first_present, object_members, present, unquoted

NAME = "Cloudflare Logpush"
WHAT = "`{RequestBody, ResponseBody, Metadata, ...}`"
NEEDS = (frozenset(("RequestBody", "ResponseBody")),)
SESSION = ("session_id",)
MIXES = True

_ENCRYPTED = b'"its body is encrypted: decrypt the log with the key that you gave to Logpush"'
_TIMES = ("EdgeStartTimestamp", "CreatedAt", "created_at", "Timestamp", "Datetime")
_STATUS = ("StatusCode", "ResponseStatus", "Status")


def fits(line: Members) -> bool:
    """Return whether a line with these members is not in the standard envelope."""
    return "request" not in line


def session(line: Members) -> bytes | None:
    """Return the session id that the client sent in the metadata."""
    return first_present(object_members(unquoted(line.get("Metadata"))), SESSION_MEMBERS)


def unwrap(line: Members) -> Members:
    """Return the bodies, unless they are encrypted."""
    request_body, response_body = _plain(line.get("RequestBody")), _plain(line.get("ResponseBody"))
    return present(
        request=request_body,
        response=response_body,
        status=first_present(line, _STATUS),
        timestamp=first_present(line, _TIMES),
        session_id=session(line),
        problem=_ENCRYPTED if request_body is None else None,
    )


def _plain(body: bytes | None) -> bytes | None:
    """Return a body without its wrapper, or ``None`` if it is encrypted."""
    value = unquoted(body)
    inside = object_members(value)
    if "data" in inside and "iv" in inside:
        return unquoted(inside["data"]) if "key" not in inside else None
    return value
