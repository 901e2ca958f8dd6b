"""Members that a line has as the line before had them: its tools, its system prompt, and both in its response, too.

Markers take their places, so that they are neither split nor parsed again; where these stand in the result proves that.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw, Struct, field
from msgspec.structs import replace

from chatsquash.core.model import Tool
from chatsquash.formats.base import Format
from chatsquash.reading.exchange import Exchange
from chatsquash.reading.members import REFUSED, elements
from chatsquash.reading.repeats import find
from chatsquash.sources.lines import Line

# No log can hold these by chance or by intent: they are drawn anew in every process.
MARKER = b'"' + os.urandom(16).hex().encode()
"""What markers begin with."""
TOOLS, SYSTEM = MARKER + b't"', MARKER + b's"'
"""What stands in the place of tools, and of a system prompt, that are those of the line before."""
Cut = tuple[int, int, bytes]
"""Bytes of a line from one place to another, and the marker that takes their place."""
_SHORT = 64
"""Bytes of a member that are split faster than they are looked for."""


class _Member(NamedTuple):
    """A member of the request of the line before."""

    names: tuple[str, ...]
    """All that it may have, of which the first that is there counts."""
    name: str
    raw: bytes
    marker: bytes

    def cuts(self, line: Line, *places: tuple[int, int], is_echoed: bool) -> list[Cut]:
        """Where the request has it between two places; ``is_echoed``: and the response behind that."""
        key = b'"%b"' % self.name.encode()
        for start, stop in places:
            at = find(line.buffer, key, self.raw, start, stop)
            if at >= 0:
                behind = at + len(self.raw)
                again = find(line.buffer, key, self.raw, behind, line.stop) if is_echoed else -1
                echo = [(again, again + len(self.raw), self.marker)] if again >= 0 else []
                return [(at, behind, self.marker), *echo]
        return []


Violation = tuple[_Member, list[Cut]]
"""A member, and where a line has it."""


class RepeatedMembers(Struct):
    """What the line before had beside its messages."""

    form: Format
    tools: KnownTools
    is_echoed: bool
    """Whether responses may repeat tools and system prompt."""
    _tools: _Member | None = None
    _system: _Member | None = None

    def find(self, line: Line, behind: int, before: int) -> list[Violation]:
        """The members that a line has, too, behind its messages or before them."""
        ahead, later = (line.start, before), (behind, line.stop)
        raw, repeats = self.tools.raw, list[Violation]()
        if self._tools is None or self._tools.raw is not raw:
            self._tools = _Member(self.form.TOOLS, "tools", raw, TOOLS) if raw and isinstance(raw, bytes) else None
        if self._tools and (cuts := self._tools.cuts(line, later, ahead, is_echoed=self.is_echoed)):
            repeats.append((self._tools, cuts))
        if self._system and (cuts := self._system.cuts(line, ahead, later, is_echoed=self.is_echoed)):
            repeats.append((self._system, cuts))
        return repeats

    def learn_system(self, exchange: Exchange) -> None:
        """Take note of the system prompt of a request that is an entry."""
        names = self.form.SYSTEM
        raw = exchange.first(names)
        if raw != SYSTEM:
            name = next((name for name in names if name in exchange.request), "")
            self._system = _Member(names, name, raw, SYSTEM) if len(raw) > _SHORT else None

    def proven(self, exchange: Exchange, repeats: list[Violation]) -> Exchange | None:
        """The exchange in a line without these members; ``None`` where they stood elsewhere."""
        for member, _ in repeats:
            if exchange.first(member.names) != member.marker:
                return None
        echoed = [member for member, cuts in repeats if len(cuts) > 1]
        restored = _restored(exchange, echoed) if echoed else exchange
        self.is_echoed = self.is_echoed and restored is not None
        return restored


def shorten(line: Line, cuts: list[Cut]) -> bytes | None:
    """A line with markers in the places of cuts; ``None`` where these overlap."""
    pieces: list[bytes | bytearray] = []
    at = line.start
    for start, stop, marker in sorted(cuts):
        if start < at:
            return None
        pieces += line.buffer[at:start], marker
        at = stop
    pieces.append(line.buffer[at : line.stop])
    return b"".join(pieces)


def _restored(exchange: Exchange, echoed: list[_Member]) -> Exchange | None:
    """An exchange with its response as it was logged; ``None`` where that has markers elsewhere than these members."""
    reply = exchange.reply
    raw, body = reply.raw, reply.body or {}
    try:
        members = _members(tuple(each.name for each in echoed)).decode(raw)
    except REFUSED:
        return None
    for each in echoed:
        if bytes(getattr(members, each.name)) != each.marker or each.name in body:
            return None
        raw = raw.replace(each.marker, each.raw)
    return replace(exchange, reply=replace(reply, raw=raw))


@cache
def _members(names: tuple[str, ...]) -> msgspec.json.Decoder[Any]:
    return msgspec.json.Decoder(msgspec.defstruct("Members", [(name, Raw, Raw()) for name in names], gc=False))


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
        new = _load_definitions([each for each, tool in zip(spelled, known, strict=True) if not tool], load)
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


def _load_definitions(spelled: list[bytes], load: Callable[[bytes], Any]) -> dict[bytes, Tool]:
    """What definitions are by their raw JSON, parsed in one go where that can be."""
    try:
        return dict(zip(spelled, load(b"[%b]" % b",".join(spelled)), strict=True))
    except (ValueError, RecursionError):  # which one is bad matters, and where in it
        return {each: load(each) for each in spelled}
