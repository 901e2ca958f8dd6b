"""What tells that a reply of a gateway's log and one of an agent's file are the same: ids, else what it says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from xxhash import xxh3_64_intdigest

from chatsquash.core import chat, jsonio
from chatsquash.core.model import Message
from chatsquash.core.reasoning import is_part
from chatsquash.trees.canonical import spelled
from chatsquash.trees.texts import is_long

_LONG_ID = 16
"""Characters from which on an id of a call is one that no other session has."""


class Keys(NamedTuple):
    """Numbers of 64 bits by which a reply is known."""

    ids: tuple[int, ...]
    """Those of its response and of its calls; sessions have none of them in common."""
    said: int
    """That of what it says and calls, without its reasoning."""
    is_telling: bool
    """Whether no other session says that by chance."""


def keys(message: Message, response: str | None) -> Keys:
    """The keys of a reply, given the id of its response, if that has one."""
    text, calls = _text(message).strip(), [*_calls(message)]
    told = [text, [[name, arguments] for _, name, arguments in calls]]
    ids = [response or "", *(call_id for call_id, _, _ in calls if len(call_id) >= _LONG_ID)]
    return Keys(tuple(map(_number, filter(None, ids))), _digest(jsonio.dumps(told)), bool(calls) or is_long(text))


def said(message: Message) -> int:
    """The number of what a message says and calls."""
    return keys(message, None).said


def call_ids(message: Message) -> Iterator[str]:
    """The ids of a message's calls."""
    return (call_id for call_id, _, _ in _calls(message) if call_id)


def answered(message: Message) -> str:
    """The id of the call that a message is the result of; empty for none."""
    call_id = message.get("tool_call_id") if message["role"] == "tool" else None
    return call_id if isinstance(call_id, str) else ""


def _text(message: Message) -> str:
    content = message.get("content")
    if not isinstance(content, list):
        return chat.text(message) or ""
    return "".join(chat.part_text(part) or "" for part in content if not is_part(part))


def _calls(message: Message) -> Iterator[tuple[str, str | None, str]]:
    for call in chat.calls(message):
        function = call.get("function")
        arguments = function.get("arguments") if isinstance(function, dict) else call
        call_id = call.get("id")
        yield (
            call_id if isinstance(call_id, str) else "",
            chat.call_name(call),
            spelled(arguments).decode("utf-8", "replace"),
        )


def _number(name: str) -> int:
    return _digest(name.encode("utf-8", "surrogatepass"))


def _digest(data: bytes) -> int:
    return xxh3_64_intdigest(data) or 1
