"""Tool definitions as trainers want them: wrapped, with parameters, without nulls."""

from __future__ import annotations

from typing import Any, NamedTuple

from chatsquash import chat
from chatsquash.checks import shapes
from chatsquash.memo import Last
from chatsquash.model import Tool
from chatsquash.records.arguments import floats
from chatsquash.records.notes import CannotHoldError, Notes
from chatsquash.text import json_type, quoted


class Definitions(NamedTuple):
    """The definitions of a record."""

    wrapped: list[dict[str, Any]]
    """``{"type": "function", "function": {"name", "description"?, "parameters", ...}}``."""
    notes: Notes


def _define(tools: list[Tool]) -> Definitions:
    notes = Notes()
    named = [tool for tool in tools if chat.tool_name(tool)]
    if len(named) < len(tools):
        notes.dropped["tool definitions without a name"] += len(tools) - len(named)
    wrapped = [{"type": "function", "function": _function(tool, notes)} for tool in named]
    notes.floats += floats(wrapped)
    return Definitions(wrapped, notes)


define = Last(_define)
"""Definitions of flattened tools; raises ``CannotHoldError``."""


def _function(tool: dict[str, Any], notes: Notes) -> dict[str, Any]:
    function = {key: value for key, value in tool.items() if value is not None}
    parameters = function.get("parameters")
    if parameters is None:
        notes.changed["tool definitions without parameters get empty ones"] += 1
        return {**function, "parameters": {"type": "object", "properties": {}}}
    if not isinstance(parameters, dict):
        what = f"parameters of tool {quoted(function['name'])} are {json_type(parameters)}"
        raise CannotHoldError(shapes.shape_not_held(what, None))
    return function
