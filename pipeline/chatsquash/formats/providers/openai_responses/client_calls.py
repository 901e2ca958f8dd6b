"""Calls of built-in OpenAI tools that the client runs: shells, patches, computer use and tool search."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from chatsquash.core.blocks import Call, Outcome
from chatsquash.core.model import Json, Tool
from chatsquash.formats import writing
from chatsquash.formats.base import with_private
from chatsquash.formats.calls import parse_json
from chatsquash.formats.providers.openai_responses.items import MORE, PROVIDER, rest_of
from chatsquash.formats.values import Object, at, compact, string


class _Tool(NamedTuple):
    """A built-in tool that the client runs."""

    name: str
    """The name of the function that represents it."""
    arguments: str
    """The member of a call that contains the arguments."""
    output: str
    """The type of its result items."""


_TOOLS = {
    "local_shell_call": _Tool("local_shell", "action", "local_shell_call_output"),
    "shell_call": _Tool("shell", "action", "shell_call_output"),
    "apply_patch_call": _Tool("apply_patch", "operation", "apply_patch_call_output"),
    "computer_call": _Tool("computer", "action", "computer_call_output"),
    "tool_search_call": _Tool("tool_search", "arguments", "tool_search_output"),
}
"""The tools by call type."""
_CALLS = {tool.name: of for of, tool in _TOOLS.items()}
_NAMES = {tool.output: tool.name for tool in _TOOLS.values()}
OUTPUTS = tuple(_NAMES)
"""The item types that may be results of these calls."""
_DEFINITION_NAMES = {**{name: name for name in _CALLS}, "computer_use_preview": "computer"}
"""The function names by definition type."""
_SEARCH, _COMPUTER, _SCREENSHOT = "tool_search", "computer", "computer_screenshot"
_SEVERAL = "actions"
"""The member of newer computer calls, which contain several actions."""


def _is_local(holder: Json) -> bool:
    """Return whether a shell runs on the client, not in an OpenAI container."""
    return string(at(holder, "environment"), "type") in ("", "local")


def definition(tool: Object) -> Tool | None:
    """Convert the definition of a built-in tool, which has no schema, to a function; return ``None`` for others."""
    name = _DEFINITION_NAMES.get(string(tool, "type"))
    # OpenAI runs shells in its own containers, and tool search unless the client executes it.
    if name is None or not _is_local(tool) or (name == _SEARCH and tool.get("execution") != "client"):
        return None
    inner = {key: tool[key] for key in ("description", "parameters") if tool.get(key) is not None}
    own = {key: value for key, value in tool.items() if key not in inner}
    return with_private({"type": "function", "function": {"name": name, **inner}}, {PROVIDER: own})


def logged_definition(own: Object, function: Object) -> Object | None:
    """Return the definition of a built-in tool as logged, or ``None`` for other tools."""
    if string(own, "type") not in _DEFINITION_NAMES:
        return None
    return {**own, **{key: function[key] for key in ("description", "parameters") if key in function}}


def is_call(item: Object) -> bool:
    """Return whether an item is a call of one of these tools."""
    tool = _TOOLS.get(string(item, "type"))
    if tool is None or not (string(item, "call_id") or string(item, "id")) or not _is_local(item):
        return False
    if tool.name == _SEARCH and item.get("execution") != "client":
        return False
    return isinstance(item.get(tool.arguments), dict) or _has_actions(item, tool)


def _has_actions(item: Object, tool: _Tool) -> bool:
    return tool.name == _COMPUTER and isinstance(item.get(_SEVERAL), list)


def call(item: Object) -> Call:
    """Load a call, with its action or operation as the arguments."""
    tool = _TOOLS[item["type"]]
    member = tool.arguments if isinstance(item.get(tool.arguments), dict) else _SEVERAL
    arguments = item[member] if member == tool.arguments else {_SEVERAL: item[_SEVERAL]}
    id_member = ("call_id",) if string(item, "call_id") else ("id",)
    more = {"type": item["type"], **rest_of(item, member, *id_member)}
    return Call(item[id_member[0]], tool.name, compact(arguments), native={PROVIDER: {MORE: more}})


def logged_type(block: Call) -> str:
    """Return the item type of a call, or an empty string for calls of functions and custom tools."""
    of = string(at(writing.native(block, PROVIDER), MORE), "type")
    return of if of in _TOOLS else ""


def item(block: Call) -> Object | None:
    """Write the item of a call; return ``None`` for other calls, or if the arguments are not an object."""
    of, arguments = logged_type(block), parse_json(block.arguments)
    if not of or not isinstance(arguments, dict):
        return None
    members = (
        arguments
        if _TOOLS[of].name == _COMPUTER and arguments.keys() == {_SEVERAL}
        else {_TOOLS[of].arguments: arguments}
    )
    return {"type": of, "call_id": block.id, "status": "completed", **writing.native(block, PROVIDER)[MORE], **members}


def output_type(block: Call) -> str:
    """Return the type of a call's result items, or an empty string for calls of other tools."""
    of = logged_type(block)
    return _TOOLS[of].output if of else ""


def is_result(item: Object) -> bool:
    """Return whether an item may be the result of a call of one of these tools."""
    of = item.get("type")
    return of in OUTPUTS and (_NAMES[of] != _SEARCH or item.get("execution") == "client")


def call_id(item: Object, open_items: Iterable[Object]) -> str:
    """Return the id of the open call that a result answers, or an empty string if OpenAI ran the call."""
    logged_ids = {string(item, "call_id"), string(item, "id")} - {""}
    for each in open_items:
        if is_call(each) and _TOOLS[each["type"]].output == item["type"]:
            logged_id = string(each, "call_id") or string(each, "id")
            if not logged_ids.isdisjoint((logged_id, string(each, "id"))):
                return logged_id
    return ""


def result(item: Object, call_id: str) -> Object:
    """Convert a result item to the item of a function's result."""
    of, output = item["type"], item.get("output")
    rest = {key: value for key, value in item.items() if key not in ("output", "tools", "call_id")}
    if _NAMES[of] == _SEARCH:
        output = {"tools": item.get("tools")}
    elif _NAMES[of] == _COMPUTER and isinstance(output, dict) and output.get("type") == _SCREENSHOT:
        # Functions return images as parts of this type.
        output = [{**output, "type": "input_image"}]
    return {**rest, "call_id": call_id, "output": "" if output is None else output}


def outcome(item: Object) -> Outcome:
    """Return the outcome of a call."""
    # Only patches report failures in their status.
    return "failed" if item.get("type") == "apply_patch_call_output" and item.get("status") == "failed" else "success"


def result_item(of: str, call_id: str, output: Json, own: Object) -> Object:
    """Write the item of a result."""
    base = {"type": of, "call_id": call_id, **own}
    if _NAMES[of] == _SEARCH:
        return {**base, "execution": "client", "tools": at(output, "tools") or []}
    if _NAMES[of] == _COMPUTER and isinstance(output, list) and len(output) == 1:
        return {**base, "output": {**output[0], "type": _SCREENSHOT}}
    # Only patches require a status.
    return {"status": "completed", **base, "output": output} if "patch" in of else {**base, "output": output}
