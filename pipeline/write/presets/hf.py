"""What TRL, axolotl, Unsloth, ms-swift and Oumi take as it is: wrapped tools, arguments as objects, no nulls."""

from __future__ import annotations

from typing import Any

from pipeline.model import Conversation
from pipeline.write.arguments import Objects
from pipeline.write.presets import Column, Shaped
from pipeline.write.shaping import Plain, shaped

NAME = "hf"
COLUMNS = (Column("messages", "messages"), Column("tools", "messages"))
_TEXT = {"type": "string"}
_CALL = {
    "type": "object",
    "properties": {
        "id": {"type": "string", "minLength": 1},
        "type": {"const": "function"},
        "function": {
            "type": "object",
            "properties": {"name": {"type": "string", "minLength": 1}, "arguments": {"type": "object"}},
            "required": ["name", "arguments"],
            "additionalProperties": False,
        },
    },
    "required": ["id", "type", "function"],
    "additionalProperties": False,
}
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "messages": {"type": "array", "items": {"type": "object"}},
        "tools": {"type": "array", "minItems": 1, "items": {"type": "object"}},
    },
    "required": ["messages"],
    "additionalProperties": False,
}


def shape(conversation: Conversation) -> Shaped:
    """Turns as they are read, with tools if there are any."""
    return shaped(conversation, Objects(), _record)


def _record(plain: Plain) -> dict[str, Any]:
    return {"messages": plain.turns, "tools": plain.tools} if plain.tools else {"messages": plain.turns}
