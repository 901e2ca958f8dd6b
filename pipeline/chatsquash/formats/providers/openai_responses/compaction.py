"""Compaction items of OpenAI Responses, whose summary only the service can read.

The shapes are those of ``ResponseCompactionItem`` in OpenAI's Python SDK.
"""

from __future__ import annotations

from chatsquash.core.model import Json
from chatsquash.formats.base import ShownTurns

SUMMARIES = ("compaction", "compaction_summary")
_TYPES = (*SUMMARIES, "compaction_trigger")
HIDDEN = "what a summary replaced"


def is_compaction(item: Json) -> bool:
    """Whether an item is an encrypted summary, or requests one."""
    return isinstance(item, dict) and item.get("type") in _TYPES


def is_summary(item: Json) -> bool:
    """Whether an item is an encrypted summary."""
    return isinstance(item, dict) and item.get("type") in SUMMARIES


def visible_turns(items: list[Json]) -> ShownTurns:
    """The items but for summaries, which no record can show; what they replaced stays if the client sent it."""
    return ShownTurns([item for item in items if not is_compaction(item)], is_hidden=any(map(is_summary, items)))
