"""Recognizes tool definitions about which no rule has anything to report."""

from __future__ import annotations

from typing import Any

from chatsquash.core.model import Tool

_PLAIN = frozenset(("name", "description", "parameters", "type", "strict"))


def are_sound(tools: list[Tool]) -> bool:
    """Return quickly whether certainly no rule reports any of these flattened definitions."""
    return all(map(_is_sound, tools))


def _is_sound(tool: Any) -> bool:
    if type(tool) is not dict or not _PLAIN.issuperset(tool) or tool.get("type", "function") != "function":
        return False
    name, description, schema = tool.get("name"), tool.get("description"), tool.get("parameters")
    if type(name) is not str or type(description) is not str or type(schema) is not dict:
        return False
    if not name or not description or description.isspace() or schema.get("type") != "object":
        return False
    properties, required = schema.get("properties"), schema.get("required", _NONE)
    if (
        type(properties) is not dict
        or type(required) is not list
        or not _DICT.issuperset(map(type, properties.values()))
    ):
        return False
    return not required or (_STR.issuperset(map(type, required)) and "" not in required and _are_distinct(required))


_NONE: list[str] = []
_DICT, _STR = frozenset((dict,)), frozenset((str,))


def _are_distinct(names: list[str]) -> bool:
    return len(names) == 1 or len(set(names)) == len(names)
