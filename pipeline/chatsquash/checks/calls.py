"""Rules about the tool calls of assistant messages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from chatsquash.checks.registry import Fact, View, check
from chatsquash.checks.results import ToolCall, exchanges
from chatsquash.core import jsonio
from chatsquash.core.text import json_type, pluralize, quote


@check("error", looks=("odd calls",))
def tool_calls_not_list(view: View) -> Iterator[Fact]:
    """Reported when an assistant's `tool_calls` is neither a list nor null."""
    for at, items in _tool_call_lists(view):
        if not isinstance(items, list):
            yield Fact(f"tool_calls is {json_type(items)}, not a list: fix the logger or exclude the record", at)


@check("error", looks=("odd calls",))
def tool_call_not_object(view: View) -> Iterator[Fact]:
    """Reported when an item of `tool_calls` is not a JSON object."""
    for at, items in _tool_call_lists(view):
        for index, call in enumerate(items if isinstance(items, list) else ()):
            if not isinstance(call, dict):
                yield Fact(f"tool_calls[{index}] is {json_type(call)}, not an object: exclude the record", at)


@check("error", looks=("odd calls",))
def tool_call_function(view: View) -> Iterator[Fact]:
    """Reported when a call has no `function` object.

    A call of a custom tool has `custom` instead, which is valid.
    """
    for call in view.once(exchanges).calls:
        function = call.call_object.get("function")
        if not isinstance(function, dict) and not _is_custom(call.call_object):
            seen = json_type(function) if "function" in call.call_object else "missing"
            yield Fact(f"function of tool_calls[{_index(view, call)}] is {seen}: it must be an object", call.at)


@check("error", looks=("odd calls",))
def tool_call_name(view: View) -> Iterator[Fact]:
    """Reported when the name of a called function is missing, empty or not a string."""
    for call in view.once(exchanges).calls:
        if call.name is None and isinstance(function := call.call_object.get("function"), dict):
            seen = "missing" if "name" not in function else "empty" if function["name"] == "" else "not a string"
            yield Fact(f"function.name of tool_calls[{_index(view, call)}] is {seen}: it must be a tool name", call.at)


@check("warning", looks=("odd calls",))
def tool_call_id(view: View) -> Iterator[Fact]:
    """Reported when a call has no `id`, or the same `id` as an earlier call."""
    first: dict[str | bytes, int] = {}
    for call in view.once(exchanges).calls:
        if call.key is None:
            yield Fact(f"tool_calls[{_index(view, call)}] has no id: give each call a unique id", call.at)
        elif call.key in first:
            reuse = f"id {quote(call.call_object['id'])} was used in message {first[call.key]}"
            yield Fact(f"{reuse}: give each call a unique id", call.at)
        else:
            first[call.key] = call.at


@check("error", looks=("undeclared calls",))
def undeclared_tool(view: View) -> Iterator[Fact]:
    """Reported when a called tool is not defined in `tools`; reported once per tool name."""
    calls = view.once(exchanges).calls
    undeclared = {call.name for call in calls} - view.tool_names
    seen: dict[str, list[int]] = {}
    for call in calls if undeclared else ():
        if call.name is not None and call.name in undeclared:
            seen.setdefault(call.name, []).append(call.at)
    for name, places in seen.items():
        count = pluralize(len(places), "call")
        yield Fact(f"{count} of {quote(name)}, which is not defined in tools: log its definition", places[0])


@check("warning", looks=("odd arguments",))
def arguments_not_json(view: View) -> Iterator[Fact]:
    """Reported when the `arguments` of a call are a string that does not contain a JSON object."""
    for call in view.once(exchanges).calls:
        function = call.call_object.get("function")
        arguments = function.get("arguments") if isinstance(function, dict) else None
        if isinstance(arguments, str) and (seen := _not_object(arguments)):
            label = quote(call.name or f"tool_calls[{_index(view, call)}]")
            yield Fact(
                f"arguments of {label} are {seen}, but must be a JSON object: check whether the reply was truncated",
                call.at,
            )


@check("error", looks=("legacy calls",))
def legacy_function_call(view: View) -> Iterator[Fact]:
    """Reported when an assistant message has a `function_call`, the predecessor of `tool_calls`.

    An empty one (`null`, `{}`) does not count.
    """
    for at, message in enumerate(view.messages):
        if message.get("function_call") and message.get("role") == "assistant":
            yield Fact("function_call is the legacy form: convert it to tool_calls or exclude the record", at)


def _tool_call_lists(view: View) -> Iterator[tuple[int, Any]]:
    """Yield the index and the ``tool_calls`` of each assistant message that has any, whatever their type."""
    for at, message in enumerate(view.messages):
        if message.get("role") == "assistant" and (items := message.get("tool_calls")) is not None:
            yield at, items


def _index(view: View, call: ToolCall) -> int:
    """Return the index of a call in the ``tool_calls`` of its message."""
    items: Any = view.messages[call.at]["tool_calls"]
    return next(index for index, item in enumerate(items) if item is call.call_object)


def _is_custom(call: dict[str, Any]) -> bool:
    """Return whether a call is for a custom tool, whose input is text."""
    return call.get("type") == "custom" and isinstance(call.get("custom"), dict)


def _not_object(arguments: str) -> str | None:
    """Return a description of arguments that are not a JSON object, or ``None`` for an object."""
    try:
        value = jsonio.loads(arguments)
    except (ValueError, RecursionError):
        return "not valid JSON"
    return None if isinstance(value, dict) else json_type(value)
