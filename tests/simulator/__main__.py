"""``python -m tests.simulator``: play seeded sessions, convert them, and hold what comes out to the truth."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

import click

from tests.simulator import play as simulated
from tests.simulator.behaviours import behaviours
from tests.simulator.conversion import possible, scored, scores, write
from tests.simulator.days import DAYS, play_day
from tests.simulator.score import DAY_GOALS, GOALS, HARD_GOALS, NOTHING, Score, table

LOT = 25


@click.command()
@click.option("--count", type=click.IntRange(1), default=2000, show_default=True, help="How many seeds, from 0 on.")
@click.option("--hard", is_flag=True, help="Mix in what is hard to tell apart.")
@click.option("--only", multiple=True, metavar="NAME", help="Play this behaviour or group alone; may be repeated.")
@click.option(
    "--each", is_flag=True, help="Play every behaviour alone, or beside what it shows in, COUNT seeds of each."
)
@click.option("--day", type=click.Choice(list(DAYS)), help="Play whole days of this agent, each also without ids.")
@click.option("--seed", type=int, help="This one alone.")
@click.option(
    "--write", "folder", type=click.Path(path_type=Path), help="Only write the logs of --seed to this folder."
)
@click.option("--restored-loss", is_flag=True, help="Convert with --restored-loss 1.")
@click.option("--misses", type=click.IntRange(0), default=10, show_default=True, help="How many misses to show.")
def main(
    count: int,
    hard: bool,
    only: tuple[str, ...],
    each: bool,
    day: str | None,
    seed: int | None,
    folder: Path | None,
    restored_loss: bool,
    misses: int,
) -> None:
    """Exits with 1 where a goal is missed, with 2 where this version cannot be held to it."""
    if folder:
        write(play_day(day, seed or 0) if day else simulated(seed or 0, hard, only), folder)
        return
    if not possible():
        raise click.UsageError("this version has not all options to which the goals belong")
    goals = HARD_GOALS if hard else GOALS
    play = partial(_lot, hard=hard, restored_loss=restored_loss)
    if each:
        alone = ((name, _all(play, range(count), (name, *found.beside))) for name, found in behaviours().items())
        missed = [name for name, score in alone if _tell(score, goals, misses, name)]
        click.echo(f"missed alone: {', '.join(missed) or 'none'}")
        sys.exit(bool(missed))
    if day:
        seeds = range(count) if seed is None else range(seed, seed + 1)
        score = scored(play_day(day, each, ids=ids) for each in seeds for ids in (True, False))
        click.echo(table(score, DAY_GOALS))
        sys.exit(_tell(score, DAY_GOALS, misses, day))
    started = time.monotonic()
    score = play(range(seed, seed + 1), only) if seed is not None else _all(play, range(count), only)
    click.echo(table(score, goals))
    failed = _tell(score, goals, misses, "all")
    click.echo(f"{sum(score.of.values()):,} facts in {time.monotonic() - started:.0f} s")
    sys.exit(failed)


def _lot(seeds: range, only: tuple[str, ...], *, hard: bool, restored_loss: bool) -> Score:
    return scores(seeds, hard=hard, only=only, restored_loss=restored_loss)


def _all(play: partial[Score], seeds: range, only: tuple[str, ...]) -> Score:
    """The seeds on all cores."""
    lots = [seeds[start : start + LOT] for start in range(0, len(seeds), LOT)]
    total = NOTHING
    with ProcessPoolExecutor() as pool:
        for score in pool.map(play, lots, [only] * len(lots)):
            total = total.plus(score)
    return total


def _tell(score: Score, goals: dict[str, float], misses: int, name: str) -> bool:
    """Say which goals are missed, with the first misses."""
    failed = score.failed(goals)
    click.echo(f"{name}: {'; '.join(failed) or 'all goals are reached'}")
    for miss in score.misses[:misses]:
        click.echo(f"  {miss}")
    return bool(failed)


if __name__ == "__main__":
    main()
