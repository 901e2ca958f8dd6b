"""How time grows: with the cores that share the work, and with the length of a session."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median
from typing import NamedTuple

from bench.commands import Bench, Run, in_turns, measured
from bench.generate import PROFILES, generate

CORES = (1, 2, 4, 8, 16)
REQUESTS = (50, 100, 200, 300, 400, 500, 600)
_FEWER = 5  # times as few requests where less of everything is timed


class Division(NamedTuple):
    """Logs in so many folders, each converted by a process that has a core to itself."""

    cores: int
    slowest: float
    """CPU seconds of the folder that takes most."""
    cpu: float
    """CPU seconds of all folders."""


class Length(NamedTuple):
    """What a session of some length takes."""

    requests: int
    added: int
    """Bytes of the last line: all that was added to the session."""
    size: int
    """Bytes of the log, which holds what was added many times."""
    runs: dict[str, list[Run]]


class Line(NamedTuple):
    """A straight line through points, and the share of their differences that it explains."""

    start: float
    slope: float
    explains: float

    def at(self, x: float) -> float:
        """The value of the line at a place."""
        return self.start + self.slope * x


def divided(bench: Bench, logs: Path, rounds: int) -> list[Division]:
    """What the parts take one after the other, all of them pinned to one core, so that none disturbs another."""
    paths = sorted(logs.rglob("*.jsonl"))
    core = sorted(os.sched_getaffinity(0))[-1:] if hasattr(os, "sched_getaffinity") else []
    found = []
    for cores in CORES:
        filled = [part for part in parts(paths, cores) if part]
        folders = [_linked(bench.data / "parts" / f"{cores}-{n}", part) for n, part in enumerate(filled)]
        commands = [bench.convert(folder, "--workers", "1") for folder in folders]
        runs = [[measured(bench, [command], core) for _ in range(rounds)] for command in commands]
        took = [median(run["cpu"] for run in each) for each in runs]
        found.append(Division(cores, max(took), sum(took)))
    shutil.rmtree(bench.data / "parts")
    return found


def parts(paths: Sequence[Path], count: int) -> list[list[Path]]:
    """Files in so many parts of about as many bytes: the largest first, each to the part that has least."""
    sizes = [0] * count
    chosen: list[list[Path]] = [[] for _ in range(count)]
    for path in sorted(paths, key=lambda path: (-path.stat().st_size, path)):
        least = sizes.index(min(sizes))
        chosen[least].append(path)
        sizes[least] += path.stat().st_size
    return chosen


def _linked(folder: Path, paths: Sequence[Path]) -> Path:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for number, path in enumerate(paths):
        (folder / f"{number:05}-{path.name}").hardlink_to(path)
    return folder


def lengths(bench: Bench, rounds: int) -> list[Length]:
    """What one session takes that grows, and what reading it alone takes, for sessions of some lengths."""
    found = []
    for requests in REQUESTS:
        chosen = replace(PROFILES["long"], sessions=1, requests=requests // (_FEWER if bench.quick else 1))
        logs = generate(f"length{requests}", chosen, bench.data)
        (path,) = logs.rglob("*.jsonl")
        variants = {"one": [bench.convert(logs, "--workers", "1")], "wc": [[str(shutil.which("wc")), "-l", str(path)]]}
        runs = in_turns(bench, bench.with_versions(variants, {"one"}), rounds)
        found.append(Length(chosen.requests, _last_line(path), path.stat().st_size, runs))
    return found


def _last_line(path: Path) -> int:
    with path.open("rb") as file:
        return max(map(len, file))


def line(xs: Sequence[float], ys: Sequence[float]) -> Line:
    """The straight line that is nearest to points, by least squares."""
    x, y = fmean(xs), fmean(ys)
    spread = sum((each - x) ** 2 for each in xs)
    slope = sum((a - x) * (b - y) for a, b in zip(xs, ys, strict=True)) / spread
    found = Line(y - slope * x, slope, 1.0)
    off = sum((b - found.at(a)) ** 2 for a, b in zip(xs, ys, strict=True))
    whole = sum((b - y) ** 2 for b in ys)
    return found._replace(explains=1 - off / whole if whole else 1.0)


def beyond_reading(of: Sequence[Length], variant: str = "one") -> tuple[list[float], list[float]]:
    """For each length, the MB that were added and the CPU seconds beyond those of reading the log with ``wc``."""
    took = [{name: median(run["cpu"] for run in length.runs[name]) for name in (variant, "wc")} for length in of]
    return [length.added / 1e6 for length in of], [each[variant] - each["wc"] for each in took]
