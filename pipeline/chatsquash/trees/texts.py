"""How alike texts are: runs of words that they share, and lines."""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Callable
from itertools import accumulate, takewhile
from typing import NamedTuple

from xxhash import xxh3_64_intdigest

RUN = 5
"""Words that are compared at once."""
_SKETCH = 16
"""Runs that stand for all of a text: those with the smallest numbers, which are a fair sample."""
_ALIKE = 0.6
"""The share of a text that makes it another one, changed a little."""
_WORD = re.compile(r"\w+")
_MOST = 20_000
"""Words of a text that are looked at."""
_LETTERS = 16
"""Characters of a word and what stands behind it, at most on average."""


class Sketch(NamedTuple):
    """Some of the runs of words of a text, which stand for all of them."""

    runs: array[int]
    all: int
    """How many runs the text has."""


def runs(text: str) -> set[int]:
    """The numbers of all runs of words of a text, whatever stands between words; of a shorter one of all its words."""
    words = _WORD.findall(text.lower(), 0, _MOST * _LETTERS)[:_MOST]
    said = " ".join(words)
    joined = said.encode("utf-8", "surrogatepass")
    if len(words) <= RUN:
        return {xxh3_64_intdigest(joined)} if words else set()
    lengths = words if len(said) == len(joined) else [word.encode("utf-8", "surrogatepass") for word in words]
    begins = [*accumulate(map(len, lengths), lambda begin, length: begin + length + 1, initial=0)]
    return {xxh3_64_intdigest(joined[at : end - 1]) for at, end in zip(begins, begins[RUN:], strict=False)}


def sketch(text: str) -> Sketch:
    """The sketch of a text."""
    found = runs(text)
    return Sketch(array("Q", sorted(found)[:_SKETCH]), len(found))


def is_long(text: str) -> bool:
    """Whether a text is long enough to be told from another one by chance."""
    return len(text) >= 24 or len(text.split(maxsplit=8)) > 7


def share_ends(one: str, other: str) -> float:
    """The share of the longer text that both begin and end with."""
    longest = max(len(one), len(other))
    if not longest:
        return 1.0
    shortest = min(len(one), len(other))
    begin = _most(shortest, lambda count: one[:count] == other[:count])
    end = _most(shortest - begin, lambda count: one[len(one) - count :] == other[len(other) - count :])
    return (begin + end) / longest


def _most(most: int, fits: Callable[[int], bool]) -> int:
    """The largest count that fits, found by halving, where all below one that fits do."""
    low, high = 0, most
    while low < high:
        middle = (low + high + 1) // 2
        if fits(middle):
            low = middle
        else:
            high = middle - 1
    return low


def _begin_or_end_alike(one: str, other: str) -> bool:
    """Whether both begin, or end, with most of the longer one."""
    count = math.ceil(_ALIKE * max(len(one), len(other)))
    if not 0 < count <= min(len(one), len(other)):
        return False
    return other.startswith(one[:count]) or other.endswith(one[-count:])


def is_similar_prompt(one: str, other: str) -> bool:
    """Whether one system prompt may be the other, changed a little: a clock, a line about the session."""
    if one == other:
        return True
    if not one or not other:
        return False
    if _begin_or_end_alike(one, other) or share_ends(one, other) >= _ALIKE:
        return True
    lines = set(other.splitlines())
    kept = sum(len(line) for line in one.splitlines() if line in lines)
    return 2 * kept >= max(len(one), len(other))


def is_rewritten(one: str, other: str, *, loosely: bool = False) -> bool:
    """Whether a text is another one with lines put before or behind it, or changed in its middle.

    ``loosely``: also where both begin or end with one paragraph, and differ in the others.
    """
    ours, theirs = one.strip().splitlines(), other.strip().splitlines()
    short, long = sorted((ours, theirs), key=len)
    if not short:
        return True
    if long[: len(short)] == short or long[-len(short) :] == short:
        return True
    if (
        loosely
        and len(short) > 1
        and (_paragraph(ours, 1) == _paragraph(theirs, 1) or _paragraph(ours, -1) == _paragraph(theirs, -1))
    ):
        return True
    return len(short) > 1 and share_ends(one, other) >= _ALIKE


def _paragraph(lines: list[str], step: int) -> list[str]:
    """The first lines, or the last ones, up to an empty one."""
    return [*takewhile(str.strip, lines[::step])]
