"""Shape records for fine-tuning APIs: only known members, restricted tool names, and no reasoning."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from chatsquash.checks import contents, shapes
from chatsquash.core.text import json_type, quote
from chatsquash.records import schema
from chatsquash.records.notes import CannotHoldError, Notes
from chatsquash.records.schema import TEXT, Schema
from chatsquash.records.turns import Turn

_NAME = "^[a-zA-Z0-9_-]{1,64}$"
NAME: Schema = {"type": "string", "pattern": _NAME}
TOOLS = schema.tools(
    schema.exactly(
        {"name": NAME, "parameters": {"type": "object"}}, {"description": TEXT, "strict": {"type": "boolean"}}
    )
)
_MEMBERS = {"name": str, "description": str, "parameters": dict, "strict": bool}


def messages(turns: list[Turn], notes: Notes) -> Iterator[Turn]:
    """Yield the turns without reasoning.

    Raises ``CannotHoldError`` for names that no API accepts, and for a last reply that consists only of reasoning.
    """
    for at, turn in enumerate(turns):
        for call in turn.get("tool_calls", ()):
            _check_name(call["function"]["name"], at)
        if "reasoning_content" in turn:
            notes.dropped["reasoning"] += 1
            rest = {key: value for key, value in turn.items() if key != "reasoning_content"}
            if at == len(turns) - 1 and not contents.has_content(rest):
                raise CannotHoldError(contents.unsupported_reply())
            yield rest
        else:
            yield turn


def record(messages: list[Turn], definitions: list[dict[str, Any]], notes: Notes) -> dict[str, Any]:
    """Return the record of messages and definitions, with the members that the APIs accept."""
    tools = [{"type": "function", "function": _function(tool["function"], notes)} for tool in definitions]
    return {"messages": messages, "tools": tools} if tools else {"messages": messages}


def _function(function: dict[str, Any], notes: Notes) -> dict[str, Any]:
    _check_name(function["name"], None)
    notes.dropped.update(f"member {key} of tool definitions" for key in function if key not in _MEMBERS)
    for key, kind in _MEMBERS.items():
        if key in function and not isinstance(function[key], kind):
            what = f"{key} of tool {quote(function['name'])} is {json_type(function[key])}"
            raise CannotHoldError(shapes.unsupported_shape(what, None))
    return {key: function[key] for key in _MEMBERS if key in function}


def _check_name(name: str, at: int | None) -> None:
    if not re.fullmatch(_NAME.strip("^$"), name):
        what = f"the tool name {quote(name)} must have at most 64 characters of A-Z, a-z, 0-9, _ and -"
        raise CannotHoldError(shapes.unsupported_shape(what, at))
