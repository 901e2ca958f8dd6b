"""What the model says of this machine, beside what it takes: a node is a process that converts with one worker."""

from __future__ import annotations

import math
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import NamedTuple

from bench.cluster import HOUR, MB, Given, simulate
from bench.commands import Bench, Fresh, Run, measured, taken
from bench.generate import PROFILES, generate
from bench.rates import Rates, busy, commands, quietest

NODES = (1, 2)
SHARDS = 8
SETS: dict[str, dict[str, int]] = {
    "standard": {"standard": 2_000},
    "tiny": {"tiny": 40_000},
    "a mixture": {"standard": 600, "real": 400, "hostile": 300, "worst": 200, "anthropic": 300, "tiny": 3_000},
}
"""Sessions of each shape; most of them are in none of the logs that the rates were measured of."""
_LOCAL = Given(
    cores=1, network=math.inf, fetch=math.inf, requests=math.inf, wait=0, page=0, boot=0, place=0, spread=0, slow=0,
    fails=0, lost=0,
)  # fmt: skip
"""One slot a machine, logs in the page cache, and nothing that goes wrong."""


@dataclass(frozen=True)
class Compared:
    """A run that was simulated, then made."""

    logs: str
    size: int
    count: int
    """Logs."""
    run: str
    nodes: int
    predicted: float
    """Seconds."""
    measured: float
    others: float
    """Cores that others used meanwhile."""

    @property
    def error(self) -> float:
        """What was predicted too much, as a share of what was measured."""
        return self.predicted / self.measured - 1


def compare(data: Path, rates: Rates) -> list[Compared]:
    """Simulate and make runs over folders of some GB, each of which is removed behind its runs."""
    found = []
    for name, sessions in SETS.items():
        logs = _logs(sessions, data)
        sizes = {shape: _sizes(logs / shape / "logs") for shape in sessions}
        for nodes in NODES:
            found += _compared(Bench(data, [], 1, quick=False), name, Plan(logs, sizes, nodes), rates)
        shutil.rmtree(logs)
    return found


class Plan(NamedTuple):
    """A run to be predicted and made."""

    logs: Path
    sizes: Mapping[str, tuple[int, int]]
    """Bytes and files of each shape."""
    nodes: int


def _logs(sessions: Mapping[str, int], data: Path) -> Path:
    """The folder with the logs of a set, of each shape in a folder below it."""
    home = data / "compared"
    for shape, count in sessions.items():
        generate(shape, replace(PROFILES[shape], sessions=count), home)
    return home


def _compared(bench: Bench, name: str, plan: Plan, rates: Rates) -> Iterator[Compared]:
    """One run with so many workers, and the same in shards with so many processes."""
    size, count = (sum(each[at] for each in plan.sizes.values()) for at in (0, 1))
    given = local(rates, plan.sizes)
    # Workers take logs, and start once; what becomes of the records is a part of the rate.
    workers = replace(given, shard=given.log, start=0, boot=given.start, divide=0, join=0, copy=math.inf)
    shards = replace(given, shard=size / MB / SHARDS)
    for run, of, take in (("convert", workers, _convert), ("shards", shards, _shards)):
        predicted = simulate(of, size, plan.nodes).hours * HOUR
        took = quietest(partial(take, bench, plan))
        print(f"{name}, {run}, {plan.nodes}: {predicted:.2f} s, measured {took['seconds']:.2f} s", flush=True)
        yield Compared(name, size, count, run, plan.nodes, predicted, took["seconds"], busy(took))


def _convert(bench: Bench, plan: Plan) -> Run:
    return measured(bench, [bench.convert(plan.logs, "--workers", str(plan.nodes))])


def _shards(bench: Bench, plan: Plan) -> Run:
    """The three steps of a run, one after the other."""
    with Fresh(bench.out):
        steps = [taken(bench, [command]) for command in commands(bench, plan.logs, SHARDS, plan.nodes)]
    seconds = sum(step["seconds"] for step in steps)
    return {"seconds": seconds, "others": sum(busy(step) * step["seconds"] for step in steps) / seconds}


def _sizes(logs: Path) -> tuple[int, int]:
    files = list(logs.rglob("*.jsonl"))
    return sum(path.stat().st_size for path in files), len(files)


def local(rates: Rates, sizes: Mapping[str, tuple[int, int]]) -> Given:
    """What the model is given of logs of some shapes on this machine."""
    whole = sum(size for size, _ in sizes.values())
    shapes = {name: rates.shapes[name] for name in sizes}
    seconds = sum(size / shapes[name].speed(rates.start) for name, (size, _) in sizes.items())
    records = sum(size * shapes[name].records / shapes[name].size for name, (size, _) in sizes.items())
    return replace(
        _LOCAL,
        core=whole / seconds / MB,
        log=whole / MB / sum(count for _, count in sizes.values()),
        records=records / whole,
        start=rates.start,
        divide=rates.divide.cpu,
        join=rates.join.cpu,
        copy=rates.copy / MB,
    )
