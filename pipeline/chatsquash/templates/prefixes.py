"""Which renderings begin with others: the fewest texts that hold all."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Callable, Iterator
from typing import Generic, TypeVar

from msgspec import Struct, field

T = TypeVar("T")


class _Longest(Struct, Generic[T]):
    text: bytes
    item: T

    def __lt__(self, other: _Longest[T]) -> bool:
        return self.text < other.text


class Longest(Struct, Generic[T]):
    """Those of some texts that no other one begins with, each with what it stands for.

    Of texts none of which begins another, those that a text begins with, or that begin with it, are its neighbours in
    order; so each text is compared with two.
    """

    _held: list[_Longest[T]] = field(default_factory=list)

    def add(self, text: bytes, item: T, takes: Callable[[T, T], bool]) -> T | None:
        """Take the next text.

        Where one text begins with another, and ``takes(longer, shorter)`` says that the longer one's item takes that of
        the shorter, only the longer stays.  Returns the item that stays no longer, or cannot: the shorter one's, where
        it is not taken, is given back to stand for itself, whichever of both it is.
        """
        new = _Longest(text, item)
        at = bisect_left(self._held, new)
        if at < len(self._held) and (longer := self._held[at]).text.startswith(text):
            return None if takes(longer.item, item) else item
        shorter = self._held[at - 1] if at and text.startswith(self._held[at - 1].text) else None
        if shorter is None:
            insort(self._held, new)
            return None
        self._held[at - 1] = new
        return None if takes(item, shorter.item) else shorter.item

    def items(self) -> Iterator[T]:
        """What the texts that are left stand for."""
        return (each.item for each in self._held)
