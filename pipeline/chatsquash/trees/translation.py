"""Detect messages in requests that are logged replies with calls translated by a proxy or a client.

Gateways convert responses to other formats, serialize arguments again with other types, and add defaults; call ids
stay the same. A message with the same text and the same calls by id is therefore the logged reply if its arguments are
equal as values. If a gateway logs responses in a different format from requests, the request contains the version that
the client received, and only emptied arguments count as different.
"""

from __future__ import annotations

from typing import Any

from chatsquash.core import chat, jsonio
from chatsquash.core.model import Json, Message
from chatsquash.core.reasoning import without_block
from chatsquash.trees.emptied import is_removed

_DEPTH = 32
"""The maximum nesting depth at which values are compared."""
_EXACT = 1 << 53
"""All integers below this are exact as doubles."""


def is_translated(reply: Message, message: Message, *, freely: bool) -> bool:
    """Return whether a message is a reply with translated calls; ``freely``: the gateway logged another format."""
    calls, others = chat.calls(reply), chat.calls(message)
    ids = [call.get("id") for call in calls]
    if not ids or not all(ids) or ids != [call.get("id") for call in others]:
        return False
    if _text(reply) != _text(message) or [*map(chat.call_name, calls)] != [*map(chat.call_name, others)]:
        return False
    agree = _has_all if freely else _are_alike
    return all(agree(_arguments(one), _arguments(other)) for one, other in zip(calls, others, strict=True))


def _text(message: Message) -> str:
    return without_block((chat.text(message) or "").strip()).strip()


def _arguments(call: dict[str, Any]) -> Json:
    """Return the arguments of a call as a value, even if they are JSON within a JSON string."""
    function = call.get("function")
    value = function.get("arguments") if isinstance(function, dict) else None
    for _ in range(2):
        value = jsonio.value(value) if isinstance(value, str) else value
    return value


def _has_all(logged_value: Json, sent_value: Json) -> bool:
    """Return whether the sent arguments include all logged ones and none of these is emptied."""
    if not isinstance(logged_value, dict) or not isinstance(sent_value, dict):
        return False
    return all(
        name in sent_value and not (isinstance(value, str) and _is_emptied(value, sent_value[name]))
        for name, value in logged_value.items()
        if not _is_default(value)
    )


def _is_emptied(logged_value: str, sent_value: Json) -> bool:
    if not logged_value.strip():
        return False
    return sent_value in (None, "", [], {}) or (isinstance(sent_value, str) and is_removed(sent_value, logged_value))


def _is_default(value: Json) -> bool:
    return value is False or value in (None, "", [], {})


def _are_alike(logged_value: Json, sent_value: Json, depth: int = _DEPTH) -> bool:
    """Return whether two values are equal, apart from types such as ``"5"`` and ``5`` and from added defaults."""
    if logged_value == sent_value or depth == 0:
        return bool(logged_value == sent_value)
    if isinstance(logged_value, dict) and isinstance(sent_value, dict):
        common = [name for name in logged_value if name in sent_value]
        is_complete = all(_is_default(value) for name, value in logged_value.items() if name not in sent_value)
        return is_complete and all(_are_alike(logged_value[name], sent_value[name], depth - 1) for name in common)
    if isinstance(logged_value, list) and isinstance(sent_value, list):
        return len(logged_value) == len(sent_value) and all(
            _are_alike(*pair, depth - 1) for pair in zip(logged_value, sent_value, strict=True)
        )
    one, other = _untyped(logged_value), _untyped(sent_value)
    return type(one) is type(other) and (one, other) != (logged_value, sent_value) and _are_alike(one, other, depth - 1)


def _untyped(value: Json) -> Json:
    """Return the number, boolean, list or object that a string spells; other strings without surrounding space."""
    if not isinstance(value, str):
        return float(value) if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _EXACT else value
    text = value.strip()
    spelled = jsonio.value(text.lower() if text in ("True", "False", "None") else text, text)
    return text if isinstance(spelled, str) else _untyped(spelled)
