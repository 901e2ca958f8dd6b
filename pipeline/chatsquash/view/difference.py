"""Diffs of the messages of two requests, and of the lines of two texts, with bounded time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from difflib import Match, SequenceMatcher
from itertools import accumulate
from typing import Literal, NamedTuple

from xxhash import xxh3_64_intdigest

from chatsquash.core import jsonio
from chatsquash.core.model import Message

_MAX_MESSAGES = 4_000
"""Messages that are compared one by one, after removing the common prefix and suffix; longer lists are replaced."""

_WORK = 4_000_000
"""Comparisons of a diff; beyond this, everything is shown as removed and added."""


class DiffStep(NamedTuple):
    """Consecutive messages with the same kind of change."""

    kind: Literal["kept", "added", "removed", "changed"]
    begin: int
    """The index of the first message in the later request, or for removed messages, in the earlier one."""
    before: list[Message]
    now: list[Message]


def steps(before: list[Message], now: list[Message]) -> list[DiffStep]:
    """Return the steps from one request to the other; replacing a message by one of the same role is a change."""
    keys = [[xxh3_64_intdigest(jsonio.dumps(message)) for message in messages] for messages in (before, now)]
    head = _common(keys[0], keys[1])
    tail = _common(keys[0][head:][::-1], keys[1][head:][::-1])
    stops = len(before) - tail, len(now) - tail
    changes = [DiffStep("kept", 0, before[:head], now[:head])] if head else []
    changes += _between(keys, before, now, head, stops)
    changes += [DiffStep("kept", stops[1], before[stops[0] :], now[stops[1] :])] if tail else []
    return changes


def _common(first: list[int], other: list[int]) -> int:
    """Return the length of the common prefix."""
    return next(
        (at for at, (one, two) in enumerate(zip(first, other, strict=False)) if one != two), min(len(first), len(other))
    )


def _between(
    keys: list[list[int]], before: list[Message], now: list[Message], head: int, stops: tuple[int, int]
) -> list[DiffStep]:
    first, other = keys[0][head : stops[0]], keys[1][head : stops[1]]
    if max(len(first), len(other)) > _MAX_MESSAGES:
        return _replacement(before[head : stops[0]], now[head : stops[1]], head, head)
    try:
        opcodes = _Bounded(first, other).get_opcodes()
    except _TooLongError:
        return _replacement(before[head : stops[0]], now[head : stops[1]], head, head)
    changes: list[DiffStep] = []
    for kind, i, j, k, m in opcodes:
        was, is_now = before[head + i : head + j], now[head + k : head + m]
        if kind == "equal":
            changes.append(DiffStep("kept", head + k, was, is_now))
        else:
            changes += _replacement(was, is_now, head + i, head + k)
    return changes


class _TooLongError(Exception):
    """Raised when a comparison takes too long."""


class _Bounded(SequenceMatcher[int]):
    """A matcher with a limit on its work, since repeated messages make the algorithm cubic."""

    def __init__(self, first: list[int], other: list[int]) -> None:
        super().__init__(None, first, other, autojunk=False)
        often = Counter(other)
        self.work = 0
        self._costs = [0, *accumulate(1 + often[key] for key in first)]

    def find_longest_match(self, alo: int = 0, ahi: int | None = None, blo: int = 0, bhi: int | None = None) -> Match:
        """Find the longest match as the base class does; raise ``_TooLongError`` beyond the limit."""
        self.work += self._costs[-1 if ahi is None else ahi] - self._costs[alo]
        if self.work > _WORK:
            raise _TooLongError
        return super().find_longest_match(alo, ahi, blo, bhi)


def line_diff(before: str, now: str) -> list[str]:
    """Return a diff with three lines of context, or all lines as removed and added if comparing takes too long."""
    was, lines = before.split("\n"), now.split("\n")
    keys = [[xxh3_64_intdigest(line.encode("utf-8", "surrogatepass")) for line in each] for each in (was, lines)]
    try:
        groups = list(_Bounded(*keys).get_grouped_opcodes(3))
    except _TooLongError:
        return [*(f"-{line}" for line in was), *(f"+{line}" for line in lines)]
    return [line for group in groups for line in _hunk(group, was, lines)]


def _hunk(group: list[tuple[str, int, int, int, int]], was: list[str], lines: list[str]) -> Iterator[str]:
    if group[0][1]:
        yield "@@ @@"
    for kind, i, j, k, m in group:
        if kind == "equal":
            yield from (f" {line}" for line in was[i:j])
        else:
            yield from (f"-{line}" for line in was[i:j])
            yield from (f"+{line}" for line in lines[k:m])


def _replacement(was: list[Message], now: list[Message], begin: int, place: int) -> list[DiffStep]:
    if len(was) == len(now) and all(old["role"] == new["role"] for old, new in zip(was, now, strict=True)):
        return [_in_place(*both, place + at) for at, both in enumerate(zip(was, now, strict=True))]
    removals = [DiffStep("removed", begin, was, [])] if was else []
    additions = [DiffStep("added", place, [], now)] if now else []
    return [*removals, *additions]


def _in_place(old: Message, new: Message, place: int) -> DiffStep:
    is_same = jsonio.dumps(old) == jsonio.dumps(new)  # which may be where not all were compared
    return DiffStep("kept" if is_same else "changed", place, [old], [new])
