"""Caches by identity, for values that often occur as the same object."""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import Generic, TypeVar

A = TypeVar("A")
B = TypeVar("B")

_MOST = 128
"""The maximum number of objects to cache."""


class Last(Generic[A, B]):
    """A function that caches its last result by the identity of the argument.

    Consecutive sessions usually have the same tools. These are read once and stay the same object, so everything
    derived from them is also computed once. Neither the argument nor the result may be changed.
    """

    def __init__(self, work: Callable[[A], B]) -> None:
        self._work = work
        self._known: tuple[A, B] | None = None

    def __call__(self, argument: A) -> B:
        """Return the result for this object."""
        known = self._known
        if known is not None and known[0] is argument:
            return known[1]
        result = self._work(argument)
        self._known = argument, result
        return result

    def remember(self, argument: A, result: B) -> None:
        """Cache a result that is known without the function."""
        self._known = (argument, result)


class Recent(Generic[A, B]):
    """A function that caches its results for about a hundred objects by identity.

    Neither the arguments nor the results may be changed.
    """

    def __init__(self, work: Callable[[A], B]) -> None:
        self._work = work
        self._known: dict[int, tuple[A, B]] = {}

    def __call__(self, argument: A) -> B:
        """Return the result for this object."""
        known = self._known.get(id(argument))
        if known is None:
            if len(self._known) == _MOST:
                self._known.clear()
            known = self._known[id(argument)] = (argument, self._work(argument))
        return known[1]


class Each(Generic[A, B]):
    """A function of lists that caches its results for about a hundred items by identity.

    Sessions with different lists of tools often share definitions, which are read once and stay the same objects. The
    function is called once for all new items of a list, in order. Items must not be changed; those whose result is not
    ``small`` are not cached.
    """

    def __init__(self, work: Callable[[list[A]], list[B]], small: Callable[[B], bool]) -> None:
        self._work = work
        self._small = small
        self._known: dict[int, tuple[A, B]] = {}

    def __call__(self, items: list[A]) -> list[B]:
        """Return the results for these objects, in order."""
        known = self._known
        new = [item for item in items if id(item) not in known]
        if not new:
            return [known[id(item)][1] for item in items]
        fresh = {id(item): (item, result) for item, result in zip(new, self._work(new), strict=True)}
        results = [(fresh.get(id(item)) or known[id(item)])[1] for item in items]
        if len(known) + len(fresh) > _MOST:
            known.clear()
        known.update([each for each in fresh.items() if self._small(each[1][1])])
        return results


class Same(Generic[A]):
    """Replaces a list with the previous one if both contain the same objects, to allow comparison by identity."""

    def __init__(self) -> None:
        self._last: list[A] = []

    def __call__(self, items: list[A]) -> list[A]:
        """Return the list, or the previous one if it contains the same objects."""
        if len(items) != len(self._last) or not all(map(is_, items, self._last)):
            self._last = items
        return self._last
