"""Tool definitions that need not be parsed again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct, field

from pipeline.model import Tool
from pipeline.read.slices import elements

NO_TOOLS: list[Tool] = []
"""The tools of a request that has none; always this object."""
_MOST = 512
"""Definitions that are remembered, some megabytes at most where they are of the usual size."""
_LARGE = 1 << 14
"""Bytes of a definition that is not."""


class KnownTools(Struct):
    """The last two tool lists that were read, since some clients alternate; they may outlive a session.

    Single definitions are remembered, too, for lists that differ in a few, or in their order only.
    """

    raw: bytes = b""
    value: list[Tool] = field(default_factory=list)
    older: tuple[bytes, list[Tool]] = (b"", NO_TOOLS)
    single: dict[bytes, Tool] = field(default_factory=dict)

    def learn(self, raw: bytes, load: Callable[[bytes], Any]) -> list[Tool]:
        """The tools in raw JSON: the same objects as before for the same bytes."""
        if raw != self.raw:
            before = (self.raw, self.value)
            self.raw, self.value = self.older if raw == self.older[0] else (raw, self._load(raw, load))
            self.older = before
        return self.value

    def _load(self, raw: bytes, load: Callable[[bytes], Any]) -> Any:
        if raw[:1] != b"[":
            return load(raw)
        return [self._single(tool, load) for tool in elements(raw)]

    def _single(self, raw: bytes, load: Callable[[bytes], Any]) -> Tool:
        known = self.single.get(raw)
        if known is None:
            known = load(raw)
            if len(raw) <= _LARGE:
                if len(self.single) >= _MOST:
                    self.single.clear()
                self.single[raw] = known
        return known
