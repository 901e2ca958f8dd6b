"""Read records in any preset back as conversations, and list the texts of their messages."""

from __future__ import annotations

from codecs import BOM_UTF8
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from operator import itemgetter
from typing import Any, Literal

import msgspec
from msgspec import Struct
from xxhash import xxh3_128_digest

from chatsquash.core import chat, footprint, jsonio, reasoning
from chatsquash.core.model import Json, Message
from chatsquash.core.text import json_type
from chatsquash.records import IDS_MEMBER, NotARecordError, StoredRecord, presets


def parse(data: bytes) -> Json:
    """Parse a line; raise ``NotARecordError``, or ``MemoryError`` if it would exceed the memory limit."""
    footprint.require_memory(data)
    try:
        return jsonio.loads(data.removeprefix(BOM_UTF8))
    except (ValueError, RecursionError) as problem:
        raise NotARecordError(f"the line is not valid JSON ({type(problem).__name__})") from None


class _PlainRow(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """A row with only the members of the default preset."""

    messages: Any
    tools: msgspec.Raw


class RowParser:
    """Parses the rows of a dataset; equal definitions of several rows are parsed once and stay the same object.

    Neither rows nor definitions may be changed.
    """

    def __init__(self) -> None:
        self._tools: dict[bytes, Any] = {}

    def parse(self, data: bytes) -> Json:
        """Parse a row; raise like ``parse``."""
        if data.startswith(_BEGINNING):
            footprint.require_memory(data)
            with suppress(msgspec.MsgspecError, ValueError, RecursionError):  # other rows are parsed as a whole
                row = _decode_plain(data)
                return {"messages": row.messages, "tools": self._definitions(row.tools)}
        return parse(data)

    def _definitions(self, raw: msgspec.Raw) -> Json:
        digest = xxh3_128_digest(raw)
        known = self._tools.get(digest, _NEW)
        if known is not _NEW and known is not _SEEN:
            return known
        tools = jsonio.loads(bytes(raw))
        if len(self._tools) == _MOST_TOOLS:
            self._tools.clear()
        # Keeping definitions that never come again would only cost memory.
        self._tools[digest] = _SEEN if known is _NEW or len(raw) > _LONGEST_TOOLS else tools
        return tools


_NEW, _SEEN = object(), object()
_BEGINNING = b'{"messages":'
_MOST_TOOLS, _LONGEST_TOOLS = 64, 1 << 17
"""The maximum number of lists of definitions to remember, and the size of each in bytes."""
_decode_plain = jsonio.decoder(_PlainRow).decode


def record(value: Json) -> StoredRecord:
    """Return the record in the value of a line; raise ``NotARecordError`` for any other value."""
    if not isinstance(value, dict):
        raise NotARecordError(f"the line is {json_type(value)}")
    if "messages" not in value:
        readers = (preset.read for preset in _presets() if preset.read)
        if stored_record := next((stored_record for read in readers if (stored_record := read(value))), None):
            return stored_record
    messages: Json = _messages(value)
    if messages is None and IDS_MEMBER in value:
        raise NotARecordError("it has token ids instead of messages; use stats, check or verify")
    if not isinstance(messages, list):
        raise NotARecordError("messages is missing" if messages is None else f"messages is {json_type(messages)}")
    if not _have_roles(messages):
        at = next(at for at, message in enumerate(messages) if not _have_roles([message]))
        raise NotARecordError(f"messages[{at}] is not an object with a role")
    return StoredRecord(messages, value.get("tools"))


def _have_roles(messages: list[Json]) -> bool:
    """Return whether all messages are objects with a role."""
    try:
        return _TEXT.issuperset(map(type, map(_role, messages)))
    except (KeyError, TypeError, IndexError):  # only objects have members
        return False


_TEXT = frozenset((str,))
_role = itemgetter("role")


def is_prompt(value: dict[str, Any]) -> bool:
    """Return whether a record is a prompt without a completion, as for reinforcement learning."""
    is_alone = value.keys().isdisjoint(("messages", "completion", "chosen", "rejected"))
    return is_alone and isinstance(value.get("prompt"), list)


def _messages(value: dict[str, Any]) -> Json:
    """Return the messages of prompt and completion if both are lists, of a lone prompt, or the member ``messages``."""
    if "completion" in value:
        prompt, completion = value.get("prompt"), value["completion"]
        if isinstance(prompt, list) and isinstance(completion, list):
            return [*prompt, *completion]
    return value["prompt"] if "messages" not in value and is_prompt(value) else value.get("messages")


def native(stored_record: StoredRecord) -> StoredRecord:
    """Return a record with native calls and results, converted from text if its preset writes them as text."""
    for read in _native_readers():
        if record := read(stored_record.messages):
            return record
    return stored_record


@cache
def _presets() -> list[presets.Preset]:
    return list(presets.every().values())


@cache
def _native_readers() -> list[Callable[[list[Any]], StoredRecord | None]]:
    return [preset.native for preset in _presets() if preset.native]


Kind = Literal["reasoning", "text", "result", "call", "part"]


RESULTS = ("tool", "function")
"""The roles of messages with results."""


class MessagePart(Struct, frozen=True):
    """A part of a message and its kind."""

    kind: Kind
    text: str
    name: str = ""
    """The name of the called tool, or the type of a part other than text."""
    value: Json = None
    """The part itself, unless it is text."""


def message_parts(message: Message) -> Iterator[MessagePart]:
    """Yield the reasoning, text, other parts and calls of a message."""
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
    """Return the calls of a message, including a call in the legacy form."""
    return [*chat.calls(message), *legacy_calls(message)]


def legacy_calls(message: Message) -> list[dict[str, Any]]:
    """Return the call in the legacy form, if the message has one."""
    legacy = message.get("function_call")
    return [{"function": legacy}] if message["role"] == "assistant" and isinstance(legacy, dict) else []


def call_arguments(call: dict[str, Any]) -> str:
    """Return the arguments of a call, or the input of a custom tool, as text."""
    function = call.get("function")
    arguments = function.get("arguments") if isinstance(function, dict) else call.get("custom")
    return arguments if isinstance(arguments, str) else jsonio.dumps(arguments).decode()


def texts(record: StoredRecord) -> list[str]:
    """Return all texts in a record: content, reasoning and calls."""
    return [text for message in record.messages for text in message_texts(message)]


def message_texts(message: Message) -> list[str]:
    """Return the texts in a message: content, reasoning and calls."""
    return texts_of(message, reasoning.text(message), chat.calls(message))


def texts_of(message: Message, thought: str, calls: list[dict[str, Any]]) -> list[str]:
    """Return the texts in a message like ``message_texts``, given its reasoning and its calls."""
    text = chat.text(message)
    texts = [thought] if text is None else [text, thought]
    for call in calls:
        if name := chat.call_name(call):
            texts += name, call_arguments(call)
    return texts


def definitions(record: StoredRecord) -> str:
    """Return the definitions of a record as JSON, or an empty string if there are none."""
    return jsonio.dumps(record.tools).decode() if record.tools else ""
