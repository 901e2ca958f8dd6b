"""Load and write tool definitions in OpenAI Responses requests and items."""

from __future__ import annotations

from itertools import groupby

from chatsquash.core.chat import private
from chatsquash.core.model import Json, Tool
from chatsquash.formats.base import Tools, with_private
from chatsquash.formats.calls import native
from chatsquash.formats.definitions import custom_members, function_tool, once_per_definition
from chatsquash.formats.providers.openai_chat.write import named_tools
from chatsquash.formats.providers.openai_responses import client_calls
from chatsquash.formats.providers.openai_responses.items import PROVIDER, SPACE, bare_name, qualified_name
from chatsquash.formats.values import Object, as_list, at, string, without

_MEMBERS = {
    "function": ("name", "description", "parameters", "strict"),
    "custom": ("name", "description", "format"),
}


def tools(value: Json) -> Tools:
    """Load function and custom tools, including those in namespaces; all other tools are hosted."""
    definitions = Tools([], [])
    for tool in as_list(value):
        inner = at(tool, "tools") if string(tool, "type") == SPACE else None
        space = {SPACE: without(tool, "type", "tools")} if isinstance(inner, list) else {}
        for each in inner if isinstance(inner, list) else [tool]:
            converted = _tool(each, space) if space else _tool_without_space(each)
            (definitions.hosted if converted is None else definitions.functions).append(
                each if converted is None else converted
            )
    return definitions


def _tool(tool: Json, space: Object) -> Tool | None:
    """Convert a tool to OpenAI chat's form, which may already be its form; return ``None`` for hosted tools."""
    kind = at(tool, "type")
    if isinstance(tool, dict) and (kind is None or "input_schema" in tool) and (converted := function_tool(tool)):
        return converted
    if kind not in tuple(_MEMBERS):
        return client_calls.definition(tool) if isinstance(tool, dict) else None
    if isinstance(tool.get(kind), dict):
        return tool
    inner = custom_members(tool) if kind == "custom" else without({name: tool.get(name) for name in _MEMBERS[kind]})
    inner |= {"name": qualified_name(inner["name"], at(space, SPACE, "name"))} if space and "name" in inner else {}
    own = {**native(PROVIDER, tool, "type", *_MEMBERS[kind]).get(PROVIDER, {}), **space}
    return with_private({"type": kind, kind: inner}, {PROVIDER: own} if own else {})


@once_per_definition
def _tool_without_space(tool: Json) -> Tool | None:
    return _tool(tool, {})


def turn_tools(turn: Json) -> Tools:
    """Load the tools that an item adds during a conversation."""
    has_tools = at(turn, "type") in ("additional_tools", "tool_search_output")
    return tools(turn.get("tools") if has_tools else None)


def dump(loaded_tools: list[Tool]) -> list[Object]:
    """Write definitions; consecutive definitions of a namespace are nested inside it."""
    tools = list[Object]()
    for space, group in groupby(named_tools(loaded_tools), key=lambda tool: at(private(tool), PROVIDER, SPACE)):
        flat = [_flat(tool) for tool in group]
        tools += [{"type": SPACE, **space, "tools": flat}] if isinstance(space, dict) else flat
    return tools


def _flat(tool: Tool) -> Object:
    """Write a flat definition."""
    of = "function" if isinstance(tool.get("function"), dict) else "custom"
    inner, own = tool[of], private(tool).get(PROVIDER, {})
    if logged_definition := client_calls.logged_definition(own, inner):
        return logged_definition
    converted: Object = {"type": of, "name": bare_name(inner["name"], at(own, SPACE, "name"))}
    converted |= {"description": inner["description"]} if isinstance(inner.get("description"), str) else {}
    if of == "function":  # OpenAI's library requires both members, even if they are null
        for member, kind in (("parameters", dict), ("strict", bool)):
            converted[member] = inner[member] if isinstance(inner.get(member), kind) else None
    elif isinstance(form := inner.get("format"), dict):
        grammar = form.get("grammar")
        converted["format"] = {"type": "grammar", **grammar} if isinstance(grammar, dict) else form
    return {**converted, **without(own, SPACE)}
