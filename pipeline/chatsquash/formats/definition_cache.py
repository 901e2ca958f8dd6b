"""A cache for tool definitions, which most requests repeat: equal definitions share an object and a conversion."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from chatsquash.core import jsonio
from chatsquash.core.model import Json

P = ParamSpec("P")
T = TypeVar("T")

_MOST = 1 << 18
"""The maximum size of the cache, in bytes of JSON."""


class _Definitions:
    """The cached definitions, which are never freed."""

    def __init__(self) -> None:
        self.by_content = dict[bytes, Json]()
        self.ids = set[int]()
        """The results of ``id()`` for the definitions and the values derived from them."""
        self.free_bytes = _MOST

    def add(self, content: bytes, tool: Json) -> None:
        """Cache a definition if there is room for it."""
        if len(content) <= self.free_bytes:
            self.free_bytes -= len(content)
            self.by_content[content] = tool
            self.ids.add(id(tool))


_definitions = _Definitions()


def share(tools: Json) -> Json:
    """Replace known definitions with the cached objects, which must not be modified."""
    return list(map(_share_one, tools)) if isinstance(tools, list) else tools


def _share_one(tool: Json) -> Json:
    if not isinstance(tool, dict):
        return tool
    content = jsonio.dumps(tool)
    known = _definitions.by_content.get(content)
    if known is None:
        _definitions.add(content, tool)
    return tool if known is None else known


def once_per_definition(make: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function to run only once per cached definition (compared by identity)."""
    results = dict[tuple[int, ...], T]()

    @wraps(make)
    def wrapper(*parts: P.args, **none: P.kwargs) -> T:
        # Cached definitions are never freed, so their ids stay unique.
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
