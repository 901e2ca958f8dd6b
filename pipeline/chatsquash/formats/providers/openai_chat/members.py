"""The members of responses, and helpers for the members of logged messages."""

from __future__ import annotations

from collections.abc import Callable

from chatsquash.core.model import Json
from chatsquash.formats.values import Object, objects

RESPONSE = (
    *("id", "object", "created", "model", "choices", "usage", "system_fingerprint", "service_tier"),
    *("citations", "prompt_filter_results", "prompt_logprobs", "provider", "stats", "time_info", "timings", "x_groq"),
)
"""The members of a complete response from OpenAI, and from vendors whose responses have no other evidence."""


def is_empty(value: Json) -> bool:
    """Return whether a member has the same meaning as a missing member."""
    return not value or (isinstance(value, dict) and not any(value.values()))


def identifier(value: Json) -> str | None:
    """Return an id: a non-empty string, or the digits of an integer, or ``None`` for any other value."""
    if type(value) is str:  # nearly always
        return value or None
    return str(value) if isinstance(value, str | int) and not isinstance(value, bool) and value != "" else None


def logged_calls(message: Object) -> list[Object]:
    """Return the calls of a message that are objects."""
    return objects(message.get("tool_calls"))


def functions(message: Object) -> list[Object]:
    """Return the functions in the calls of a message."""
    return objects([call.get("function") for call in logged_calls(message)])


def has_part(*kinds: str) -> Callable[[Object], bool]:
    """Return a test of a message for parts of these types."""
    return lambda message: any(part.get("type") in kinds for part in objects(message.get("content")))
