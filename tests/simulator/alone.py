"""Each behaviour played alone, with session ids and in a file that has none."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tests.simulator.behaviours import behaviours
from tests.simulator.conversion import scores
from tests.simulator.score import ALONE, FAULTS, Score

WITHOUT_IDS = ", without ids"
_LAYOUT = "=shared-file"
_NAMELESS = frozenset({"first-regenerated", "warm-up-before"})
"""What a log without ids does not decide, and what is therefore not played there."""


def plays() -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each behaviour by the name of its play, with the behaviours that are played."""
    for name, each in behaviours().items():
        yield name, (f"={name}", *each.beside)
        if each.when != "layout" and not each.hard and name not in _NAMELESS:
            yield name + WITHOUT_IDS, (f"={name}", *each.beside, _LAYOUT)


def reached(score: Score) -> float:
    """Return the least share of a play's goals."""
    return min(score.share(name) for name in ALONE)


def is_reached(score: Score) -> bool:
    """Return whether a play reaches its goals, without any fault."""
    return not any(map(score.faults, FAULTS)) and all(score.share(name) >= goal for name, goal in ALONE.items())


def scored(played: tuple[str, ...], seeds: Iterable[int]) -> Score:
    """Return the score of a play."""
    return scores(seeds, only=played)
