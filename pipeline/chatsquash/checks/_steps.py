"""How many steps it may take to hold a value to a JSON schema, told before it is tried."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from chatsquash.core.model import Json
from chatsquash.core.text import quoted

_STEPS = 5_000
"""Objects and lists of a schema with all that it refers to, each of which every value may be held to."""
_STATES = 100_000
"""How many are looked at to count them."""
_FAR = 100
"""Levels of a schema with all that it refers to."""
_INSIDE = frozenset(
    (
        *("properties", "patternProperties", "additionalProperties", "unevaluatedProperties", "propertyNames"),
        *("items", "prefixItems", "additionalItems", "unevaluatedItems", "contains"),
    )
)
"""Keywords whose schemas are for what is inside of a value."""
_BY_NAME = frozenset(("properties", "patternProperties", "dependentSchemas", "dependencies"))
"""Keywords that have a schema for each of some names."""
_ASIDE = frozenset(("$defs", "definitions", "default", "examples", "example", "description", "title"))
"""Keywords with nothing that a value is held to."""
_OTHER_BASES = ("$id", "id", "$anchor", "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor")


class _UnusableError(Exception):
    """A schema refers to what is elsewhere, or too often; the text says which."""


class Steps:
    """Counts the parts of a schema that a value may be held to, with all that it refers to."""

    def __init__(self, schema: dict[str, Any]) -> None:
        self._schema = schema
        self._known: dict[int, int | str] = {}
        self._counts: dict[tuple[int, int], int | None] = {}

    def told(self, levels: int) -> int | str:
        """The objects and lists of the schema that arguments of so many levels are held to, or why they are not."""
        if levels not in self._known:
            self._counts = {}
            try:
                self._known[levels] = self._count(self._schema, levels, 0)
            except _UnusableError as problem:
                self._known[levels] = str(problem)
        return self._known[levels]

    def _count(self, value: Json, levels: int, far: int) -> int:
        if not isinstance(value, dict | list) or levels < 0:
            return 0
        key = id(value), levels
        if key not in self._counts:
            if far > _FAR or len(self._counts) > _STATES:
                raise _UnusableError("the schema has too many parts or references")
            self._counts[key] = None  # as long as it is being counted
            self._counts[key] = 1 + sum(self._count(*part, far + 1) for part in self._parts(value, levels))
        count = self._counts[key]
        if count is None:
            raise _UnusableError("the schema refers to itself in a circle")
        if count > _STEPS:
            raise _UnusableError("the schema has too many parts or references")
        return count

    def _parts(self, value: dict[str, Any] | list[Any], levels: int) -> Iterator[tuple[Json, int]]:
        if isinstance(value, list):
            yield from ((each, levels) for each in value)
            return
        if value is not self._schema and any(isinstance(value.get(name), str) for name in _OTHER_BASES):
            raise _UnusableError("the schema refers by names")
        for name, part in value.items():
            if name == "$ref" and isinstance(part, str):
                yield self._found(part), levels
            elif name not in _ASIDE:
                below = levels - (name in _INSIDE)
                by_name = part.values() if name in _BY_NAME and isinstance(part, dict) else (part,)
                yield from ((each, below) for each in by_name)

    def _found(self, reference: str) -> Json:
        """What a reference within the schema leads to."""
        if reference != "#" and not reference.startswith("#/"):
            raise _UnusableError(f"the schema refers to {quoted(reference)}, which is not fetched")
        found: Json = self._schema
        for part in reference.split("/")[1:]:
            name = part.replace("~1", "/").replace("~0", "~")
            found = found.get(name) if isinstance(found, dict) else None
        if found is None:
            raise _UnusableError(f"the schema refers to {quoted(reference)}, which it does not have")
        return found
