"""Days and sizes put into as few bars as a chart has room for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import date, timedelta

MOST = 31
"""Bars of a chart over time."""
_SHARES = 10


def periods(days: Iterable[str]) -> tuple[Callable[[str], str], str]:
    """What gives the period of a day, so that all of them have room, and what it is called."""
    known = set(days)
    for period, name in ((_day, "day"), (_week, "week"), (_month, "month"), (_year, "year")):
        if len({period(day) for day in known}) <= MOST:
            return period, name
    return _decade, "decade"


def _day(day: str) -> str:
    return day


def _week(day: str) -> str:
    """The Monday of a day."""
    at = date.fromisoformat(day)
    return (at - timedelta(at.weekday())).isoformat() if at.toordinal() > at.weekday() else day


def _month(day: str) -> str:
    return day[:7]


def _year(day: str) -> str:
    return day[:4]


def _decade(day: str) -> str:
    return f"{day[:3]}0s"


def is_day(day: str) -> bool:
    """Whether a text is a date."""
    try:
        date.fromisoformat(day)
    except ValueError:
        return False
    return len(day) == 10


def sizes(values: Iterable[int]) -> list[tuple[str, int]]:
    """How many values there are from 1 to below 2, 2 to below 5, 5 to below 10 and so on; without empty ends."""
    counts = Counter(map(_step, values))
    if not counts:
        return []
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
