"""Exports and webhooks of Helicone: the provider's bodies with the gateway's metadata."""

from __future__ import annotations

from chatsquash.core import jsonio
from chatsquash.core.model import Json
from chatsquash.core.scores import Score, read_scores
from chatsquash.formats.values import at
from chatsquash.formats.values import members as members_of
from chatsquash.reading.members import Members, first_present, object_members, present, unquoted, unquoted_value

NAME = "Helicone"
WHAT = "`{request_body, response_body, request_created_at, request_properties}`"
NEEDS = (
    frozenset(("request_body", "response_body")),
    frozenset(("request_body", "response_status")),
    frozenset(("request_created_at", "response_id")),
)
SESSION = ("session_id",)
MIXES = True
SCORES = b'"scores"', b'"feedback_rating"'

_SESSION = "Helicone-Session-Id"
_RATING = "helicone-score-feedback"
"""The name of the user's rating among the scores."""
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


def scores(line: Members) -> tuple[Score, ...]:
    """Return the user's rating and the scores of a request, which are integers, also for booleans."""
    values: list[tuple[str, Json]] = [("feedback_rating", jsonio.value(line.get("feedback_rating", b"null")))]
    for name, score in members_of(unquoted_value(line.get("scores"))).items():
        value = at(score, "value") if isinstance(score, dict) else score
        is_boolean = at(score, "valueType") == "boolean" or name == _RATING
        values.append((name, bool(value) if is_boolean and value in (0, 1) else value))
    return read_scores(values, NAME)


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
