"""Tool definitions that need not be parsed again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msgspec import Struct, field

from chatsquash.core.model import Tool
from chatsquash.reading.members import elements

NO_TOOLS: list[Tool] = []
"""The tools of a request that has none; always this object."""
_MOST = 512
"""Definitions that are remembered, some megabytes at most where they are of the usual size."""
_LARGE = 1 << 14
"""Bytes of a definition that is not."""


Spelled = bytes | list[bytes]
"""A raw list, or its raw elements where these were split with the line."""


class KnownTools(Struct):
    """The last tool list that was read, and single definitions, for lists that differ in a few.

    They may outlive a session.
    """

    hold: Callable[[dict[bytes, Tool]], None] | None = None
    """Raises for definitions that are not to be learnt; each is held once."""
    raw: Spelled = b""
    value: list[Tool] = field(default_factory=list)
    single: dict[bytes, Tool] = field(default_factory=dict)

    def learn(self, raw: Spelled, load: Callable[[bytes], Any]) -> list[Tool]:
        """The tools in raw JSON: the same objects as before for the same bytes."""
        if raw != self.raw:
            self.raw, self.value = raw, self._load(raw, load)
        return self.value

    def _load(self, raw: Spelled, load: Callable[[bytes], Any]) -> Any:
        if isinstance(raw, bytes) and raw[:1] != b"[":
            return load(raw)
        spelled = elements(raw) if isinstance(raw, bytes) else raw
        known = list(map(self.single.get, spelled))
        if all(known):
            return known
        new = _loaded([each for each, tool in zip(spelled, known, strict=True) if not tool], load)
        if self.hold:
            self.hold(new)
        self._remember(new)
        return [tool or new[each] for each, tool in zip(spelled, known, strict=True)]

    def _remember(self, new: dict[bytes, Tool]) -> None:
        for raw, tool in new.items():
            if len(raw) <= _LARGE:
                if len(self.single) >= _MOST:
                    self.single.clear()
                self.single[raw] = tool


def _loaded(spelled: list[bytes], load: Callable[[bytes], Any]) -> dict[bytes, Tool]:
    """What definitions are by their raw JSON, parsed in one go where that can be."""
    try:
        return dict(zip(spelled, load(b"[%b]" % b",".join(spelled)), strict=True))
    except (ValueError, RecursionError):  # which one is bad matters, and where in it
        return {each: load(each) for each in spelled}
