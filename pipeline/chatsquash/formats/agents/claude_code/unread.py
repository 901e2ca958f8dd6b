"""What stands in a file and is no part of its conversations, by name."""

from __future__ import annotations

from collections import Counter

from chatsquash.formats.agents.claude_code.rows import Row, Rows
from chatsquash.formats.values import Object, at, string

_LINE = (
    *("type", "uuid", "parentUuid", "logicalParentUuid", "sessionId", "timestamp", "isSidechain", "agentId"),
    *("isMeta", "isCompactSummary", "isVisibleInTranscriptOnly", "isApiErrorMessage"),
)
_READ = {
    "user": ("message",),
    "assistant": ("message",),
    "system": ("subtype", "content", "compactMetadata"),
    "attachment": ("attachment",),
    "queue-operation": ("operation", "content", "reason"),
}
"""The members of lines that are read, by their types, beside those that all have."""
_INSIDE = {
    "message": ("role", "content", "id", "type", "model", "usage", "stop_reason"),
    "attachment": ("type", "prompt", "systemPrompt", "tools"),
}
_SHAPES = 1_000
"""Sets of members that are kept in mind."""
_FLAGS = ("isApiErrorMessage", "isVisibleInTranscriptOnly")


def count(held: Rows, taken: set[int]) -> dict[str, int]:
    """How often each is there; ``taken`` are the places of the lines that conversations hold."""
    found: Counter[str] = Counter(_name(value) for _, value in held.others)
    members = _Members(found)
    for row in held.tree.values():
        if _is_read(row, taken):
            members.add(row.value)
        else:
            found[_name(row.value)] += 1
    return dict(sorted(found.items()))


def _is_read(row: Row, taken: set[int]) -> bool:
    if row.turn is not None:
        return row.place in taken
    return row.is_boundary or at(row.value, "attachment", "type") == "prompt_snapshot"


def _name(value: Object) -> str:
    """What a line is."""
    of = string(value, "type") or "line without a type"
    more = [string(value, "subtype") or string(value, "operation") or string(value.get("attachment"), "type")]
    return " ".join([of, *filter(None, more), *(flag for flag in _FLAGS if value.get(flag) is True)])


class _Members:
    """Counts the members of lines that are not read and not null, looked up once for lines with the same members."""

    def __init__(self, found: Counter[str]) -> None:
        self._found = found
        self._shapes: dict[tuple[str, ...], list[tuple[str, str]]] = {}
        """Those of objects that are not read, with the names that they count as, by where that is and all of them."""

    def add(self, value: Object) -> None:
        """Count those of one line."""
        of = string(value, "type")
        self._count(of, value, (*_LINE, *_READ.get(of, ())))
        for name, read in _INSIDE.items():
            if isinstance(held := value.get(name), dict):
                self._count(f"{of}.{name}", held, read)

    def _count(self, where: str, held: Object, read: tuple[str, ...]) -> None:
        shape = (where, *held)
        left = self._shapes.get(shape)
        if left is None:
            left = [(name, f"{where}.{name}") for name in held if name not in read]
            if len(self._shapes) < _SHAPES:
                self._shapes[shape] = left
        for name, counted in left:
            if held[name] is not None:
                self._found[counted] += 1
