"""What the model of ``scale.py`` takes from this machine: rates of a core, a start, reading and copying."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from bench.commands import CHATSQUASH, FINISHED, Bench, Command, Fresh, Run, measured, taken
from bench.generate import PROFILES, generate, profile
from bench.page import machine

SHAPES = tuple(name for name, each in PROFILES.items() if each.repeats == 1 and name != "one")
MB = 1_000_000
_IDLE = 0.1
"""Cores that others may use while a time is taken."""
_TRIES = 4
_PAUSE = 5  # seconds
_COPIED = 1_000 * MB


@dataclass(frozen=True)
class Rate:
    """What the logs of one shape cost a core."""

    size: int
    logs: int
    cpu: float
    """Seconds of a whole run."""
    records: int
    """Bytes of the records."""

    def speed(self, start: float) -> float:
        """Bytes a second, the start of the run aside."""
        return self.size / (self.cpu - start)


@dataclass(frozen=True)
class Step:
    """What a step that is made once takes for each log, its start aside."""

    cpu: float
    memory: float
    """Bytes."""


@dataclass(frozen=True)
class Rates:
    """All that was measured."""

    machine: dict[str, str]
    others: float
    """Cores that others used meanwhile: the median."""
    start: float
    """CPU seconds of a run over one log of two lines."""
    cached: float
    """Bytes a second that ``wc`` reads of logs in the page cache."""
    disk: float
    """Bytes a second that one thread reads of logs that are not there."""
    copy: float
    """Bytes a second of ``copy_file_range``, until they are on the disk."""
    divide: Step
    """``shards``."""
    join: Step
    """``merge``."""
    shapes: dict[str, Rate]


def measure(data: Path, rounds: int) -> Rates:
    """Convert every shape with one worker, read logs and copy bytes."""
    bench = Bench(data, [], rounds, quick=False)
    started = [measured(bench, [bench.convert(logs_of("one", data), "--workers", "1")]) for _ in range(3 * rounds)]
    runs: list[Run] = list(started)
    shapes = {}
    for name in SHAPES:
        print(f"measuring {name} ...", flush=True)
        shapes[name] = _rate(bench, name, runs)
    cached, disk = _reading(bench, logs_of("standard", data), rounds)
    others = median(map(busy, runs))
    start = median(run["cpu"] for run in started)
    divide, join = around(bench, logs_of("tiny", data), min(started, key=lambda run: run["cpu"]))
    return Rates(machine(), others, start, cached, disk, copying(data), divide, join, shapes)


def logs_of(name: str, data: Path) -> Path:
    """The logs of a shape."""
    return generate(name, profile(name, quick=False), data)


def _rate(bench: Bench, name: str, runs: list[Run]) -> Rate:
    logs = logs_of(name, bench.data)
    command = bench.convert(logs, "--workers", "1")
    took = [measured(bench, [command]) for _ in range(bench.rounds)]
    runs += took
    files = list(logs.rglob("*.jsonl"))
    size = sum(path.stat().st_size for path in files)
    return Rate(size, len(files), median(run["cpu"] for run in took), records_of(bench, command))


def around(bench: Bench, logs: Path, started: Run) -> tuple[Step, Step]:
    """What ``shards`` and ``merge`` take."""
    count = sum(1 for _ in logs.rglob("*.jsonl"))
    divide, convert, merge = commands(bench, logs)
    with Fresh(bench.out):
        divided = taken(bench, [divide])
        taken(bench, [convert])
        merged = taken(bench, [merge])
    return _step(divided, started, count), _step(merged, started, count)


def _step(run: Run, started: Run, count: int) -> Step:
    return Step((run["cpu"] - started["cpu"]) / count, max(0, run["peak"] - started["peak"]) / count)


def commands(bench: Bench, logs: Path, shards: int = 8, nodes: int = 1) -> tuple[Command, Command, Command]:
    """The three commands of a run in shards, the second with so many processes that take them in turns."""
    out = str(bench.out / "ours")
    one = [CHATSQUASH, "convert", "--shard", f"{{}}/{shards}", "-o", out, "--workers", "1", "--quiet"]
    each = shlex.join([*one, "--anonymize-key-file", str(bench.data / "key")])
    all_ = f"seq {shards} | xargs -P {nodes} -I {{}} {each} || true"  # what fails is missed by the merge
    divide = [CHATSQUASH, "shards", str(logs), "-o", out, "-n", str(shards)]
    return divide, ["/bin/sh", "-c", all_], [CHATSQUASH, "merge", out]


def records_of(bench: Bench, command: Command) -> int:
    """The bytes of the records that a command writes."""
    with Fresh(bench.out):
        done = subprocess.run([*command, "--quiet"], env=bench.environment(), capture_output=True, check=False)
        if done.returncode not in FINISHED:
            sys.exit(done.stderr.decode())
        return sum(path.stat().st_size for path in bench.out.glob("*/*.jsonl"))


def _reading(bench: Bench, logs: Path, rounds: int) -> tuple[float, float]:
    """Bytes a second of the page cache, and of the disk."""
    files = sorted(logs.rglob("*.jsonl"))
    size = sum(path.stat().st_size for path in files)
    command = [str(shutil.which("find")), str(logs), "-name", "*.jsonl", "-exec", "wc", "-l", "{}", "+"]
    cached = median(measured(bench, [command])["seconds"] for _ in range(rounds))
    return size / cached, size / median(_uncached(files) for _ in range(rounds))


def _uncached(files: list[Path]) -> float:
    """The seconds in which one thread reads files that the page cache was told to drop."""
    os.sync()
    for path in files:
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    began = time.perf_counter()
    for path in files:
        with path.open("rb", buffering=0) as file:
            while file.read(MB):
                pass
    return time.perf_counter() - began


def copying(data: Path) -> float:
    """Bytes a second at which a file becomes part of another."""
    source, target = data / "copied", data / "copy"
    source.write_bytes(os.urandom(MB) * (_COPIED // MB))
    with source.open("rb") as read, target.open("wb") as written:
        os.fsync(read.fileno())
        began = time.perf_counter()
        left = _COPIED
        while left:
            left -= os.copy_file_range(read.fileno(), written.fileno(), left)
        os.fsync(written.fileno())
    took = time.perf_counter() - began
    source.unlink()
    target.unlink()
    return _COPIED / took


def quietest(take: Callable[[], Run]) -> Run:
    """What something takes while nobody else works; where somebody always does, when others had least of the cores."""
    runs = [take()]
    while busy(runs[-1]) > _IDLE and len(runs) < _TRIES:
        time.sleep(_PAUSE)
        runs.append(take())
    return min(runs, key=busy)


def busy(run: Run) -> float:
    """The cores that others used during a run; 0 where the system does not say."""
    return run["others"] or 0.0
