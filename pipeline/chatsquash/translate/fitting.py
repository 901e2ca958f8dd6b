"""Names of tools and ids of calls as a service takes them, consistently in definitions, calls and results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import count

from msgspec.structs import replace

from chatsquash.core.blocks import Block, Call, Result, Turn
from chatsquash.core.model import Tool
from chatsquash.formats.calls import definition
from chatsquash.formats.service import NameRule, Service
from chatsquash.formats.values import string
from chatsquash.formats.writing import OpenCallNames

_UNKNOWN = "unknown"
"""The name of a tool that was logged without one."""


class Fitting:
    """Gives tools and calls names and ids that a service takes, each its own, and results those of their calls."""

    def __init__(self, service: Service, turns: list[Turn], tools: list[Tool], fitted: Counter[str]) -> None:
        blocks = [block for turn in turns for block in turn.blocks]
        names = [name for tool in tools if (name := string(definition(tool), "name"))]
        names += [block.name or "" for block in blocks if type(block) is Call]
        names += [block.name for block in blocks if type(block) is Result and block.name]
        self._names = _assign(names, service.names)
        self._ids = service.ids
        self._taken = _NamesInUse(block.id for block in blocks if isinstance(block, Call | Result))
        self._waiting = OpenCallNames()
        """Knows the ids that calls have now, by those that they had."""
        self._used = set[str]()
        self._fitted = fitted
        self._lists_properties = service.requires_properties
        fitted["names of tools"] += sum(name != own for name, own in self._names.items())

    def tools(self, tools: list[Tool]) -> list[Tool]:
        """The definitions with names of their own; of several with one name the first."""
        by_name = dict[str, Tool]()
        for tool in tools:
            if isinstance(tool, dict) and (name := string(definition(tool), "name")):
                self._fitted["definitions of one name left out"] += name in by_name
                by_name.setdefault(name, self._tool(tool, name))
        return list(by_name.values())

    def _tool(self, tool: Tool, name: str) -> Tool:
        holder = next((of for of in ("function", "custom") if of in tool), None)
        own = {**definition(tool), "name": self._names.get(name, name)}
        if self._lists_properties and isinstance(own.get("parameters"), dict):
            own["parameters"] = {"type": "object", "properties": {}, **own["parameters"]}
        return own if holder is None else {**tool, holder: own}

    def turn(self, turn: Turn) -> Turn:
        """A turn with the names and ids of its calls or results."""
        ids = [self._id(block.id) if type(block) is Call else "" for block in turn.blocks]
        self._waiting.add((each.id, own) for each, own in zip(turn.blocks, ids, strict=True) if type(each) is Call)
        return replace(turn, blocks=tuple(map(self._block, turn.blocks, ids)))

    def _block(self, block: Block, own: str) -> Block:
        """A call with an id of its own, and its name; a result with those of its call."""
        if not isinstance(block, Call | Result):
            return block
        name = block.name
        if type(block) is Result:
            waiting = self._waiting.take(block.id)
            own = block.id if waiting is None else waiting
        if type(block) is Call or name:  # a result needs none
            name = self._names.get(name or "", name)
        return block if (own, name) == (block.id, block.name) else replace(block, id=own, name=name, made_up=False)

    def _id(self, logged: str) -> str:
        """An id that no call before has."""
        wanted = self._ids.fit(logged) if self._ids else logged
        own = wanted
        if wanted in self._used or (wanted != logged and wanted in self._taken):
            longest = self._ids.max_length if self._ids else len(wanted) + 20
            own = self._taken.free(wanted, longest)
        self._used.add(own)
        self._taken.add(own)
        self._fitted["ids of calls"] += own != logged
        return own


def _assign(names: Iterable[str], allowed: NameRule | None) -> dict[str, str]:
    """What each name becomes; those that are allowed stay, others become such that are nobody else's."""
    known = dict.fromkeys(names)
    if allowed is None:
        return {}
    fitting = {name: name for name in known if name and allowed.fit(name) == name}
    taken = _NamesInUse(fitting)
    for name in known:
        if name not in fitting:
            fitting[name] = taken.free(allowed.fit(name or _UNKNOWN), allowed.max_length)
            taken.add(fitting[name])
    return fitting


class _NamesInUse(set[str]):
    """Names that are taken; none of them is given up."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__(names)
        self._next = dict[tuple[str, int], int]()
        """The number to try next, by what stands before it and its digits: those below are taken."""

    def free(self, wanted: str, longest: int) -> str:
        """The first name like this that is not taken, and is not too long."""
        if (name := wanted[:longest]) not in self:
            return name
        for digits in count(1):
            stem, end = f"{wanted[: longest - digits - 1]}_", 10**digits
            number = self._next.get((stem, digits), max(end // 10, 2))
            while number < end and f"{stem}{number}" in self:
                number += 1
            self._next[stem, digits] = number
            if number < end:
                return f"{stem}{number}"
        raise AssertionError
