"""Building blocks for the JSON Schemas of presets."""

from __future__ import annotations

from typing import Any

Schema = dict[str, Any]

TEXT: Schema = {"type": "string"}
WORD: Schema = {"type": "string", "minLength": 1}
WEIGHT: dict[str, Schema] = {"weight": {"enum": [0, 1]}}
"""The member that ``--loss weight`` adds to messages."""
TRAINABLE: dict[str, Schema] = {"trainable": {"type": "boolean"}}
"""The member that ``--loss trainable`` adds to all messages."""
_PART: dict[str, Schema] = {"weight": {"type": "number", "minimum": 0, "maximum": 1}}
"""The same with the weights of ``--loss-labels``, which services reject."""
FLAGS: dict[str, Schema] = {**_PART, "training": {"type": "boolean"}, "loss": {"type": "boolean"}, **TRAINABLE}
"""The member that each value of ``--loss`` adds."""


def exactly(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    """Return the schema of an object with these members and no others."""
    return {
        "type": "object",
        "properties": {**required, **(optional or {})},
        "required": list(required),
        "additionalProperties": False,
    }


def nonempty_list(items: Schema) -> Schema:
    """Return the schema of a list with at least one item."""
    return {"type": "array", "minItems": 1, "items": items}


def record(required: dict[str, Schema], optional: dict[str, Schema] | None = None) -> Schema:
    """Return the schema of a record, with the JSON Schema dialect."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **exactly(required, optional)}


def message(role: str, optional: dict[str, Schema] | None = None, **members: Schema) -> Schema:
    """Return the schema of a message with a role."""
    return exactly({"role": {"const": role}, "content": TEXT, **members}, optional)


def messages(*kinds: Schema) -> Schema:
    """Return the schema of messages of these kinds, at least one of them by the assistant."""
    assistant = {"properties": {"role": {"const": "assistant"}}, "required": ["role"]}
    return {**nonempty_list({"oneOf": list(kinds)}), "contains": assistant}


def calls(arguments: Schema, ident: Schema = WORD, name: Schema = WORD) -> Schema:
    """Return the schema of the calls of an assistant message."""
    function = exactly({"name": name, "arguments": arguments})
    return nonempty_list(exactly({"id": ident, "type": {"const": "function"}, "function": function}))


def tools(function: Schema) -> Schema:
    """Return the schema of wrapped tool definitions."""
    return nonempty_list(exactly({"type": {"const": "function"}, "function": function}))
