"""Tool definitions in all known forms, converted to OpenAI chat function tools."""

from __future__ import annotations

from chatsquash.core import jsonio
from chatsquash.core.chat import SCHEMAS
from chatsquash.core.model import Json, Tool
from chatsquash.formats.definition_cache import once_per_definition
from chatsquash.formats.values import Object, at, string, without

_TYPES = (None, "", "function", "custom")


@once_per_definition
def function_tool(value: Json) -> Tool | None:
    """Convert a definition, which may be a JSON string, to a function tool; return ``None`` for provider tools."""
    tool = jsonio.value(value) if isinstance(value, str) else value
    if not isinstance(tool, dict):
        return None
    if isinstance(tool.get("function"), dict):
        return tool if tool.get("type") else {"type": "function", **tool}
    if isinstance(tool.get("custom"), dict):
        return tool
    if isinstance(tool.get("toolSpec"), dict):
        tool = tool["toolSpec"]
    if not string(tool, "name") or tool.get("type") not in _TYPES:
        return None
    schema = next((tool[name] for name in SCHEMAS if isinstance(tool.get(name), dict)), None)
    if schema is None and tool.get("type") == "custom":
        return {"type": "custom", "custom": custom_members(tool)}
    return {"type": "function", "function": _function(tool, schema)}


def _function(tool: Object, schema: Json) -> Object:
    inner = at(schema, "json") if isinstance(schema, dict) and schema.keys() == {"json"} else schema
    function = without(tool, "type", *SCHEMAS)
    return function if inner is None else {**function, "parameters": inner}


def custom_members(tool: Object) -> Object:
    """Return the members of a flat custom tool definition, with a nested grammar as in OpenAI chat."""
    members = without({name: tool.get(name) for name in ("name", "description", "format")})
    form = members.get("format")
    if isinstance(form, dict) and form.get("type") == "grammar" and "grammar" not in form:
        members["format"] = {"type": "grammar", "grammar": {key: form[key] for key in form if key != "type"}}
    return members


def is_definition(value: Json) -> bool:
    """Return whether a value is a tool definition with a name and an argument schema, not a tool's output."""
    tool = jsonio.value(value) if isinstance(value, str) and value[:1] == "{" else value
    if not isinstance(tool, dict):
        return False
    inner = tool.get("function") if tool.get("type") == "function" else tool
    return string(inner, "name") != "" and any(_is_schema(inner.get(name)) for name in SCHEMAS)  # type: ignore[union-attr]


def _is_schema(value: Json) -> bool:
    return isinstance(value, dict) and bool(value.keys() & {"type", "properties", "$schema", "json", "anyOf"})
