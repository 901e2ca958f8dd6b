"""Definitions of tools with a word in each part that a rendering should show."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from chatsquash.checks.template import Expected, Kind
from chatsquash.core import chat
from chatsquash.core.model import Json

Place = Callable[[Expected, str], str]
"""Gives a word for something that is expected, by what it is put into or stands beside."""
_MOST = 20
"""Parts of a definition that get a word; what a template does with these it does with all."""
_SCHEMAS = ("items", "additionalProperties", "not")
_LISTS = ("anyOf", "oneOf", "allOf", "prefixItems")
_SHARED = ("$defs", "definitions")


def marked(tool: Json, at: int, place: Place) -> Json:
    """A copy of a definition, wrapped or not, with words in its description and its parameters."""
    inner = tool.get("function") if isinstance(tool, dict) else None
    definition = inner if isinstance(inner, dict) else tool
    name = chat.tool_name(definition)
    if name is None:
        return tool
    word, description = place(Expected("tool", at, name=name), name), definition.get("description")
    said = f"{description} {word}" if isinstance(description, str) else word
    made = {**definition, "description": said}
    if isinstance(parameters := definition.get("parameters"), dict):
        made["parameters"] = _Parts(at, name, place).schema(parameters)
    return {**tool, "function": made} if definition is inner else made


class _Parts:
    """Marks the parts of one definition."""

    def __init__(self, at: int, name: str, place: Place) -> None:
        self._at, self._name, self._place = at, name, place
        self._left = _MOST

    def schema(self, schema: dict[str, Any], within: Kind | None = None) -> dict[str, Any]:
        """A copy with a word in each name of a property, and among the values of each ``enum``.

        ``within`` is the kind of thing that these are part of, where that counts.
        """
        made = dict(schema)
        if isinstance(values := schema.get("enum"), list) and values:
            made["enum"] = [*values, *filter(None, [self._word(within or "enum", str(values[0]))])]
        if isinstance(properties := schema.get("properties"), dict):
            self._properties(made, properties, within)
        for key in _SCHEMAS:
            if isinstance(inner := schema.get(key), dict):
                made[key] = self.schema(inner, within)
        for key in _LISTS:
            if isinstance(several := schema.get(key), list):
                made[key] = [self.schema(each, within) if isinstance(each, dict) else each for each in several]
        for key in _SHARED:
            if isinstance(shared := schema.get(key), dict):
                made[key] = {name: self._shared(each, name) for name, each in shared.items()}
        return made

    def _properties(self, made: dict[str, Any], properties: dict[str, Any], within: Kind | None) -> None:
        names = {name: f"{name}{self._word(within or 'property', name)}" for name in properties}
        made["properties"] = {
            names[name]: self.schema(each, within) if isinstance(each, dict) else each
            for name, each in properties.items()
        }
        if isinstance(required := made.get("required"), list):
            made["required"] = [names.get(name, name) if isinstance(name, str) else name for name in required]

    def _shared(self, schema: Json, name: str) -> Json:
        """What ``$ref`` names; it keeps its name."""
        if not isinstance(schema, dict):
            return schema
        left = self._left
        made = self.schema(schema, "$defs")
        if self._left == left and (word := self._word("$defs", name)):
            made["description"] = f"{schema.get('description') or ''} {word}".strip()
        return made

    def _word(self, kind: Kind, original: str) -> str:
        """A word for a part; empty once enough have one."""
        if not self._left:
            return ""
        self._left -= 1
        return self._place(Expected(kind, self._at, name=self._name), original)
