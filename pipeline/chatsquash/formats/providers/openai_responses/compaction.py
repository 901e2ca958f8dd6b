"""Compaction items of OpenAI Responses, with summaries that only the service can decrypt.

The structure is ``ResponseCompactionItem`` in OpenAI's Python SDK.
"""

from __future__ import annotations

from chatsquash.core.model import Json
from chatsquash.formats.base import ShownTurns

SUMMARIES = ("compaction", "compaction_summary")
_TYPES = (*SUMMARIES, "compaction_trigger")
HIDDEN = "the history that a summary replaced"


def is_compaction(item: Json) -> bool:
    """Return whether an item is an encrypted summary or requests a summary."""
    return isinstance(item, dict) and item.get("type") in _TYPES


def is_summary(item: Json) -> bool:
    """Return whether an item is an encrypted summary."""
    return isinstance(item, dict) and item.get("type") in SUMMARIES


def visible_turns(items: list[Json]) -> ShownTurns:
    """Return the items without summaries; replaced items that were sent are included."""
    # Summaries are encrypted, so they cannot be part of records.
    return ShownTurns([item for item in items if not is_compaction(item)], is_hidden=any(map(is_summary, items)))
