"""Whether a message in a request is a logged reply whose calls a proxy or a client translated.

Gateways convert responses to another format, parse arguments and write them again with other types, and fill in
defaults. The ids of the calls remain. A message of equal words with the same calls by their ids is that reply, as far
as its arguments are the logged ones. If a gateway logs the response in another format than the request, the request has
what the client received, and only arguments that were emptied differ too much.
"""

from __future__ import annotations

from typing import Any

from chatsquash.core import chat, jsonio
from chatsquash.core.model import Json, Message
from chatsquash.core.reasoning import without_block
from chatsquash.trees.emptied import is_removed

_DEPTH = 32
"""Levels of nested values that are compared."""
_EXACT = 1 << 53
"""The integers below have a double of their own."""


def is_translated(reply: Message, message: Message, *, freely: bool) -> bool:
    """Whether a message is a reply with translated calls; ``freely``: its gateway logged it in another format."""
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
    """The arguments of a call as a value, also if they are a JSON text in a JSON text."""
    function = call.get("function")
    value = function.get("arguments") if isinstance(function, dict) else None
    for _ in range(2):
        value = jsonio.value(value) if isinstance(value, str) else value
    return value


def _has_all(logged: Json, sent: Json) -> bool:
    """Whether the arguments that were sent have all logged ones, none of them emptied."""
    if not isinstance(logged, dict) or not isinstance(sent, dict):
        return False
    return all(
        name in sent and not (isinstance(value, str) and _is_emptied(value, sent[name]))
        for name, value in logged.items()
        if not _is_default(value)
    )


def _is_emptied(logged: str, sent: Json) -> bool:
    if not logged.strip():
        return False
    return sent in (None, "", [], {}) or (isinstance(sent, str) and is_removed(sent, logged))


def _is_default(value: Json) -> bool:
    return value is False or value in (None, "", [], {})


def _are_alike(logged: Json, sent: Json, depth: int = _DEPTH) -> bool:
    """Whether two values are one value in other types, such as ``"5"`` and ``5``, perhaps with defaults added."""
    if logged == sent or depth == 0:
        return bool(logged == sent)
    if isinstance(logged, dict) and isinstance(sent, dict):
        shared = [name for name in logged if name in sent]
        is_complete = all(_is_default(value) for name, value in logged.items() if name not in sent)
        return is_complete and all(_are_alike(logged[name], sent[name], depth - 1) for name in shared)
    if isinstance(logged, list) and isinstance(sent, list):
        return len(logged) == len(sent) and all(_are_alike(*pair, depth - 1) for pair in zip(logged, sent, strict=True))
    one, other = _untyped(logged), _untyped(sent)
    return type(one) is type(other) and (one, other) != (logged, sent) and _are_alike(one, other, depth - 1)


def _untyped(value: Json) -> Json:
    """What a text spells, if it spells a number, a truth value, a list or an object; other texts without margins."""
    if not isinstance(value, str):
        return float(value) if isinstance(value, int) and not isinstance(value, bool) and abs(value) < _EXACT else value
    text = value.strip()
    spelled = jsonio.value(text.lower() if text in ("True", "False", "None") else text, text)
    return text if isinstance(spelled, str) else _untyped(spelled)
