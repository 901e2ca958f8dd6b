"""Tool definitions as trainers want them: wrapped, with parameters, without nulls."""

from __future__ import annotations

from typing import Any, NamedTuple

from pipeline import chat
from pipeline.checks import shapes
from pipeline.checks.registry import json_type, quoted
from pipeline.memo import Last
from pipeline.model import Tool
from pipeline.write.arguments import floats
from pipeline.write.holding import CannotHoldError, Notes


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
