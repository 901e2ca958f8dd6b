"""Load the function declarations of requests to Gemini."""

from __future__ import annotations

from typing import Any

from chatsquash.core.model import Json, Tool
from chatsquash.formats.base import Tools, with_private
from chatsquash.formats.calls import native
from chatsquash.formats.definitions import once_per_definition, share
from chatsquash.formats.providers.gemini.blocks import PROVIDER, camel
from chatsquash.formats.values import Object, as_list

_SCHEMAS = ("items", "anyOf", "any_of", "prefixItems", "prefix_items", "additionalProperties", "additional_properties")
_SCHEMAS_BY_NAME = ("properties", "$defs", "defs")


def tools(value: Json) -> Tools:
    """Load function declarations; all other tools are hosted."""
    functions: list[Tool] = []
    hosted: list[Tool] = []
    for tool in as_list(value):
        known = camel(tool) if isinstance(tool, dict) else {}
        declarations = known.pop("functionDeclarations", None)
        declarations = (
            declarations
            if isinstance(declarations, list)
            else [declarations]
            if isinstance(declarations, dict)
            else None
        )
        if declarations is None:
            hosted.append(tool)
            continue
        functions += [_function(each) for each in share(declarations) if isinstance(each, dict)]
        hosted += [each for each in declarations if not isinstance(each, dict)] + ([known] if known else [])
    return Tools(functions, hosted)


@once_per_definition
def _function(declared: Object) -> Tool:
    known = camel(declared)
    function: Json = {key: known.pop(key) for key in ("name", "description") if key in known}
    if "parametersJsonSchema" in known:
        function["parameters"] = known.pop("parametersJsonSchema")
    elif "parameters" in known:
        function["parameters"] = _lowercase_types(known.pop("parameters"))
    tool: Json = {"type": "function", "function": function}
    return with_private(tool, native(PROVIDER, known))


def _lowercase_types(schema: Json) -> Json:
    """Return a schema with its types in lower case, as in JSON Schema."""
    root = [schema]  # a loop instead of recursion, because logged schemas may be deeply nested
    pending: list[tuple[Any, Any]] = [(root, 0)]
    while pending:
        holder, key = pending.pop()
        if isinstance(holder[key], list):
            holder[key] = list(holder[key])
            pending += [(holder[key], at) for at in range(len(holder[key]))]
        elif isinstance(holder[key], dict):
            schema = holder[key] = dict(holder[key])
            if isinstance(schema.get("type"), str):
                schema["type"] = schema["type"].lower()
            pending += [(schema, name) for name in _SCHEMAS if name in schema]
            for name in _SCHEMAS_BY_NAME:
                if isinstance(schema.get(name), dict):
                    schema[name] = dict(schema[name])
                    pending += [(schema[name], each) for each in schema[name]]
    return root[0]
