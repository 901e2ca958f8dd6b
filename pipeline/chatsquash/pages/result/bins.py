"""Days and sizes put into as few bars as a chart has room for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from datetime import date
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import polars as pl

MOST = 31
"""Bars of a chart over time."""
_SHOWN = 4
"""Periods without days in a row that are shown each."""
_SINGLE = 12
"""Values next to each other that have a bar each."""
_SHARES = 10


class Period(NamedTuple):
    """A unit of time: days of one have the same number, and its neighbours have those before and behind."""

    name: str
    of: Callable[[str], int]
    label: Callable[[int], str]
    known: tuple[int, ...] = ()
    """Those that have days, in order."""

    @property
    def gap(self) -> int | None:
        """The last of the first ones that are left out, for an example; ``None`` where all have room."""
        return next((last for last in self._gaps() if last is not None), None)

    def _gaps(self) -> Iterator[int | None]:
        """Before each but the first, the last that is left out; ``None`` where none is."""
        for before, at in pairwise(self.known):
            yield at - 1 if at - before - 1 > _SHOWN else None

    def axis(self) -> Iterator[tuple[int, str]]:
        """All of them with their labels, also those without days; many such in a row are one, called by its last."""
        yield from ((at, self.label(at)) for at in self.known[:1])
        for (before, at), gap in zip(pairwise(self.known), self._gaps(), strict=True):
            if gap is None:
                yield from ((each, self.label(each)) for each in range(before + 1, at))
            else:
                yield gap, f"… {self.label(gap)}"
            yield at, self.label(at)


def _week(day: str) -> int:
    """Which week it is; the first day of all was a Monday."""
    return (date.fromisoformat(day).toordinal() - 1) // 7


_UNITS = (
    Period("day", lambda day: date.fromisoformat(day).toordinal(), lambda at: date.fromordinal(at).isoformat()),
    Period("week", _week, lambda at: date.fromordinal(max(1, at * 7 + 1)).isoformat()),
    Period("month", lambda day: int(day[:4]) * 12 + int(day[5:7]) - 1, lambda at: f"{at // 12:04}-{at % 12 + 1:02}"),
    Period("year", lambda day: int(day[:4]), lambda at: f"{at:04}"),
    Period("decade", lambda day: int(day[:3]), lambda at: f"{at:03}0s"),
    Period("century", lambda day: int(day[:2]), lambda at: f"{at:02}00s"),
)


def periods(days: Iterable[str]) -> Period:
    """The period of days that gives no more bars than a chart has room for."""
    known = set(days)
    for unit in _UNITS:
        found = unit._replace(known=tuple(sorted({unit.of(day) for day in known})))
        if len([*found.axis()]) <= MOST:
            break
    return found


def days(times: pl.Series) -> list[str]:
    """The days of times that are told as dates."""
    return [day[:10] for day in times.drop_nulls().to_list() if is_day(day[:10])]


def is_day(day: str) -> bool:
    """Whether a text is a date."""
    try:
        date.fromisoformat(day)
    except ValueError:
        return False
    return len(day) == 10


def sizes(values: Iterable[int]) -> list[tuple[str, int]]:
    """How many there are of each value; where these are many, from 1 to below 2, 2 to below 5, 5 to below 10 and so on.

    Empty ends are left out.
    """
    known = Counter(values)
    if not known:
        return []
    if max(known) - min(known) < _SINGLE:
        return [(f"{value:,}", known[value]) for value in range(min(known), max(known) + 1)]
    counts = Counter[int]()
    for value, count in known.items():
        counts[_step(value)] += count
    return [(_named(at), counts[at]) for at in range(min(counts), max(counts) + 1)]


def shares(values: Iterable[int], most: int) -> list[tuple[str, int]]:
    """How many values there are in each tenth of ``most``, and above it."""
    counts = Counter(_SHARES if value > most else max(0, -(-value * _SHARES // most) - 1) for value in values)
    named = [f"{10 * at}-{10 * at + 10} %" for at in range(_SHARES)]
    return [*((name, counts[at]) for at, name in enumerate(named)), ("over", counts[_SHARES])]


def _step(value: int) -> int:
    """Which of 0, 1, 2, 5, 10, 20, 50 and so on is the last that is no larger, by its place."""
    at = 0
    while _edge(at + 1) <= value:
        at += 1
    return at


def _edge(at: int) -> int:
    return 0 if at == 0 else (1, 2, 5)[(at - 1) % 3] * 10 ** ((at - 1) // 3)


def _named(at: int) -> str:
    low, high = _edge(at), _edge(at + 1) - 1
    if low == high:
        return str(low)
    return f"{low}-{high}" if high < 1000 else f"{_short(low)}-{_short(high + 1)}"


def _short(value: int) -> str:
    for unit, many in (("G", 10**9), ("M", 10**6), ("k", 10**3)):
        if value >= many:
            return f"{value // many}{unit}" if value % many == 0 else f"{value / many:g}{unit}"
    return str(value)
