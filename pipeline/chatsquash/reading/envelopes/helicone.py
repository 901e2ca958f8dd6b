"""Exports and webhooks of Helicone: the provider's bodies with the gateway's metadata."""

from __future__ import annotations

from chatsquash.reading.members import Members, first_present, object_members, present, unquoted

NAME = "Helicone"
WHAT = "`{request_body, response_body, request_created_at, request_properties}`"
NEEDS = (
    frozenset(("request_body", "response_body")),
    frozenset(("request_body", "response_status")),
    frozenset(("request_created_at", "response_id")),
)
SESSION = ("session_id",)
MIXES = True

_SESSION = "Helicone-Session-Id"
_TIMES = ("request_created_at", "created_at", "timestamp")


def fits(line: Members) -> bool:
    """Return whether a line with these members is not in the standard envelope."""
    return "request" not in line


def session(line: Members) -> bytes | None:
    """Return the session id that the client sent as a property."""
    for name in ("request_properties", "properties"):
        properties = object_members(unquoted(line.get(name)))
        if session_id := properties.get(_SESSION) or properties.get(_SESSION.lower()):
            return session_id
    return None


def unwrap(line: Members) -> Members:
    """Return the bodies, if they were exported."""
    # Helicone exports bodies only on request.
    request_body = unquoted(line.get("request_body"))
    is_elsewhere = request_body is None or request_body in (b'""', b"{}")
    return present(
        request=None if is_elsewhere else request_body,
        response=unquoted(line.get("response_body")),
        status=line.get("response_status"),
        timestamp=first_present(line, _TIMES),
        session_id=session(line),
        problem=b'"its body was not exported: export with --include-body"' if is_elsewhere else None,
    )
