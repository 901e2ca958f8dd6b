"""Matches the turns and blocks of a conversation before and after it was written and read."""

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
"""The indices of an item before and after, ``None`` if it is missing, and whether it has moved."""
_Match = tuple[int, int]


def pair_turns(before: Sequence[Turn], after: Sequence[Turn]) -> Iterator[Pair]:
    """Match turns, by index if the roles are the same in the same order."""
    if list(map(_position, before)) == list(map(_position, after)):
        return ((at, at, False) for at in range(len(before)))
    return _pair(before, after, (_content, _links_of, _role), _content)


def pair_blocks(before: Sequence[Block], after: Sequence[Block]) -> Iterator[Pair]:
    """Match blocks, by index if their types are the same in the same order."""
    if list(map(type, before)) == list(map(type, after)):
        return ((at, at, False) for at in range(len(before)))
    return _pair(before, after, (_content, _identity, type), _key)


def _content(value: Turn | Block) -> Hashable:
    """Return the content of a turn or a block without provider-specific members."""
    said = msgspec.to_builtins(value)
    for part in (said, *said.get("blocks", ())):
        part.pop("native", None)
    return jsonio.dumps(said)


def _links_of(turn: Turn) -> Hashable:
    """Return the role of a turn and the ids of its calls and results."""
    return _role(turn), tuple(block.id for block in turn.blocks if isinstance(block, Call | Result))


def _role(turn: Turn) -> Hashable:
    """Return the role of a turn, where developer and system are the same."""
    return "system" if turn.role in PROMPTS else turn.role


def _position(turn: Turn) -> Hashable:
    """Return the role of a turn, and whether it has instructions, which some formats store separately."""
    return _role(turn), turn.instructions


_IDENTITIES = ("data", "url", "file_id", "text", "title")
"""Fields that identify a block without an id among those of its type; the first nonempty one counts."""


def _identity(block: Block) -> Hashable:
    own = block.id if isinstance(block, Call | Result | HostedCall) else ""
    return type(block), own or next((value for name in _IDENTITIES if (value := getattr(block, name, ""))), "")


def _key(block: Block) -> Hashable:
    """Return a key for a block that does not change if a format adds fields."""
    known = (value for name in ("text", "id", "data", "url", "file_id") if (value := getattr(block, name, "")))
    return type(block), next(known, "") or _content(block)


def _pair(
    before: Sequence[Any],
    after: Sequence[Any],
    keys: tuple[Callable[[Any], Hashable], ...],
    mark: Callable[[Any], Hashable],
) -> Iterator[Pair]:
    """Match items by one key after another, and the remaining ones by position.

    Each key is applied between the matches of the previous ones.  Before the last key, items with the same mark are
    matched wherever they are; these have moved.
    """
    matches: list[_Match] = [(-1, -1), (len(before), len(after))]
    *first, last = keys
    for key in first:
        matches = _add_matches(matches, list(map(key, before)), list(map(key, after)))
    moves = _moves(_gaps(matches), list(map(mark, before)), list(map(mark, after)))
    targets = set(moves.values())
    left_keys = [object() if at in moves else last(each) for at, each in enumerate(before)]
    right_keys = [object() if at in targets else last(each) for at, each in enumerate(after)]
    matches = _add_matches(matches, left_keys, right_keys)
    for (lefts, rights), end in zip(_gaps(matches), matches[1:], strict=True):
        others = zip_longest([a for a in lefts if a not in moves], [b for b in rights if b not in targets])
        pairs = [*((a, b, False) for a, b in others), *((a, moves[a], True) for a in lefts if a in moves)]
        yield from sorted(pairs, key=lambda pair: len(before) if pair[0] is None else pair[0])
        if end != matches[-1]:
            yield (*end, False)


def _gaps(matches: list[_Match]) -> list[tuple[range, range]]:
    return [(range(a + 1, c), range(b + 1, d)) for (a, b), (c, d) in pairwise(matches)]


def _add_matches(matches: list[_Match], before: Sequence[Hashable], after: Sequence[Hashable]) -> list[_Match]:
    """Return the matches together with those between them whose keys are equal."""
    return [
        place for ends in pairwise(matches) for place in (ends[0], *_matches_between(before, after, *ends))
    ] + matches[-1:]


def _moves(gaps: list[tuple[range, range]], before: list[Hashable], after: list[Hashable]) -> dict[int, int]:
    """Return the indices of moved items: before to after."""
    candidates = defaultdict[Hashable, deque[int]](deque)
    for b in chain.from_iterable(rights for _, rights in gaps):
        candidates[after[b]].append(b)
    unmatched = chain.from_iterable(lefts for lefts, _ in gaps) if candidates else ()
    return {a: places.popleft() for a in unmatched if (places := candidates.get(before[a]))}


def _matches_between(
    before: Sequence[Hashable], after: Sequence[Hashable], start: _Match, end: _Match
) -> Iterator[_Match]:
    """Yield matches with equal keys, in order; each next one skips as few items as possible on both sides."""
    i, j = start[0] + 1, start[1] + 1
    places: dict[Hashable, list[int]] = {}
    for at in range(j, end[1]):
        places.setdefault(after[at], []).append(at)
    while places and (place := _nearest(before, places, range(i, end[0]), j)) is not None:
        yield place
        i, j = place[0] + 1, place[1] + 1


def _nearest(before: Sequence[Hashable], places: dict[Hashable, list[int]], here: range, j: int) -> _Match | None:
    """Return the next match, from the indices ``here`` before and ``j`` after.

    If two matches skip equally many items, the one that skips on both sides is preferred, then the one that skips
    items before, since items are more often lost than added.
    """
    nearest: _Match | None = None
    least = (0, 0)
    for at in here:
        skipped = at - here.start
        if nearest and skipped > least[0]:
            break
        positions = places.get(before[at], [])
        next_one = bisect_left(positions, j)
        if next_one < len(positions):
            other = positions[next_one] - j
            cost = skipped + other, abs(skipped - other)
            if not nearest or cost <= least:
                nearest, least = (at, positions[next_one]), cost
    return nearest
