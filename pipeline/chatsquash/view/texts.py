"""The texts of a message, in the order in which pages show them: what is searched, found, counted and copied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, NamedTuple

from chatsquash import chat, jsonio, reasoning
from chatsquash.model import Json, Message

Kind = Literal["reasoning", "text", "result", "call", "part"]


class Part(NamedTuple):
    """A text of a message and what it is."""

    kind: Kind
    text: str
    name: str = ""
    """That of a called tool, or the type of a part that is no text."""
    value: Json = None
    """The part itself, where it is no text."""


def parts(message: Message) -> Iterator[Part]:
    """What a message says: reasoning, text, parts that are none, calls."""
    if thought := reasoning.text(message):
        yield Part("reasoning", thought)
    if said := chat.joined(message):
        yield Part("result" if message["role"] in ("tool", "function") else "text", said)
    for part in chat.other_parts(message):
        if not reasoning.is_part(part):
            yield Part("part", "", chat.medium(part) or "part", part)
    for call in [*chat.calls(message), *_legacy(message)]:
        yield Part("call", _arguments(call), chat.call_name(call) or "?", call)


def _legacy(message: Message) -> list[dict[str, Any]]:
    called = message.get("function_call")
    return [{"function": called}] if message["role"] == "assistant" and isinstance(called, dict) else []


def _arguments(call: dict[str, Any]) -> str:
    function = call.get("function")
    given = function.get("arguments") if isinstance(function, dict) else call.get("custom")
    return given if isinstance(given, str) else jsonio.dumps(given).decode()


def readable(text: str) -> str | None:
    """JSON on several lines; ``None`` for what is none, or nothing but a text or a number."""
    if not text.lstrip().startswith(("{", "[")) or len(text) > _READABLE:
        return None
    try:
        value = jsonio.loads(text.encode())
    except (ValueError, RecursionError):
        return None
    from chatsquash.text import shown

    return shown(value, indent=True).decode()


_READABLE = 1 << 20
"""Characters of JSON that are put on several lines."""
