"""``python -m tests.fuzz``: damaged logs for a time, or a fixed number of them; what fails is kept in the corpus."""

from __future__ import annotations

import os
import sys
import time
import traceback
from concurrent.futures import ProcessPoolExecutor
from hashlib import sha256
from pathlib import Path
from random import SystemRandom

import click
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

from tests import strategies
from tests.fuzz.growing import calm, growing
from tests.fuzz.hold import hold
from tests.fuzz.mutate import damaged, mutated

CORPUS = Path(__file__).parent / "corpus"
LOT = 250


@click.command()
@click.option("--seconds", type=float, help="How long, with new seeds: half structure, half damage.")
@click.option("--count", type=int, help="How many, from seed 0 on: the same in every run.")
@click.option("--seed", type=int, help="This one alone.")
def main(seconds: float | None, count: int | None, seed: int | None) -> None:
    """Hold damaged logs to the naive reader and to the accounting; exits with 1 where one does not hold."""
    started = time.monotonic()
    if seed is not None:
        tried, failed = lot(range(seed, seed + 1))
    else:
        tried, failed = by_count(count) if count else by_time(started + (seconds or 60))
    click.echo(f"{tried:,} logs in {time.monotonic() - started:.0f} s, {failed} failed")
    sys.exit(failed > 0)


def by_count(count: int) -> tuple[int, int]:
    """So many seeds, on all cores."""
    lots = [range(start, min(start + LOT, count)) for start in range(0, count, LOT)]
    with ProcessPoolExecutor() as pool:
        return added(pool.map(lot, lots))


def by_time(until: float) -> tuple[int, int]:
    """New seeds, and structures of hypothesis' making, until the time is over."""
    done = []
    first = SystemRandom().randrange(10**6, 10**12)
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        while time.monotonic() < until:
            work = [pool.submit(lot, range(first, first + LOT)), pool.submit(structures, first, LOT)]
            done += [each.result() for each in work]
            first += LOT
    return added(done)


def added(lots) -> tuple[int, int]:
    tried, failed = zip(*lots, strict=True)
    return sum(tried), sum(failed)


def lot(seeds: range) -> tuple[int, int]:
    """How many logs were tried, and how many of them failed."""
    logs = [(make(seed), f"{make.__name__} seed {seed}") for seed in seeds for make in (damaged, growing, calm)]
    return len(logs), sum(not holds(data, what) for data, what in logs)


def structures(seed: int, count: int) -> tuple[int, int]:
    """The same, of logs that hypothesis makes, and damaged ones of these."""
    tried = failed = 0

    @seeded(seed)
    @settings(
        max_examples=count, deadline=None, database=None, phases=[Phase.generate], suppress_health_check=HealthCheck
    )
    @given(strategies.logs(), st.integers(0, 2**32), st.integers(0, 3))
    def run(data, chance, times):
        nonlocal tried, failed
        tried += 1
        failed += not holds(mutated(data, chance, times), f"a structure of {seed}")

    run()
    return tried, failed


def holds(data: bytes, what: str) -> bool:
    """Whether a log holds; one that does not is kept in the corpus, where the tests find it."""
    try:
        hold(data)
    except Exception:
        kept = CORPUS / f"{sha256(data).hexdigest()[:12]}.jsonl"
        kept.write_bytes(data)
        click.echo(f"{what} does not hold, kept as {kept}\n{traceback.format_exc(limit=-3)}", err=True)
        return False
    return True


if __name__ == "__main__":
    main()
