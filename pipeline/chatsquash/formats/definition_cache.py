"""Definitions of tools that many requests repeat: one object for each, of which everything is made once."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec, TypeVar

from chatsquash.core import jsonio
from chatsquash.core.model import Json

P = ParamSpec("P")
T = TypeVar("T")

_MOST = 1 << 18
"""Bytes of all definitions that are remembered, as they are when many requests have the same ones."""


class _Definitions:
    """Those that are remembered, until the process ends."""

    def __init__(self) -> None:
        self.by_content = dict[bytes, Json]()
        self.ids = set[int]()
        """Their ids, and those of what was made of them."""
        self.free_bytes = _MOST

    def add(self, content: bytes, tool: Json) -> None:
        """Remember a definition if there is space for it."""
        if len(content) <= self.free_bytes:
            self.free_bytes -= len(content)
            self.by_content[content] = tool
            self.ids.add(id(tool))


_definitions = _Definitions()


def share(tools: Json) -> Json:
    """Definitions with those that came before as the same objects, which nobody may change."""
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
    """A function that runs once for each definition that is shared, and each time for any other."""
    results = dict[tuple[int, ...], T]()

    @wraps(make)
    def remembered(*parts: P.args, **none: P.kwargs) -> T:
        key = tuple(map(id, parts))
        if key in results:
            return results[key]
        result = make(*parts, **none)
        if _definitions.ids.issuperset(key):
            results[key] = result
            if isinstance(result, dict):
                _definitions.ids.add(id(result))
        return result

    return remembered
