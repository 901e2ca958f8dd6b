"""The provider-neutral array that OpenAF exports and imports: entries with ``toolCalls`` and ``toolResults``."""

from __future__ import annotations

import re

from chatsquash import chat
from chatsquash.formats.base import LoadedTurn, TurnError, of_each, role_of, with_native, with_private
from chatsquash.formats.calls import (
    State,
    arguments,
    arguments_object,
    as_text,
    assistant,
    call_name,
    failed,
    linked,
    numbered,
    parsed,
    result,
    told,
    tool_call,
)
from chatsquash.formats.evidence import at_line, numbers
from chatsquash.formats.links import distinct
from chatsquash.formats.values import Object, at, compact, kind, objects, rest, string, text_members
from chatsquash.model import Conversation, Json, Message

NAME = "portable"
HOLDS_TOOLS = False
MEMBERS: tuple[str, ...] = ()

_ROLES = ("system", "user", "assistant")
_MEMBERS = ("role", "content", "toolCalls", "toolResults")
_MADE_UP = re.compile(r"tc_\d+_\d+")
"""Ids that OpenAF makes up, a call's and its result's never the same."""


# Reading


def fits(objects: list[Json]) -> str | None:
    """Arrays of entries, one of which at least has calls or results; without them they are plain chat messages."""
    if all(map(_is_array, objects)) and any(_tells(entry) for array in objects for entry in array):
        return "an array with toolCalls or toolResults"
    return None


def _is_array(value: Json) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) and each.get("role") in _ROLES for each in value)


def _tells(entry: Object) -> bool:
    called = any("name" in each and "arguments" in each for each in objects(entry.get("toolCalls")))
    return called or any("name" in each and "result" in each for each in objects(entry.get("toolResults")))


def conversations(objects: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """One for each array; raises ``TurnError``."""
    return list(map(at_line, of_each(objects, _loaded), numbers(objects, lines)))


def _loaded(array: Json) -> Conversation:
    if not isinstance(array, list):
        raise TurnError(f"is {kind(array)}, not a list of entries")
    messages: list[Message] = []
    state = State()
    for number, entry in enumerate(array):
        try:
            loaded, state = _entry(entry, state)
        except TurnError as problem:
            raise TurnError(f"[{number}] {problem}") from None
        messages += loaded
    return Conversation(messages, [])


def _entry(entry: Json, state: State) -> LoadedTurn:
    if not isinstance(entry, dict):
        raise TurnError("is no object")
    role, content = role_of(entry, _ROLES), entry.get("content")
    if not isinstance(content, str | None):
        raise TurnError(f"has a content that is {kind(content)}, not text")
    calls, results = _listed(entry, "toolCalls", role == "assistant"), _listed(entry, "toolResults", role == "user")
    if role == "assistant":
        made = numbered(calls, state.call, _call)
        # OpenAF writes one entry for each of the calls that were made together.
        loaded = LoadedTurn([assistant(content, "", made)], state.called(made, by_assistant=True))
    elif results:
        loaded = _answered(content, results, state)
    else:
        loaded = LoadedTurn([{"role": role, "content": content}], state.but(by_assistant=False))
    first, *others = loaded.messages
    if more := rest(entry, *_MEMBERS):
        first = with_native(first, more)
    return LoadedTurn([first, *others], loaded.state)


def _listed(entry: Object, member: str, has_place: bool) -> list[Object]:
    """The objects in a list, which is empty where the entry has none."""
    value = entry.get(member)
    if value in (None, []):
        return []
    if not has_place:
        raise TurnError(f"has {member}, which only {'assistants' if member == 'toolCalls' else 'users'} have")
    if not isinstance(value, list):
        raise TurnError(f"has {member} that are {kind(value)}, not a list")
    number = next((number for number, each in enumerate(value) if not isinstance(each, dict)), None)
    if number is not None:
        raise TurnError(f"has {member}[{number}] that is no object")
    return value


def _call(call: Object, number: int) -> Object:
    native = rest(call, *text_members(call, "id"), "name", "arguments")
    function = {"name": call.get("name"), "arguments": arguments(call.get("arguments"))}
    return tool_call(string(call, "id"), number, function, {"native": native})


def _answered(content: str | None, results: list[Object], state: State) -> LoadedTurn:
    """Results, and behind them what the entry says; those without an id answer calls that none of the others does."""
    logged = [_logged(each, state) for each in results]
    state = state.but(open=tuple(call for call in state.open if call[0] not in logged), by_assistant=False)
    messages: list[Message] = []
    for each, own in zip(results, logged, strict=True):
        answered, state = state.answer(own, string(each, "name"))
        messages.append(_result(each, answered, made_up=not own))
    if content:
        messages.append(with_private({"role": "user", "content": content}, {"same_turn": True}))
    return LoadedTurn(messages, state)


def _logged(answer: Object, state: State) -> str:
    """The id that a result has; empty for one that OpenAF made up beside that of the call."""
    own, name = string(answer, "id"), string(answer, "name")
    other = _MADE_UP.fullmatch(own) and all(call[0] != own for call in state.open)
    return "" if other and any(call[1] == name for call in state.open) else own


def _result(answer: Object, answered: str, made_up: bool) -> Message:
    value = answer.get("result")
    is_json = not isinstance(value, str | None)
    message = result(answered, string(answer, "name"), compact(value) if is_json else value or "")
    taken = text_members(answer, "name", *([] if made_up and string(answer, "id") else ["id"]))
    native = rest(answer, *taken, "result")
    return with_private(message, {"json": is_json, "synthetic_id": made_up, "native": native})


# Writing


def dump(conversation: Conversation) -> Json:
    """The array: content and results never on one entry, results in a row on one, every id filled in and unique."""
    entries: list[Object] = []
    names: dict[str, str] = {}
    for message, ids in linked(distinct(conversation.messages)):
        if message.get("role") == "tool":
            name = string(message, "name") or names.get(ids[0], "")
            answer = {"id": ids[0], "name": name, "result": _value(message)}
            if not entries or "toolResults" not in entries[-1]:
                entries.append({"role": "user", "content": None, "toolResults": []})
            entries[-1]["toolResults"].append(answer)
        else:
            pairs = zip(chat.calls(message), ids, strict=True)
            calls: list[Object] = [
                {"id": own, "name": call_name(call) or "", "arguments": _as_object(call)} for call, own in pairs
            ]
            names |= {each["id"]: each["name"] for each in calls}
            role = "system" if message.get("role") == "developer" else message.get("role")
            if role in _ROLES:
                entries.append({"role": role, "content": told(message), **({"toolCalls": calls} if calls else {})})
    return entries


def _as_object(call: Object) -> Object:
    """The arguments of a call as an object; the input of a custom tool is a member."""
    if isinstance(call.get("custom"), dict) and not call.get("function"):
        return {"input": at(call, "custom", "input")}
    return arguments_object(at(call, "function", "arguments"))


def _value(message: Message) -> Json:
    """An object for what is known to be the JSON of one, else text."""
    held, content = chat.private(message), message.get("content")
    is_error = held.get("is_error") is True
    value = parsed(content) if held.get("json") is True and isinstance(content, str) and not is_error else None
    if isinstance(value, dict) and compact(value) == content:  # else some of its digits or white space would be lost
        return value
    text = (as_text(message) if isinstance(content, str | list | None) else compact(content)) or ""
    return failed(text) if is_error else text
