"""Lines in the order of their times, as packed numbers."""

from __future__ import annotations

from array import array
from collections.abc import Iterable

_FARTHEST = (1 << 63) - 1
UNKNOWN = -_FARTHEST - 1
"""What stands for a number that is not known."""


def packed(at: int | None) -> int:
    """A time as far as it fits into 64 bits."""
    return UNKNOWN if at is None else max(-_FARTHEST, min(at, _FARTHEST))


def carried(numbers: array[int], otherwise: int = 0) -> array[int]:
    """Numbers of which each unknown one is that before it, and those at the beginning are the first known one."""
    last = next((number for number in numbers if number != UNKNOWN), otherwise)
    found = array("q")
    for number in numbers:
        last = last if number == UNKNOWN else number
        found.append(last)
    return found


def behind(times: Iterable[int]) -> int:
    """How many times stand behind later ones."""
    count, latest = 0, UNKNOWN
    for at in times:
        count += at < latest
        latest = max(at, latest)
    return count
