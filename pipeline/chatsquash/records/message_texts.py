"""What a message says, in the order in which it is said: what is shown, searched, counted and copied of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from chatsquash.core import chat, jsonio, reasoning
from chatsquash.core.model import Json, Message

if TYPE_CHECKING:
    from chatsquash.records.reading import StoredRecord

Kind = Literal["reasoning", "text", "result", "call", "part"]


RESULTS = ("tool", "function")
"""The roles of messages that answer a call."""


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
        yield Part("result" if message["role"] in RESULTS else "text", said)
    for part in chat.other_parts(message):
        if not reasoning.is_part(part):
            yield Part("part", "", chat.medium(part) or "part", part)
    for call in made(message):
        yield Part("call", arguments(call), chat.call_name(call) or "?", call)


def made(message: Message) -> list[dict[str, Any]]:
    """The calls of a message, also one in the legacy form."""
    legacy = message.get("function_call")
    is_legacy = message["role"] == "assistant" and isinstance(legacy, dict)
    return [*chat.calls(message), *([{"function": legacy}] if is_legacy else [])]


def arguments(call: dict[str, Any]) -> str:
    """The arguments of a call, or what stands in their place, as a text."""
    function = call.get("function")
    given = function.get("arguments") if isinstance(function, dict) else call.get("custom")
    return given if isinstance(given, str) else jsonio.dumps(given).decode()


def texts(stored: StoredRecord) -> list[str]:
    """All texts of a record: what is said, thought and called."""
    return [text for message in stored.messages for text in said(message)]


def said(message: Message) -> list[str]:
    """The texts of a message."""
    candidates = [chat.text(message), reasoning.text(message)]
    for call in chat.calls(message):
        if name := chat.call_name(call):
            candidates += name, arguments(call)
    return [text for text in candidates if isinstance(text, str)]


def definitions(stored: StoredRecord) -> str:
    """The definitions of a record as JSON; empty if it has none."""
    return jsonio.dumps(stored.tools).decode() if stored.tools else ""
