"""Tool lists that need not be parsed again."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from pipeline.model import Tool

NO_TOOLS: list[Tool] = []
"""The tools of a request that has none; always this object."""


@dataclass(slots=True)
class KnownTools:
    """The last two tool lists that were read, since some clients alternate; they may outlive a session."""

    raw: bytes = b""
    value: list[Tool] = field(default_factory=list)
    older: tuple[bytes, list[Tool]] = (b"", NO_TOOLS)

    def learn(self, raw: bytes, load: Callable[[bytes], Any]) -> list[Tool]:
        """The tools in raw JSON: the same object as before for the same bytes."""
        if raw != self.raw:
            before = (self.raw, self.value)
            self.raw, self.value = self.older if raw == self.older[0] else (raw, load(raw))
            self.older = before
        return self.value
