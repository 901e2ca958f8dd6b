"""Logs of consecutive seeds, held with options of all kinds until enough of them were taken."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random

from tests.plain.hold import REFUSING, TAKING, Ways, small_pieces
from tests.plain.logs import calm_log, log

MOST = 12
"""How many logs are made for one that the plain way takes, at most."""
_REFUSED_EVERY = 41


class Lot:
    """Converters by options, which go from log to log as they do in a run."""

    def __init__(self, here: Path):
        self._path = here / "s.jsonl"
        self._taking, self._refusing = [[Ways(options) for options in rows] for rows in (TAKING, REFUSING)]

    def until(self, taken: int, first: int) -> int:
        """Hold logs from a seed on until so many were taken; gives how many were held."""
        left, seed = taken, first
        while left:
            assert seed < first + MOST * taken, f"only {taken - left} of {seed - first} logs were taken"
            left -= self.hold(seed)
            seed += 1
        return seed - first

    def calm(self, count: int, first: int) -> int:
        """Hold so many logs of calm clients from a seed on; gives how many of them what is compiled took."""
        before = self.compiled
        for seed in range(first, first + count):
            self.hold(seed, calm_log)
        return self.compiled - before

    @property
    def compiled(self) -> int:
        """How many logs what is compiled took."""
        return sum(ways.taken for rows in (self._taking, self._refusing) for ways in rows)

    def hold(self, seed: int, log: Callable[[int], bytes] = log) -> bool:
        """Hold the log of a seed; gives whether it was taken."""
        random = Random(f"pieces of {seed}")
        both = self._taking[seed % len(self._taking)]
        if seed % _REFUSED_EVERY == 0:
            both = self._refusing[seed // _REFUSED_EVERY % len(self._refusing)]
        chunk = random.choice([1 << 19, 1 << 19, 64, 1000])
        batch, near = random.choice([1 << 20, 1, 500]), random.choice([1 << 12, 1 << 12, 4])
        try:
            with small_pieces(chunk, batch, near):
                return both.hold(log(seed), self._path)
        except BaseException as problem:
            problem.add_note(
                f"seed {seed}: python -m tests.plain --seed {seed}{' --fast' if log is calm_log else ''} shows it"
            )
            raise
