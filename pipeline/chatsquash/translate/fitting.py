"""Adapts names of tools and ids of calls to a service, consistently in definitions, calls and results."""

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
"""The name for a tool that was logged without one."""


class NameMapping:
    """Maps names of tools and ids of calls to unique ones that a service accepts; results get those of their calls."""

    def __init__(self, service: Service, turns: list[Turn], tools: list[Tool], adaptations: Counter[str]) -> None:
        blocks = [block for turn in turns for block in turn.blocks]
        names = [name for tool in tools if (name := string(definition(tool), "name"))]
        names += [block.name or "" for block in blocks if type(block) is Call]
        names += [block.name for block in blocks if type(block) is Result and block.name]
        self._names = _assign(names, service.names)
        self._ids = service.ids
        self._reserved_ids = _NamesInUse(block.id for block in blocks if isinstance(block, Call | Result))
        self._new_ids = OpenCallNames()
        """The new ids of calls that await a result, by their original ids."""
        self._assigned_ids = set[str]()
        self._adaptations = adaptations
        self._lists_properties = service.requires_properties
        adaptations["tool names"] += sum(name != own for name, own in self._names.items())

    def tools(self, tools: list[Tool]) -> list[Tool]:
        """Return the definitions with their new names, but only the first of those with the same name."""
        by_name = dict[str, Tool]()
        for tool in tools:
            if isinstance(tool, dict) and (name := string(definition(tool), "name")):
                self._adaptations["duplicate definitions dropped"] += name in by_name
                by_name.setdefault(name, self._tool(tool, name))
        return list(by_name.values())

    def _tool(self, tool: Tool, name: str) -> Tool:
        wrapper = next((of for of in ("function", "custom") if of in tool), None)
        fields = {**definition(tool), "name": self._names.get(name, name)}
        if self._lists_properties and isinstance(fields.get("parameters"), dict):
            fields["parameters"] = {"type": "object", "properties": {}, **fields["parameters"]}
        return fields if wrapper is None else {**tool, wrapper: fields}

    def turn(self, turn: Turn) -> Turn:
        """Return a turn with the new names and ids of its calls or results."""
        ids = [self._id(block.id) if type(block) is Call else "" for block in turn.blocks]
        self._new_ids.add((each.id, own) for each, own in zip(turn.blocks, ids, strict=True) if type(each) is Call)
        return replace(turn, blocks=tuple(map(self._block, turn.blocks, ids)))

    def _block(self, block: Block, ident: str) -> Block:
        """Return a call with its new id and name, or a result with those of its call."""
        if not isinstance(block, Call | Result):
            return block
        name = block.name
        if type(block) is Result:
            new_id = self._new_ids.take(block.id)
            ident = block.id if new_id is None else new_id
        if type(block) is Call or name:  # results may have no name
            name = self._names.get(name or "", name)
        return block if (ident, name) == (block.id, block.name) else replace(block, id=ident, name=name, made_up=False)

    def _id(self, original: str) -> str:
        """Return an id that no earlier call has."""
        candidate = self._ids.fit(original) if self._ids else original
        unique = candidate
        if candidate in self._assigned_ids or (candidate != original and candidate in self._reserved_ids):
            max_length = self._ids.max_length if self._ids else len(candidate) + 20
            unique = self._reserved_ids.first_free(candidate, max_length)
        self._assigned_ids.add(unique)
        self._reserved_ids.add(unique)
        self._adaptations["call ids"] += unique != original
        return unique


def _assign(names: Iterable[str], allowed: NameRule | None) -> dict[str, str]:
    """Map each name to an accepted one: accepted names stay as they are, others become unique."""
    known = dict.fromkeys(names)
    if allowed is None:
        return {}
    assignments = {name: name for name in known if name and allowed.fit(name) == name}
    in_use = _NamesInUse(assignments)
    for name in known:
        if name not in assignments:
            assignments[name] = in_use.first_free(allowed.fit(name or _UNKNOWN), allowed.max_length)
            in_use.add(assignments[name])
    return assignments


class _NamesInUse(set[str]):
    """Names in use, which are never released."""

    def __init__(self, names: Iterable[str]) -> None:
        super().__init__(names)
        self._next = dict[tuple[str, int], int]()
        """The next number to try, by stem and number of digits; all smaller ones are in use.

        Without it, many calls with the same id would take quadratic time.
        """

    def first_free(self, candidate: str, max_length: int) -> str:
        """Return the first unused name with the same beginning that is short enough."""
        if (name := candidate[:max_length]) not in self:
            return name
        for digits in count(1):
            stem, end = f"{candidate[: max_length - digits - 1]}_", 10**digits
            number = self._next.get((stem, digits), max(end // 10, 2))
            while number < end and f"{stem}{number}" in self:
                number += 1
            self._next[stem, digits] = number
            if number < end:
                return f"{stem}{number}"
        raise AssertionError
