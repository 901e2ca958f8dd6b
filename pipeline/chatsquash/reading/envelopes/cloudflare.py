"""Logpush of Cloudflare's AI Gateway."""

from __future__ import annotations

from chatsquash.reading.envelopes.plain import NAMED
from chatsquash.reading.members import Members, first_present, present, unquoted, within

NAME = "Cloudflare Logpush"
WHAT = "`{RequestBody, ResponseBody, Metadata, ...}`"
NEEDS = (frozenset(("RequestBody", "ResponseBody")),)
SESSION = ("session_id",)
MIXES = True

_ENCRYPTED = b'"its body is encrypted: decrypt the log with the key that you gave to Logpush"'
_TIMES = ("EdgeStartTimestamp", "CreatedAt", "created_at", "Timestamp", "Datetime")
_STATUS = ("StatusCode", "ResponseStatus", "Status")


def fits(line: Members) -> bool:
    """All that have the members."""
    return "request" not in line


def session(line: Members) -> bytes | None:
    """The session that the client named in the metadata."""
    return first_present(within(unquoted(line.get("Metadata"))), NAMED)


def unwrap(line: Members) -> Members:
    """The bodies; those that are encrypted cannot be read."""
    asked, answered = _plain(line.get("RequestBody")), _plain(line.get("ResponseBody"))
    return present(
        request=asked,
        response=answered,
        status=first_present(line, _STATUS),
        timestamp=first_present(line, _TIMES),
        session_id=session(line),
        problem=_ENCRYPTED if asked is None else None,
    )


def _plain(body: bytes | None) -> bytes | None:
    """A body that is not encrypted, without what is wrapped around it."""
    value = unquoted(body)
    inside = within(value)
    if "data" in inside and "iv" in inside:
        return unquoted(inside["data"]) if "key" not in inside else None
    return value
