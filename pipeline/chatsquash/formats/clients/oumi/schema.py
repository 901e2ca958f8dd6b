"""Definitions of tools as Oumi takes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chatsquash.chat import PRIVATE
from chatsquash.formats import openai_chat
from chatsquash.formats.base import TurnError, without_private
from chatsquash.formats.values import Object
from chatsquash.model import Json, Tool

_WANTED: dict[str, type] = {"description": str, "parameters": dict, "strict": bool}
"""What members of a function have to be, if they are not null."""
_TYPES = ("object", "string", "number", "integer", "boolean", "array", "null")


def _is_text(value: Json) -> bool:
    return isinstance(value, str)


_CHECKED: dict[str, Callable[[Any], bool]] = {
    "type": lambda value: all(each in _TYPES for each in (value if isinstance(value, list) else [value])),
    "description": _is_text,
    "title": _is_text,
    "format": _is_text,
    "required": lambda value: isinstance(value, list) and all(map(_is_text, value)),
    "enum": lambda value: isinstance(value, list),
}
"""The members of a schema that Oumi wants to be of a type; one of another makes it refuse the whole conversation."""


def tools(defined: list[Tool]) -> list[Tool]:
    """The functions among the tools, without what Oumi would refuse; raises ``TurnError``."""
    try:
        return [fitted for tool in openai_chat.tools(defined).functions if (fitted := _tool(tool))]
    except RecursionError:
        raise TurnError("has tools that are nested too deeply") from None


def _tool(tool: Object) -> Object | None:
    function = tool.get("function")
    if tool.get("type") != "function" or not isinstance(function, dict) or not _is_text(function.get("name")):
        return None
    kept: Object = {
        key: value
        for key, value in function.items()
        if key != PRIVATE and (value is None or isinstance(value, _WANTED.get(key, object)))
    }
    if isinstance(kept.get("parameters"), dict):
        kept["parameters"] = _schema(kept["parameters"])
    return {**without_private(tool), "function": kept}


def _schema(schema: Object) -> Object:
    fitted: Object = {}
    for key, value in schema.items():
        if value is None or key not in (*_CHECKED, "properties", "items"):
            fitted[key] = value
        elif key in _CHECKED:
            fitted |= {key: value} if _CHECKED[key](value) else {}
        else:
            fitted |= _inner(key, value)
    return fitted


def _inner(key: str, value: Json) -> Object:
    """The schemas inside a schema; lists of them in ``items`` are what newer ones call ``prefixItems``."""
    if key == "items":
        return {"prefixItems": value} if isinstance(value, list) else {} if (of := _sub(value)) is None else {key: of}
    if not isinstance(value, dict):
        return {}
    return {key: {name: of for name, each in value.items() if (of := _sub(each)) is not None}}


def _sub(schema: Json) -> Object | None:
    """A schema; those that are booleans take all or nothing."""
    if isinstance(schema, bool):
        return {} if schema else {"not": {}}
    return _schema(schema) if isinstance(schema, dict) else None
