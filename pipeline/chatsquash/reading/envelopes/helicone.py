"""Helicone's exports and webhooks: the provider's bodies, beside what the gateway knows."""

from __future__ import annotations

from chatsquash.reading.members import Members, first_present, present, unquoted, within

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
    """All that have the members."""
    return "request" not in line


def session(line: Members) -> bytes | None:
    """The session that the client named in a property."""
    for name in ("request_properties", "properties"):
        given = within(unquoted(line.get(name)))
        if session_id := given.get(_SESSION) or given.get(_SESSION.lower()):
            return session_id
    return None


def unwrap(line: Members) -> Members:
    """The bodies, which are exported only where they are asked for."""
    asked = unquoted(line.get("request_body"))
    is_elsewhere = asked is None or asked in (b'""', b"{}")
    return present(
        request=None if is_elsewhere else asked,
        response=unquoted(line.get("response_body")),
        status=line.get("response_status"),
        timestamp=first_present(line, _TIMES),
        session_id=session(line),
        problem=b'"its body was not exported: export with --include-body"' if is_elsewhere else None,
    )
