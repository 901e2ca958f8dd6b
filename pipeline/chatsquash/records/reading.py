"""Records of any preset, read back as conversations, and the texts of their messages in order."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any, Literal, NamedTuple

from chatsquash.core import chat, footprint, jsonio, reasoning
from chatsquash.core.model import Json, Message
from chatsquash.core.text import json_type
from chatsquash.records import presets
from chatsquash.records.line import NotARecordError, StoredRecord


def parse(data: bytes) -> Json:
    """The value of a line; raises ``NotARecordError``, and ``MemoryError`` where this process may not take enough."""
    footprint.require_memory(data)
    try:
        return jsonio.loads(data)
    except (ValueError, RecursionError) as problem:
        raise NotARecordError(f"the line is not valid JSON ({type(problem).__name__})") from None


def record(value: Json) -> StoredRecord:
    """The record that a line holds; raises ``NotARecordError``."""
    if not isinstance(value, dict):
        raise NotARecordError(f"the line is {json_type(value)}")
    if "messages" not in value:
        readers = (preset.read for preset in _presets() if preset.read)
        if found_record := next((found_record for read in readers if (found_record := read(value))), None):
            return found_record
    messages: Json = _join_completion(value) if "completion" in value else value.get("messages")
    if not isinstance(messages, list):
        raise NotARecordError("messages is missing" if messages is None else f"messages is {json_type(messages)}")
    for at, message in enumerate(messages):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            raise NotARecordError(f"messages[{at}] is not an object with a role")
    return StoredRecord(messages, value.get("tools"))


def _join_completion(value: dict[str, Any]) -> Json:
    """The messages of prompt and completion, where both are lists; else what stands as messages."""
    prompt, completion = value.get("prompt"), value["completion"]
    if isinstance(prompt, list) and isinstance(completion, list):
        return [*prompt, *completion]
    return value.get("messages")


def native(stored: StoredRecord) -> StoredRecord:
    """A record with its calls and results as messages have them, also where a preset writes them in texts."""
    readers = (preset.native for preset in _presets() if preset.native)
    return next((record for read in readers if (record := read(stored.messages))), stored)


@cache
def _presets() -> list[presets.Preset]:
    return list(presets.every().values())


Kind = Literal["reasoning", "text", "result", "call", "part"]


RESULTS = ("tool", "function")
"""The roles of messages that answer a call."""


class MessagePart(NamedTuple):
    """A text of a message and what it is."""

    kind: Kind
    text: str
    name: str = ""
    """That of a called tool, or the type of a part that is no text."""
    value: Json = None
    """The part itself, where it is no text."""


def message_parts(message: Message) -> Iterator[MessagePart]:
    """What a message says: reasoning, text, parts that are none, calls."""
    if thought := reasoning.text(message):
        yield MessagePart("reasoning", thought)
    if text := chat.joined_text(message):
        yield MessagePart("result" if message["role"] in RESULTS else "text", text)
    for part in chat.other_parts(message):
        if not reasoning.is_part(part):
            yield MessagePart("part", "", chat.media_type(part) or "part", part)
    for call in message_calls(message):
        yield MessagePart("call", call_arguments(call), chat.call_name(call) or "?", call)


def message_calls(message: Message) -> list[dict[str, Any]]:
    """The calls of a message, also one in the legacy form."""
    legacy = message.get("function_call")
    is_legacy = message["role"] == "assistant" and isinstance(legacy, dict)
    return [*chat.calls(message), *([{"function": legacy}] if is_legacy else [])]


def call_arguments(call: dict[str, Any]) -> str:
    """The arguments of a call, or what stands in their place, as a text."""
    function = call.get("function")
    arguments = function.get("arguments") if isinstance(function, dict) else call.get("custom")
    return arguments if isinstance(arguments, str) else jsonio.dumps(arguments).decode()


def texts(record: StoredRecord) -> list[str]:
    """All texts of a record: what is said, thought and called."""
    return [text for message in record.messages for text in said(message)]


def said(message: Message) -> list[str]:
    """The texts of a message."""
    candidates = [chat.text(message), reasoning.text(message)]
    for call in chat.calls(message):
        if name := chat.call_name(call):
            candidates += name, call_arguments(call)
    return [text for text in candidates if isinstance(text, str)]


def definitions(record: StoredRecord) -> str:
    """The definitions of a record as JSON; empty if it has none."""
    return jsonio.dumps(record.tools).decode() if record.tools else ""
