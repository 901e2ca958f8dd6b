"""What stands in a file and is no part of its conversations, by name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from chatsquash.formats.agents.claude_code.rows import Row, Rows
from chatsquash.formats.values import Object, at, string, without

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
    for row in held.tree.values():
        found.update(_members(row.value) if _is_read(row, taken) else [_name(row.value)])
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


def _members(value: Object) -> Iterator[str]:
    """The members of a line that are not read."""
    of = string(value, "type")
    for name in without(value, *_LINE, *_READ.get(of, ())):
        yield f"{of}.{name}"
    for name, read in _INSIDE.items():
        held = value.get(name)
        for inner in without(held, *read) if isinstance(held, dict) else ():
            yield f"{of}.{name}.{inner}"
