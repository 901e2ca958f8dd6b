"""Functions that a request to Gemini declares."""

from __future__ import annotations

from typing import Any

from chatsquash.core.model import Json, Tool
from chatsquash.formats.base import Tools, with_private
from chatsquash.formats.calls import native
from chatsquash.formats.definition_cache import once_per_definition
from chatsquash.formats.providers.gemini.blocks import PROVIDER, camel
from chatsquash.formats.values import Object, as_list

_SCHEMAS = ("items", "anyOf", "any_of", "prefixItems", "prefix_items", "additionalProperties", "additional_properties")
_SCHEMAS_BY_NAME = ("properties", "$defs", "defs")


def tools(value: Json) -> Tools:
    """Declared functions; tools of other kinds are the provider's."""
    functions: list[Tool] = []
    hosted: list[Tool] = []
    for tool in as_list(value):
        known = camel(tool) if isinstance(tool, dict) else {}
        declared = known.pop("functionDeclarations", None)
        declared = declared if isinstance(declared, list) else [declared] if isinstance(declared, dict) else None
        if declared is None:
            hosted.append(tool)
            continue
        functions += [_function(each) for each in declared if isinstance(each, dict)]
        hosted += [each for each in declared if not isinstance(each, dict)] + ([known] if known else [])
    return Tools(functions, hosted)


@once_per_definition
def _function(declared: Object) -> Tool:
    known = camel(declared)
    function: Json = {key: known.pop(key) for key in ("name", "description") if key in known}
    if "parametersJsonSchema" in known:
        function["parameters"] = known.pop("parametersJsonSchema")
    elif "parameters" in known:
        function["parameters"] = _lowered(known.pop("parameters"))
    tool: Json = {"type": "function", "function": function}
    return with_private(tool, native(PROVIDER, known))


def _lowered(schema: Json) -> Json:
    """A schema with the types in lower case, as JSON Schema has them; without recursion."""
    root = [schema]
    todo: list[tuple[Any, Any]] = [(root, 0)]
    while todo:
        holder, key = todo.pop()
        if isinstance(holder[key], list):
            holder[key] = list(holder[key])
            todo += [(holder[key], at) for at in range(len(holder[key]))]
        elif isinstance(holder[key], dict):
            schema = holder[key] = dict(holder[key])
            if isinstance(schema.get("type"), str):
                schema["type"] = schema["type"].lower()
            todo += [(schema, name) for name in _SCHEMAS if name in schema]
            for name in _SCHEMAS_BY_NAME:
                if isinstance(schema.get(name), dict):
                    schema[name] = dict(schema[name])
                    todo += [(schema[name], each) for each in schema[name]]
    return root[0]
