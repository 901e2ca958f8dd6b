"""What a document's own words do not give back of a message, written beside them and put back when it is read.

A remainder is made by comparison, so it holds nothing that the document says itself; a value that was changed there
since is left as it stands there.
"""

from __future__ import annotations

from typing import Any

from chatsquash import jsonio
from chatsquash.chat import PRIVATE, Private
from chatsquash.formats.values import Object, at
from chatsquash.model import Json, Message

KEY = "chatsquash"
"""The member of a document's metadata that is ours."""
_DEPTH = 8
"""How deep values are compared member by member."""


def difference(told: Json, meant: Json, depth: int = _DEPTH) -> Object | None:
    """What makes of what a document tells what was meant; ``None`` where it is the same."""
    if told is meant or _same(told, meant):
        return None
    if depth and isinstance(told, dict) and isinstance(meant, dict):
        return _members(told, meant, depth) or None
    if depth and isinstance(told, list) and isinstance(meant, list) and len(told) == len(meant):
        pairs = enumerate(zip(told, meant, strict=True))
        inner = {str(place): found for place, (a, b) in pairs if (found := difference(a, b, depth - 1))}
        return {"in": inner} if inner else None
    return {"was": told, "is": meant}


def _members(told: Object, meant: Object, depth: int) -> Object:
    shared = {key: found for key in told if key in meant and (found := difference(told[key], meant[key], depth - 1))}
    added = {key: value for key, value in meant.items() if key not in told}
    dropped = [key for key in told if key not in meant]
    return {name: value for name, value in (("in", shared), ("add", added), ("drop", dropped)) if value}


def _same(told: Json, meant: Json) -> bool:
    return type(told) is type(meant) and jsonio.dumps(told) == jsonio.dumps(meant)


def restored(told: Message, remainder: Json) -> Message:
    """A message with its remainder; without it where the two make no message."""
    whole = _sealed(_restored(told, remainder)) if isinstance(remainder, dict) else told
    return whole if _is_sound(whole) else told


def _restored(told: Any, remainder: Any, depth: int = _DEPTH) -> Any:
    if depth < 0 or not isinstance(remainder, dict):
        return told
    if "is" in remainder:
        return remainder["is"] if _same(told, remainder.get("was")) else told
    if isinstance(told, list):
        inner = _object(remainder.get("in"))
        return [_restored(each, inner.get(str(place)), depth - 1) for place, each in enumerate(told)]
    return _completed(told, remainder, depth) if isinstance(told, dict) else told


def _completed(told: Object, remainder: Object, depth: int) -> Object:
    inner, dropped = _object(remainder.get("in")), remainder.get("drop")
    gone = dropped if isinstance(dropped, list) else []
    kept = {key: _restored(value, inner.get(key), depth - 1) for key, value in told.items() if key not in gone}
    return {**_object(remainder.get("add")), **kept}


def _object(value: Json) -> Object:
    return value if isinstance(value, dict) else {}


def _sealed(message: Any) -> Any:
    """A message whose private members, and those of its calls, are private again."""
    if not isinstance(message, dict):
        return message
    calls = message.get("tool_calls")
    sealed = {**message, "tool_calls": [_sealed(call) for call in calls]} if isinstance(calls, list) else {**message}
    held = sealed.pop(PRIVATE, None)
    return {**sealed, PRIVATE: Private(held)} if isinstance(held, dict) and held else sealed


def _is_sound(message: Any) -> bool:
    """Whether a message is one that formats load."""
    if not (isinstance(message, dict) and isinstance(message.get("role"), str) and message["role"]):
        return False
    calls = message.get("tool_calls", [])
    answers = message["role"] != "tool" or isinstance(message.get("tool_call_id"), str)
    return answers and isinstance(calls, list) and all(isinstance(at(call, "id"), str) for call in calls)
