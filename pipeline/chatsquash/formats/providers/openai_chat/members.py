"""The members of responses and logged messages, and how messages differ from those that OpenAI writes today."""

from __future__ import annotations

from collections.abc import Callable

from chatsquash.core import reasoning
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


def variants(message: Json) -> list[str]:
    """Describe how a logged message differs from messages that OpenAI writes today."""
    if not isinstance(message, dict) or _is_ordinary(message):
        return []
    return [words for words, test in _VARIANTS if test(message)]


def _is_ordinary(message: Object) -> bool:
    """Return whether a few quick checks show that a message has no variants."""
    # Nearly all messages are ordinary, so this saves the other checks.
    if type(message.get("content")) not in _TEXT or not UNUSUAL_MEMBERS.isdisjoint(message):
        return False
    role, calls = message.get("role"), message.get("tool_calls")
    if role in ("tool", "function"):
        call_id = message.get("tool_call_id")
        return role == "tool" and calls is None and type(call_id) is str and call_id != ""
    return calls is None or (type(calls) is list and all(map(_is_ordinary_call, calls)))


def _is_ordinary_call(call: Json) -> bool:
    function = call.get("function") if type(call) is dict else None
    if type(function) is not dict or type(function.get("arguments")) is not str or call.get("type") != "function":
        return False
    call_id = call.get("id")
    return type(call_id) is str and call_id != ""


def _has(name: str) -> Callable[[Object], bool]:
    return lambda message: not is_empty(message.get(name))


def _is_void(name: str) -> Callable[[Object], bool]:
    return lambda message: message.get(name) is not None and is_empty(message[name])


def _among(find: Callable[[Object], list[Object]], test: Callable[[Object], bool]) -> Callable[[Object], bool]:
    return lambda message: any(map(test, find(message)))


def _results(message: Object) -> list[Object]:
    return [message] if message.get("role") == "tool" else []


_TEXT = (str, type(None))
UNUSUAL_MEMBERS = frozenset({"function_call", "audio", *reasoning.MEMBERS[1:]})
"""The members of messages that OpenAI does not write, or no longer writes."""
_VARIANTS: tuple[tuple[str, Callable[[Object], bool]], ...] = (
    ("legacy function_call", _has("function_call")),
    ("legacy function role", lambda message: message.get("role") == "function"),
    ("empty function_call", _is_void("function_call")),
    ("empty audio", _is_void("audio")),
    ("custom tool calls", _among(logged_calls, lambda call: call.get("type") == "custom")),
    ("tool calls without type", _among(logged_calls, lambda call: not call.get("type"))),
    ("tool calls without id", _among(logged_calls, lambda call: identifier(call.get("id")) is None)),
    ("object arguments", _among(functions, lambda function: not isinstance(function.get("arguments", ""), _TEXT))),
    ("missing arguments", _among(functions, lambda function: function.get("arguments") is None)),
    (
        "tool results without tool_call_id",
        _among(_results, lambda result: identifier(result.get("tool_call_id")) is None),
    ),
    ("tool results as JSON", _among(_results, lambda result: not isinstance(result.get("content"), str | list | None))),
    *((key, _has(key)) for key in reasoning.MEMBERS[1:]),
    ("thinking parts", has_part(*reasoning.PARTS)),
    ("document_url parts", has_part("document_url")),
    ("video_url parts", has_part("video_url")),
)
