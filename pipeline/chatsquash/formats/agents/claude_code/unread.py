"""What stands in a file and is no part of its conversations, by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from chatsquash.formats.agents.claude_code.rows import Row, Rows, is_boundary
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
_FLAGS = ("isApiErrorMessage", "isVisibleInTranscriptOnly")


def count(held: Rows, taken: set[int]) -> dict[str, int]:
    """How often each is there; ``taken`` are the places of the lines that conversations hold."""
    found: Counter[str] = Counter(_name(value) for _, value in held.others)
    members = _Members()
    for row in held.tree.values():
        if _is_read(row, taken):
            members.add(row.value)
        else:
            found[_name(row.value)] += 1
    return dict(sorted((found + members.names()).items()))


def _is_read(row: Row, taken: set[int]) -> bool:
    if row.turn is not None:
        return row.place in taken
    return is_boundary(row.value) or at(row.value, "attachment", "type") == "prompt_snapshot"


def _name(value: Object) -> str:
    """What a line is."""
    of = string(value, "type") or "line without a type"
    more = [string(value, "subtype") or string(value, "operation") or string(value.get("attachment"), "type")]
    return " ".join([of, *filter(None, more), *(flag for flag in _FLAGS if value.get(flag) is True)])


class _Members:
    """Counts the members of lines that are not read and not null, for all lines with the same members at once."""

    def __init__(self) -> None:
        self._shapes: Counter[tuple[str, ...]] = Counter()
        """How often each set of members that are not null is there, behind the type of the line and their place."""

    def add(self, value: Object) -> None:
        """Take those of one line."""
        of = string(value, "type")
        self._shapes[of, "", *_said(value)] += 1
        for inner in _INSIDE:
            if isinstance(held := value.get(inner), dict):
                self._shapes[of, inner, *_said(held)] += 1

    def names(self) -> Counter[str]:
        """How often each is there."""
        found: Counter[str] = Counter()
        for (of, inner, *members), count in self._shapes.items():
            where = f"{of}.{inner}" if inner else of
            read = _INSIDE[inner] if inner else (*_LINE, *_READ.get(of, ()))
            found.update({f"{where}.{name}": count for name in members if name not in read})
        return found


def _said(held: Object) -> Iterable[str]:
    """The members that are not null."""
    return [name for name, member in held.items() if member is not None] if None in held.values() else held
