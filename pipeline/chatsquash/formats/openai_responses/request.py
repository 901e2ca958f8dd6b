"""What a request to OpenAI Responses holds: instructions and items."""

from __future__ import annotations

from typing import NamedTuple

from chatsquash import chat, jsonio
from chatsquash.formats.base import LoadedTurn, TurnError, with_private
from chatsquash.formats.calls import State as Calls
from chatsquash.formats.calls import result
from chatsquash.formats.openai_responses.assistant import assistant_message
from chatsquash.formats.openai_responses.items import (
    RESULTS,
    ROLES,
    collapsed,
    content_of,
    joined,
    part_of,
    slot,
    some,
    type_of,
)
from chatsquash.formats.values import Object, compact, kind, string
from chatsquash.model import Json, Message


class Item:
    """An item that equals only what is the same JSON, which ``==`` does not say: ``1 == True``."""

    __slots__ = ("value",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, value: Json) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Item):
            return NotImplemented
        return self.value is other.value or jsonio.encode(self.value) == jsonio.encode(other.value)


class State(NamedTuple):
    """What the next item needs to know."""

    open: tuple[Item, ...] = ()
    """The assistant's items that are no message yet."""
    calls: Calls = Calls()
    """What those before them leave."""


START = State()


def system(value: Json) -> list[Message]:
    """Instructions are a text, or items like those of the input; null and the empty text are none."""
    if value is None or value == "":
        return []
    if not isinstance(value, str | list):
        raise TurnError(f"is {kind(value)}, not a text or a list of items")
    messages, state = list[Message](), START
    for turn in [{"role": "system", "content": value}] if isinstance(value, str) else value:
        loaded, state = load(turn, state)
        messages += loaded
    messages += close(state)
    return [with_private(message, {**chat.private(message), "from": "instructions"}) for message in messages]


def load(turn: Json, state: State) -> LoadedTurn:
    """An assistant's item stays open; another one closes what is open and is a message of its own."""
    item = {"role": "user", "content": turn} if isinstance(turn, str) else turn
    whose = _whose(item)
    if whose == "assistant":
        return LoadedTurn([], state._replace(open=(*state.open, Item(item))))
    closed, state = _closed(state)
    if whose != "tool":
        return LoadedTurn([*closed, _said(item, whose)], state)
    message, calls = _result(item, state.calls)
    return LoadedTurn([*closed, message], State(calls=calls))


def close(state: State) -> list[Message]:
    """The assistant's items behind the last item of somebody else are a message, too."""
    return _closed(state)[0]


def _whose(item: Json) -> str:
    """The role that an item speaks in; what the assistant's services did and what names no role is among its items."""
    if not isinstance(item, dict):
        raise TurnError("is no object")
    of, role = type_of(item), item.get("role")
    if not isinstance(of, str):
        raise TurnError(f"has a type that is {kind(of)}, not a text")
    if of in RESULTS:
        return "tool"
    if of == "message":
        _refuse(item, role)
        return str(role)
    return str(role) if role in ROLES and slot(item) == "n" else "assistant"


def _refuse(message: Object, role: Json) -> None:
    content = message.get("content")
    if role is None:
        raise TurnError("has no role")
    if role not in ROLES:
        raise TurnError(f"has a role that is none of {', '.join(ROLES)}")
    if message.get("tool_calls") or message.get("function_call"):
        raise TurnError("has calls inside a message, which this format has not")
    if not isinstance(content, str | list | None):
        raise TurnError(f"has content that is {kind(content)}, not a text or a list")


def _said(item: Object, role: str) -> Message:
    """A message of anybody but the assistant; an item of another type is kept as it is beside an empty message."""
    if type_of(item) != "message":
        return with_private({"role": role, "content": None}, {"native": [item]})
    held = content_of(item.get("content"), part_of)
    content = joined(held.parts)
    extra = {"content_list": collapsed(item.get("content"), content), "native": held.native}
    return with_private({"role": role, "content": content}, {**extra, "annotations": some(held.citations)})


def _closed(state: State) -> tuple[list[Message], State]:
    if not state.open:
        return [], state
    message = assistant_message([item.value for item in state.open], state.calls.call)
    return [message], State(calls=state.calls.called(chat.calls(message)))


def _result(item: Object, calls: Calls) -> tuple[Message, Calls]:
    """A result; one without an id answers the first call that waits, of its name if it has one."""
    logged, name = string(item, "call_id"), string(item, "name")
    astray = not logged and name and all(called != name for _, called in calls.open)
    answered, left = calls.lose() if astray else calls.answer(logged, name or None)
    content, extra = _output(item)
    return with_private(result(answered, name, content), {**extra, "synthetic_id": not logged}), left


def _output(item: Object) -> tuple[Json, Object]:
    """What a result says: a text, parts, or another value as JSON."""
    output = item.get("output", "")
    if isinstance(output, str):
        return output, {}
    blocks = output if isinstance(output, list) else [None]
    if not all(isinstance(block, dict) and isinstance(block.get("type"), str) for block in blocks):
        return compact(output), {"json": True}
    held = content_of(output, part_of)
    content = joined(held.parts) or ""
    return content, {"content_list": collapsed(output, content), "native": held.native}
