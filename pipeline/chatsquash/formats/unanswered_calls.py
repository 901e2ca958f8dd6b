"""An index of calls without results, for turns with too many calls to search linearly."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from msgspec import Struct

T = TypeVar("T")
Link = tuple[str, str | None]
"""The id of a call and the name of its tool."""


class _Index(Struct, frozen=True):
    """Calls in three concatenated orders: by position, grouped by id, and grouped by name."""

    calls: tuple[Link, ...]
    order: list[int]
    """The number of the call at each place of the concatenated orders."""
    places: list[list[int]]
    """The three places of each call."""
    spans: dict[tuple[int, Any], tuple[int, int]]
    """The range of places for each id (0) or name (1)."""


class OpenCalls(Struct, frozen=True):
    """The open calls among many indexed calls; closing a call clears three bits."""

    index: _Index
    open_bits: int
    """One bit per place, set if the call is open."""

    def __iter__(self) -> Iterator[Link]:
        """Iterate over the open calls in order."""
        return (
            call for call, bit in zip(self.index.calls, reversed(f"{self.open_bits:b}"), strict=False) if bit == "1"
        )

    def __bool__(self) -> bool:
        """Return whether any call is open."""
        return bool(self.open_bits)

    def place(self, member: int, value: str) -> int | None:
        """Return a place of the first open call with an id (``member`` 0) or a name (1)."""
        low, high = self.index.spans.get((member, value), (0, 0))
        bits = self.open_bits >> low & (1 << high - low) - 1
        return low + _lowest(bits) if bits else None

    def first(self) -> int:
        """Return a place of the first open call; at least one must be open."""
        return _lowest(self.open_bits)

    def take(self, place: int) -> tuple[str, OpenCalls]:
        """Return the id of the call at a place, and the remaining open calls."""
        number = self.index.order[place]
        open_bits = self.open_bits
        for each in self.index.places[number]:
            # Each call has a bit in each of the three orders.
            open_bits ^= 1 << each
        return self.index.calls[number][0], OpenCalls(self.index, open_bits)

    def without(self, ids: Iterable[str]) -> OpenCalls:
        """Return the open calls with other ids."""
        remaining = self
        for each in ids:
            while (place := remaining.place(0, each)) is not None:
                _, remaining = remaining.take(place)
        return remaining


def _lowest(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


def index_open_calls(calls: tuple[Link, ...]) -> OpenCalls:
    """Return an index of calls, all of them open."""
    order, spans = list(range(len(calls))), dict[tuple[int, Any], tuple[int, int]]()
    places = [[number] for number in order]
    for member in (0, 1):
        alike = dict[str | None, list[int]]()
        for number, call in enumerate(calls):
            alike.setdefault(call[member], []).append(number)
        for value, numbers in alike.items():
            spans[member, value] = len(order), len(order) + len(numbers)
            for number in numbers:
                places[number].append(len(order))
                order.append(number)
    return OpenCalls(_Index(calls, order, places, spans), (1 << len(order)) - 1)


def append_run(runs: tuple[tuple[T, ...], ...], last: tuple[T, ...]) -> tuple[tuple[T, ...], ...]:
    """Append a run to others, and merge it with the preceding runs that are not longer."""
    # The lengths of the runs strictly decrease, so there are never many runs; merging at least doubles a run.
    while runs and len(runs[-1]) <= len(last):
        runs, last = runs[:-1], runs[-1] + last
    return (*runs, last)
