"""Which calls have no result, and which results no call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from chatsquash.core.blocks import Call, Result, Turn


def unlinked(turns: Iterable[Turn]) -> Counter[str]:
    """How many there are of both, in words; services refuse a request with such."""
    waiting: Counter[str] = Counter()
    found: Counter[str] = Counter()
    for turn in turns:
        for block in turn.blocks:
            if type(block) is Call:
                waiting[block.id] += 1
            elif type(block) is Result and waiting[block.id] > 0:
                waiting[block.id] -= 1
            elif type(block) is Result:
                found["results without a call"] += 1
    found["calls without a result"] = waiting.total()
    return +found
