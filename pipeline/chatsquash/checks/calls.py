"""What can be wrong with the tool calls of assistant messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from chatsquash import chat, jsonio
from chatsquash.chat import id_key
from chatsquash.checks.exchanges import Call, exchanges
from chatsquash.checks.registry import Fact, View, check
from chatsquash.text import counted, json_type, quoted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from chatsquash.model import Json

_object = jsonio.decoder(dict)


def _are_odd(view: View) -> bool:
    """Whether a rule here may find something, which a look at all calls at once rules out for nearly every record."""
    listed, calls, *_ = view.once(exchanges)
    return (
        "function_call" in view.keys
        or not all(isinstance(items, list) for items in listed)
        or sum(map(len, listed)) > len(calls)
        or len({call.key for call in calls} - {None}) < len(calls)
        or not view.tool_names.issuperset([call.name for call in calls])
        or not _take_objects(calls)
    )


def _take_objects(calls: list[Call]) -> bool:
    """Whether all arguments that are strings are JSON objects, as the fast parser sees it; all calls have names."""
    try:
        for call in calls:
            arguments = call.given["function"].get("arguments")
            if isinstance(arguments, str):
                _object.decode(arguments)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return False
    return True


@check("error", given=_are_odd)
def tool_calls_not_list(view: View) -> Iterator[Fact]:
    """Reported when an assistant's `tool_calls` is neither a list nor null: its calls cannot be read or trained on."""
    for at, items in view.once(_tool_calls):
        if not isinstance(items, list):
            yield Fact(f"tool_calls is {json_type(items)}, not a list: correct the logger or leave the record out", at)


@check("error", given=_are_odd)
def tool_call_not_object(view: View) -> Iterator[Fact]:
    """Reported when an item of `tool_calls` is no JSON object: it is no call that a chat template can print."""
    for at, index, call in view.once(_items):
        if not isinstance(call, dict):
            yield Fact(f"tool_calls[{index}] is {json_type(call)}, not an object: leave the record out", at)


@check("error", given=_are_odd)
def tool_call_function(view: View) -> Iterator[Fact]:
    """Reported when a call has no `function` object: it names no tool and has no arguments to train on.

    A call of a custom tool has `custom` in its place, and is fine.
    """
    for at, index, call in view.once(_objects):
        function = call.get("function")
        if not isinstance(function, dict) and not _is_custom(call):
            seen = json_type(function) if "function" in call else "missing"
            yield Fact(f"function of tool_calls[{index}] is {seen}: it must be an object", at)


@check("error", given=_are_odd)
def tool_call_name(view: View) -> Iterator[Fact]:
    """Reported when a call's `function` has no name, or one that is no string or empty.

    A model trained on it learns calls that nothing can run, and the message is not inlined.
    """
    for at, index, call in view.once(_objects):
        function = call.get("function")
        if isinstance(function, dict) and chat.call_name(call) is None:
            seen = "missing" if "name" not in function else "empty" if function["name"] == "" else "no string"
            yield Fact(f"function.name of tool_calls[{index}] is {seen}: it must be a tool's name", at)


@check("warning", given=_are_odd)
def tool_call_id(view: View) -> Iterator[Fact]:
    """Reported when a call's `id` is missing or was used before in the record.

    Results are matched to calls by id, so a trainer may pair them wrongly or refuse the record.
    """
    first: dict[str | bytes, int] = {}
    for at, index, call in view.once(_objects):
        call_id = call.get("id")
        key = id_key(call_id)
        if key is None:
            yield Fact(f"tool_calls[{index}] has no id: give every call one of its own", at)
        elif key in first:
            yield Fact(f"id {quoted(call_id)} was used in message {first[key]}: give every call one of its own", at)
        else:
            first[key] = at


@check("error", given=_are_odd)
def undeclared_tool(view: View) -> Iterator[Fact]:
    """Reported once for every name that calls use and that no definition in `tools` has.

    A model trained on it learns to call tools that it was never shown.
    """
    seen: dict[str, list[int]] = {}
    for at, _, call in view.once(_objects):
        name = chat.call_name(call)
        if name is not None and name not in view.tool_names:
            seen.setdefault(name, []).append(at)
    for name, places in seen.items():
        calls = counted(len(places), "call")
        yield Fact(f"{calls} of {quoted(name)}, which tools does not define: log its definition", places[0])


@check("warning", given=_are_odd)
def arguments_not_json(view: View) -> Iterator[Fact]:
    """Reported when a call's `arguments` are a string that does not parse to a JSON object.

    A model trained on it learns broken calls; often the reply was cut off.
    """
    for at, index, call in view.once(_objects):
        function = call.get("function")
        arguments = function.get("arguments") if isinstance(function, dict) else None
        if isinstance(arguments, str) and (seen := _not_object(arguments)):
            called = quoted(chat.call_name(call) or f"tool_calls[{index}]")
            yield Fact(f"arguments of {called} are {seen}, not a JSON object: see whether the reply was cut", at)


@check("error", given=_are_odd)
def legacy_function_call(view: View) -> Iterator[Fact]:
    """Reported when an assistant message has a `function_call`, the form before `tool_calls`.

    It stays as it was logged, and most chat templates pass over it: the call would be missing in training. An empty one
    (`null`, `{}`) is no call.
    """
    for at, message in enumerate(view.messages):
        if message.get("role") == "assistant" and message.get("function_call"):
            yield Fact("function_call is the legacy form: convert it to tool_calls or leave the record out", at)


def _tool_calls(view: View) -> list[tuple[int, Json]]:
    """The ``tool_calls`` of every assistant message that has them, whatever they are."""
    return [
        (at, message["tool_calls"])
        for at, message in enumerate(view.messages)
        if message.get("role") == "assistant" and message.get("tool_calls") is not None
    ]


def _items(view: View) -> list[tuple[int, int, Json]]:
    """Every item of every list of calls: the message's index, its own, and the item."""
    lists = [(at, items) for at, items in view.once(_tool_calls) if isinstance(items, list)]
    return [(at, index, item) for at, items in lists for index, item in enumerate(items)]


def _objects(view: View) -> list[tuple[int, int, dict[str, Any]]]:
    """The items of ``_items`` that are objects."""
    return [(at, index, item) for at, index, item in view.once(_items) if isinstance(item, dict)]


def _is_custom(call: dict[str, Any]) -> bool:
    """Whether a call is one of a custom tool, which takes a text."""
    return call.get("type") == "custom" and isinstance(call.get("custom"), dict)


def _not_object(arguments: str) -> str | None:
    """What arguments are that are no JSON object; ``None`` for those that are one."""
    try:
        value = jsonio.loads(arguments)
    except (ValueError, RecursionError):
        return "no JSON"
    return None if isinstance(value, dict) else json_type(value)
