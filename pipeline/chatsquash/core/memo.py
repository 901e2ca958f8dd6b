"""What was worked out last, for values that come again and again as the same object."""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import Generic, TypeVar

A = TypeVar("A")
B = TypeVar("B")

_MOST = 128
"""Items of lists that are remembered."""


class Last(Generic[A, B]):
    """A function that remembers its last argument, by identity, and what it gave for it.

    Neighbouring sessions mostly have the same tools; these are read once and stay one object, so that whatever follows
    from them is worked out once, too.  The argument must not change and so must not the result.
    """

    def __init__(self, work: Callable[[A], B]) -> None:
        self._work = work
        self._known: tuple[A, B] | None = None

    def __call__(self, argument: A) -> B:
        """The work's result for this very object."""
        if self._known is None or self._known[0] is not argument:
            self._known = (argument, self._work(argument))
        return self._known[1]


class Each(Generic[A, B]):
    """A function of lists that remembers, by identity, what it gave for about a hundred of their items.

    Sessions that have other lists of tools often share the definitions in them, which are read once and stay the same
    objects.  The work is done for all new items of a list at once, in order.  They must not change; those with a result
    that is not ``small`` are not held.
    """

    def __init__(self, work: Callable[[list[A]], list[B]], small: Callable[[B], bool]) -> None:
        self._work = work
        self._small = small
        self._known: dict[int, tuple[A, B]] = {}

    def __call__(self, items: list[A]) -> list[B]:
        """The work's results for these very objects, in order."""
        known = self._known
        if new := [item for item in items if id(item) not in known]:
            learnt = {id(item): (item, result) for item, result in zip(new, self._work(new), strict=True)}
            known = {**known, **learnt}
            kept = known if len(known) <= _MOST else learnt
            self._known = {key: pair for key, pair in kept.items() if self._small(pair[1])}
        return [known[id(item)][1] for item in items]


class Same(Generic[A]):
    """Gives the last list again for one that holds the very same objects, so that it can be told by identity."""

    def __init__(self) -> None:
        self._last: list[A] = []

    def __call__(self, items: list[A]) -> list[A]:
        """The list, or the last one."""
        if len(items) != len(self._last) or not all(map(is_, items, self._last)):
            self._last = items
        return self._last
