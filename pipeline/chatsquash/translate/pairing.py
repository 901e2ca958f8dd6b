"""Which of a run became which of another: of turns and blocks before and after."""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import chain, pairwise, zip_longest
from typing import Any

import msgspec

from chatsquash.core import jsonio
from chatsquash.core.blocks import PROMPTS, Block, Call, HostedCall, Result, Turn

Pair = tuple[int | None, int | None, bool]
"""The places of something before and after, ``None`` where it is not, and whether it stands elsewhere now."""
_Met = tuple[int, int]


def of_turns(before: Sequence[Turn], after: Sequence[Turn]) -> Iterator[Pair]:
    """The pairs of turns; by their places where the same speak in the same order."""
    if list(map(_place, before)) == list(map(_place, after)):
        return ((at, at, False) for at in range(len(before)))
    return _pair(before, after, (_said, _links, _speaker), _said)


def of_blocks(before: Sequence[Block], after: Sequence[Block]) -> Iterator[Pair]:
    """The pairs of blocks; by their places where all are of the same kinds."""
    if list(map(type, before)) == list(map(type, after)):
        return ((at, at, False) for at in range(len(before)))
    return _pair(before, after, (_said, _identity, type), _mark)


def _said(value: Turn | Block) -> Hashable:
    """All that a turn or a block says, but for what only a provider knows."""
    said = msgspec.to_builtins(value)
    for part in (said, *said.get("blocks", ())):
        part.pop("native", None)
    return jsonio.dumps(said)


def _links(turn: Turn) -> Hashable:
    """What a turn is in a conversation: who speaks, which calls it makes, which ones it answers."""
    return _speaker(turn), tuple(block.id for block in turn.blocks if isinstance(block, Call | Result))


def _speaker(turn: Turn) -> Hashable:
    """Who speaks; developers say what the system says."""
    return "system" if turn.role in PROMPTS else turn.role


def _place(turn: Turn) -> Hashable:
    """Who speaks, and whether he instructs, for which a format may have a place of its own."""
    return _speaker(turn), turn.instructions


_IDENTITIES = ("data", "url", "file_id", "text", "title")
"""What tells a block without an id from others of its kind, the first of these that it has."""


def _identity(block: Block) -> Hashable:
    own = block.id if isinstance(block, Call | Result | HostedCall) else ""
    return type(block), own or next((value for name in _IDENTITIES if (value := getattr(block, name, ""))), "")


def _mark(block: Block) -> Hashable:
    """What tells a block from all others, whatever a format added to it."""
    known = (value for name in ("text", "id", "data", "url", "file_id") if (value := getattr(block, name, "")))
    return type(block), next(known, "") or _said(block)


def _pair(
    before: Sequence[Any],
    after: Sequence[Any],
    keys: tuple[Callable[[Any], Hashable], ...],
    mark: Callable[[Any], Hashable],
) -> Iterator[Pair]:
    """The pairs by keys, each of what those before it leave, and then by place.

    Before the last key they are paired by a mark, wherever they are.
    """
    met: list[_Met] = [(-1, -1), (len(before), len(after))]
    *first, last = keys
    for key in first:
        met = _match(met, list(map(key, before)), list(map(key, after)))
    moved = _moves(_gaps(met), list(map(mark, before)), list(map(mark, after)))
    taken = set(moved.values())
    left = [object() if at in moved else last(each) for at, each in enumerate(before)]
    right = [object() if at in taken else last(each) for at, each in enumerate(after)]
    met = _match(met, left, right)
    for (lefts, rights), end in zip(_gaps(met), met[1:], strict=True):
        others = zip_longest([a for a in lefts if a not in moved], [b for b in rights if b not in taken])
        pairs = [*((a, b, False) for a, b in others), *((a, moved[a], True) for a in lefts if a in moved)]
        yield from sorted(pairs, key=lambda pair: len(before) if pair[0] is None else pair[0])
        if end != met[-1]:
            yield (*end, False)


def _gaps(met: list[_Met]) -> list[tuple[range, range]]:
    return [(range(a + 1, c), range(b + 1, d)) for (a, b), (c, d) in pairwise(met)]


def _match(met: list[_Met], left: Sequence[Hashable], right: Sequence[Hashable]) -> list[_Met]:
    """The pairs, with those between them that say the same."""
    return [place for ends in pairwise(met) for place in (ends[0], *_matches(left, right, *ends))] + met[-1:]


def _moves(gaps: list[tuple[range, range]], left: list[Hashable], right: list[Hashable]) -> dict[int, int]:
    """The places of what stands elsewhere now, before and after."""
    lone = defaultdict[Hashable, deque[int]](deque)
    for b in chain.from_iterable(rights for _, rights in gaps):
        lone[right[b]].append(b)
    alone = chain.from_iterable(lefts for lefts, _ in gaps) if lone else ()
    return {a: places.popleft() for a in alone if (places := lone.get(left[a]))}


def _matches(left: Sequence[Hashable], right: Sequence[Hashable], start: _Met, end: _Met) -> Iterator[_Met]:
    """Where two runs say the same, in order; the next place is the one that passes over the least of both."""
    i, j = start[0] + 1, start[1] + 1
    places: dict[Hashable, list[int]] = {}
    for at in range(j, end[1]):
        places.setdefault(right[at], []).append(at)
    while places and (place := _nearest(left, places, range(i, end[0]), j)) is not None:
        yield place
        i, j = place[0] + 1, place[1] + 1


def _nearest(left: Sequence[Hashable], places: dict[Hashable, list[int]], here: range, j: int) -> _Met | None:
    """The next of them from ``here`` and ``j`` on; what is looked at is passed over, so repetitions cost nothing.

    Of two that pass over as much it is the one that does so on both sides, else on the left: things go more than they
    come.
    """
    nearest: _Met | None = None
    least = (0, 0)
    for at in here:
        passed = at - here.start
        if nearest and passed > least[0]:
            break
        same = places.get(left[at], [])
        next_one = bisect_left(same, j)
        if next_one < len(same):
            other = same[next_one] - j
            cost = passed + other, abs(passed - other)
            if not nearest or cost <= least:
                nearest, least = (at, same[next_one]), cost
    return nearest
