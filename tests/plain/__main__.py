"""``python -m tests.plain``: hold the plain way to the general path, and tell what share of the bench's logs it takes."""

from __future__ import annotations

import os
import sys
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from bench.generate import PROFILES, generate, profile
from chatsquash import compiled
from chatsquash.log import Log
from chatsquash.run.session import Converter
from tests.plain.hold import USUAL, plain_way
from tests.plain.logs import calm_log, log
from tests.plain.lot import MOST, Lot

LOT = 500
SHARES = {"standard": 0.95, "long": 0.95, "tiny": 0.95, "real": 0.9}
"""What has to be taken of the logs of a profile."""
SKIPPED = ("giant", "giant_rewritten", "standard10", "long10")
"""Profiles that are others' logs again, or too large."""


@click.command()
@click.option("--count", type=int, default=200_000, show_default=True, help="How many logs have to be taken.")
@click.option(
    "--fast", is_flag=True, help="Hold so many logs, such as what is compiled takes, and look at no profiles."
)
@click.option("--seed", type=int, help="This one alone.")
@click.option("--cache", type=click.Path(path_type=Path), help="Where the bench keeps its logs.")
def main(count: int, *, fast: bool, seed: int | None, cache: Path | None) -> None:
    """Exits with 1 where an outcome differs, or where too few of a profile's logs are taken."""
    if fast and not compiled.module():
        raise click.UsageError(f"there is nothing compiled to hold: {compiled.told() or 'it is not installed'}")
    if seed is not None:
        with TemporaryDirectory() as here:
            click.echo("taken" if Lot(Path(here)).hold(seed, calm_log if fast else log) else "not taken")
        return
    failed = 0 if fast else sum(not shared(name, cache) for name in PROFILES if name not in SKIPPED)
    sys.exit(bool(failed + not_held(count, fast=fast)))


def not_held(count: int, *, fast: bool) -> int:
    """How many lots of logs do not hold, when so many logs are taken, or held, on all cores."""
    started = time.monotonic()
    lots = range(0, count, LOT)
    sizes, firsts = [min(LOT, count - start) for start in lots], [start * MOST for start in lots]
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        found = list(pool.map(partial(held, fast=fast), sizes, firsts))
    failed, total = found.count(None), f"{sum(filter(None, found)):,}"
    done = f"{count:,} logs held, {total} taken by {compiled.told()}" if fast else f"{count:,} logs taken of {total}"
    click.echo(f"{done}, in {time.monotonic() - started:.0f} s, {failed} lots of {LOT} failed")
    return failed


def held(count: int, first: int, *, fast: bool) -> int | None:
    """How many logs were held until so many were taken; ``None`` where one does not hold, which is told.

    ``fast``: how many of so many logs of calm clients what is compiled took.
    """
    with TemporaryDirectory() as here:
        try:
            lot = Lot(Path(here))
            return lot.calm(count, first) if fast else lot.until(count, first)
        except Exception:
            click.echo(traceback.format_exc(limit=-3), err=True)
            return None


def shared(name: str, cache: Path | None) -> bool:
    """Tell what share of a profile's logs is taken; gives whether it is enough."""
    with TemporaryDirectory() as here, plain_way() as watched:
        logs = sorted(generate(name, profile(name, quick=True), cache or Path(here)).rglob("*.jsonl"))
        converter = Converter(USUAL)
        for path in logs:
            converter.convert(Log(str(path), path.name, path.name, path.stat().st_size))
        share = watched.taken / len(logs)
    least = SHARES.get(name)
    click.echo(f"{name}: {share:.1%} of {len(logs):,} logs taken{f', at least {least:.0%}' if least else ''}")
    return least is None or share >= least


if __name__ == "__main__":
    main()
