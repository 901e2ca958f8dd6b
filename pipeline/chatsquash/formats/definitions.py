"""Tool definitions in all known forms, converted to OpenAI chat function tools, and a cache for them.

Most requests repeat the definitions: equal definitions share an object and a conversion.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

from chatsquash.core import jsonio
from chatsquash.core.chat import SCHEMAS
from chatsquash.core.model import Json, Tool
from chatsquash.formats.values import Object, at, string, without

P = ParamSpec("P")
T = TypeVar("T")

_MOST = 1 << 19
"""The maximum size of the cache, in bytes of JSON."""
_LARGE = _MOST // 8
"""The size from which a definition is not cached."""
_TYPES = (None, "", "function", "custom")


class _Definitions:
    """The cached definitions, which are all freed at once when there is no room for another one."""

    def __init__(self) -> None:
        self.by_content = dict[bytes, Json]()
        self.ids = set[int]()
        """The results of ``id()`` for the definitions and the values derived from them."""
        self.free_bytes = _MOST
        self.results = list[dict[tuple[int, ...], Any]]()
        """The results of each function that runs once per definition."""

    def add(self, content: bytes, tool: Json) -> None:
        """Cache a definition unless it is large."""
        if len(content) > _LARGE:
            return
        if len(content) > self.free_bytes:
            self.clear()
        self.free_bytes -= len(content)
        self.by_content[content] = tool
        self.ids.add(id(tool))

    def clear(self) -> None:
        """Free all definitions, and all results, because another object may get the id of a freed one."""
        for results in self.results:
            results.clear()
        self.by_content.clear()
        self.ids.clear()
        self.free_bytes = _MOST


_definitions = _Definitions()


def share(tools: Json) -> Json:
    """Replace known definitions with the cached objects, which must not be modified."""
    return list(map(_share_one, tools)) if isinstance(tools, list) else tools


def _share_one(tool: Json) -> Json:
    if not isinstance(tool, dict) or id(tool) in _definitions.ids:
        return tool
    content = jsonio.dumps(tool)
    known = _definitions.by_content.get(content)
    if known is None:
        _definitions.add(content, tool)
    return tool if known is None else known


def once_per_definition(make: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function to run only once per cached definition (compared by identity)."""
    results = dict[tuple[int, ...], T]()
    _definitions.results.append(results)

    @wraps(make)
    def wrapper(*parts: P.args, **none: P.kwargs) -> T:
        # The ids of cached definitions are unique until all results are cleared.
        key = tuple(map(id, parts))
        if key in results:
            return results[key]
        result = make(*parts, **none)
        if _definitions.ids.issuperset(key):
            results[key] = result
            if isinstance(result, dict):
                _definitions.ids.add(id(result))
        return result

    return wrapper


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
