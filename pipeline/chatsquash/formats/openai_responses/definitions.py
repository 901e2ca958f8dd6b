"""Tools that a request to OpenAI Responses or an item of it defines."""

from __future__ import annotations

from chatsquash.formats.base import Tools, with_private
from chatsquash.formats.values import Object, listed
from chatsquash.model import Json, Tool

_BRINGING = ("additional_tools", "tool_search_output")
"""Items that bring tools."""


def tools(value: Json) -> Tools:
    """Function and custom tools, those of a namespace too; all others are the service's own."""
    found = Tools([], [])
    for tool in listed(value):
        inner = tool.get("tools") if isinstance(tool, dict) and tool.get("type") == "namespace" else None
        space = {"namespace": tool.get("name")} if isinstance(inner, list) else {}
        for each in inner if isinstance(inner, list) else [tool]:
            made = _tool(each, space)
            (found.hosted if made is None else found.functions).append(each if made is None else made)
    return found


def _tool(tool: Json, extra: Object) -> Tool | None:
    """A tool in canonical form, which it may have already; ``None`` for one that the service runs."""
    kind = tool.get("type") if isinstance(tool, dict) else None
    if kind not in ("function", "custom"):
        return None
    if isinstance(tool.get(kind), dict):
        return tool
    members = ("name", "description", *(("format",) if kind == "custom" else ("parameters", "strict")))
    inner = {member: tool[member] for member in members if tool.get(member) is not None}
    form = inner.get("format")
    if isinstance(form, dict) and form.get("type") == "grammar" and "grammar" not in form:
        inner["format"] = {"type": "grammar", "grammar": {key: form[key] for key in form if key != "type"}}
    made: Json = {"type": kind, kind: inner}
    rest = {key: tool[key] for key in tool if key not in ("type", *members)}
    return with_private(made, {**rest, **extra})


def turn_tools(turn: Json) -> Tools:
    """The tools that an item brings into a conversation that goes on."""
    bringing = isinstance(turn, dict) and turn.get("type") in _BRINGING
    return tools(turn.get("tools") if bringing else None)
