"""LangChain messages in traces: with LangChain's role names, possibly as constructor arguments."""

from __future__ import annotations

from chatsquash.core.model import Json
from chatsquash.formats.values import Object, at, members, string

_ROLES = {
    "human": "user",
    "user": "user",
    "ai": "assistant",
    "assistant": "assistant",
    "system": "system",
    "developer": "developer",
    "tool": "tool",
    "function": "tool",
}
"""Roles by message type; the name of a message's class also starts with its type."""
_READ = ("content", "tool_calls", "invalid_tool_calls", "additional_kwargs", "tool_call_id", "name")
_REASONS = {"tool_call": "tool_calls", "max_output_tokens": "length", "MAX_TOKENS": "length", "STOP": "stop"}


def message(value: Json) -> Json:
    """Return a message with its OpenAI chat role; its content and calls are not converted.

    Values that are not LangChain messages are returned unchanged.
    """
    if not isinstance(value, dict) or "role" in value:
        return value
    inner = kwargs(value)
    message_type = string(inner, "type") or string(value, "type")
    role = _ROLES.get(message_type.removesuffix("MessageChunk").lower()) or _role_of_class(value.get("id"))
    role = string(inner, "role") or role
    if not role or "content" not in inner:
        return value
    converted: Object = {"role": role, **{name: inner[name] for name in _READ if inner.get(name) not in (None, [], {})}}
    converted.setdefault("content", inner.get("content"))
    return {**converted, "is_error": True} if role == "tool" and inner.get("status") == "error" else converted


def kwargs(value: Object) -> Object:
    """Return the members of a message, which may be nested in ``kwargs`` or ``data``."""
    return next((value[name] for name in ("kwargs", "data") if isinstance(value.get(name), dict)), value)


def _role_of_class(names: Json) -> str | None:
    last = names[-1] if isinstance(names, list) and names and isinstance(names[-1], str) else ""
    return next((role for of, role in _ROLES.items() if last.lower().startswith(of)), None)


def messages(value: Json) -> list[Json] | None:
    """Return the messages in a list, which may be wrapped in another list, or ``None`` for anything else."""
    if isinstance(value, list) and len(value) == 1 and isinstance(value[0], list):
        value = value[0]
    return [message(each) for each in value] if isinstance(value, list) else None


def generation(outputs: Json) -> Object | None:
    """Return the first generation of a result, or ``None``."""
    value = at(outputs, "generations")
    while isinstance(value, list) and value:
        value = value[0]
    return value if isinstance(value, dict) else None


def finish_reason(generation: Object) -> str | None:
    """Return the finish reason of a generation in OpenAI chat's terms."""
    from chatsquash.formats.providers.anthropic.response import FINISHED  # imported late: plain chat does not need it

    metadata = members(kwargs(members(generation.get("message"))).get("response_metadata"))
    places = (members(generation.get("generation_info")), metadata)
    reasons = (place.get(name) for place in places for name in ("finish_reason", "stop_reason"))
    reason = next((each for each in reasons if isinstance(each, str) and each), None)
    return None if reason is None else FINISHED.get(reason) or _REASONS.get(reason, reason)


def usage(generation: Object) -> Object | None:
    """Return the token usage of a generation in OpenAI chat's form."""
    metadata = kwargs(members(generation.get("message"))).get("usage_metadata")
    if not isinstance(metadata, dict):
        return None
    return {"prompt_tokens": metadata.get("input_tokens"), "completion_tokens": metadata.get("output_tokens")}
