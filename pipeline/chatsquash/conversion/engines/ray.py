"""A Ray cluster: each shard is a task there; what is divided, converted and merged is what shards without it are."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from chatsquash.conversion.engines import EngineReport, Where, _cluster, _node
from chatsquash.conversion.engines._node import Run, ShardDone
from chatsquash.conversion.progress import Watch
from chatsquash.conversion.shards import listing as listings
from chatsquash.conversion.shards import place_in
from chatsquash.conversion.shards.divide import DivisionReport, divide_by_size
from chatsquash.conversion.shards.merge import merge
from chatsquash.conversion.shards.place import Shard
from chatsquash.core import errors
from chatsquash.core.errors import ChatsquashError, UsageError
from chatsquash.core.options import Options
from chatsquash.core.overview import Headline, Overview, Row
from chatsquash.core.text import escape, pluralize, printable, throughput
from chatsquash.dataset.manifest import RecordsMade
from chatsquash.dataset.store import place_of

MAKES_KEY = False
_SAMPLES = 8
"""Logs that each node looks for before it converts any."""
_ATTEMPTS = 8
"""Times that Ray begins a task anew whose worker or node is gone."""
_AHEAD = 2
"""Tasks for each core of the cluster that are under way or wait there."""
_ANSWER = 180.0
"""Seconds in which a node has to answer, which may have to start a process for that."""
_LOOK = 2.0
"""Seconds between two looks at the cluster."""
_LONGEST = 200
"""Characters that are shown of what Ray says."""
_ENDING = 10.0
"""Seconds that tasks have to end in when they are cancelled."""


@dataclass
class Unmerged:
    """What all shards gave, where no dataset is written of it."""

    output: str
    shards: int
    complete: bool
    records_made: dict[str, Any]
    size: int
    seconds: float

    def overview(self) -> Overview:
        """What was converted, and the next command."""
        made = self.records_made
        converted = f"{pluralize(made['count'], 'record')} converted in {pluralize(self.shards, 'shard')}"
        rows = [
            Row("time", None, (throughput(self.size, self.seconds),)),
            Row("checksum", None, (made["xxh3_128_sum"],)),
        ]
        return Overview((Headline((converted,)),), (*rows,), Headline((f"next: chatsquash merge {self.output}",)))

    def as_json(self) -> dict[str, object]:
        """The same as JSON values."""
        return {"shards": self.shards, "seconds": round(self.seconds, 3), "records_made": self.records_made}


def convert(logs: Sequence[str], output: str, options: Options, where: Where, watch: Watch) -> EngineReport:
    """As ``Engine`` has it; what an earlier run of the same logs and options converted is not converted anew."""
    started = time.monotonic()
    if options.has_key and options.anonymize_key is None:
        hint = "name the one key that all nodes use with --anonymize-key-file"
        raise UsageError(f"--engine ray: e-mail addresses are replaced, so it needs a key; {hint}")
    _cluster.refuse_missing()
    divided = divide_by_size(logs, output, options)
    out = place_of(output)
    run = _run(out.absolute() if isinstance(out, Path) else out, divided, options)
    with _cluster.connect(where.address, options.workers) as ray:
        Trial(ray, run).all()
        tasks = Tasks(ray, run, divided.size, watch)
        tasks.all()
    if where.merge:
        watch.begin()
        return merge(out, watch.observer, started, run.key)
    made = tasks.made.as_json()
    seconds = time.monotonic() - started
    return Unmerged(printable(output), run.shards, tasks.complete, made, divided.size, seconds)


def _run(out: Path | str, divided: DivisionReport, options: Options) -> Run:
    """What all tasks are given; of the listing no more than that is kept here."""
    place = place_in(out)
    try:
        listing = listings.read(place)
        first = range(1, min(divided.shards, _SAMPLES) + 1)
        jobs = [listings.jobs(place, listing, Shard(number, divided.shards)) for number in first]
        sample = [job for each in jobs for job in islice(each, _SAMPLES // len(jobs))]
        samples = _node.visible_logs(listing, [job.pieces[0][0] if job.pieces else job.path for job in sample])
    finally:
        place.close()
    key = options.anonymize_key if options.has_key else None
    return Run(
        secrets.token_hex(8), out, divided.shards, listing.digest, samples, options.full, key, _node.ray_version()
    )


class Trial:
    """What every node does before the first task: it says what runs there, writes a file, and looks for logs."""

    def __init__(self, ray: Any, run: Run) -> None:
        self._ray, self._run = ray, run

    def all(self) -> None:
        """Raise ``ChatsquashError`` for the first node with which something is wrong."""
        place, nodes = self._run.place, _cluster.alive(self._ray)
        try:
            answers = [(node, self._ask(node["NodeID"])) for node in nodes]
            for node, answer in answers:
                self._refuse(node, self._answer(node, answer))
        finally:
            for node in nodes:
                place.remove(self._run.trial(node["NodeID"]))
            place.close()

    def _ask(self, node: str) -> Any:
        affinity = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, soft=False)
        look = self._ray.remote(num_cpus=0, max_retries=1, scheduling_strategy=affinity)(_node.look)
        return look.remote(self._run, node)

    def _answer(self, node: dict[str, Any], answer: Any) -> Any:
        name = node["NodeManagerAddress"]
        try:
            return self._ray.get(answer, timeout=_ANSWER)
        except self._ray.exceptions.GetTimeoutError:
            raise ChatsquashError(f"{name}: does not answer; see whether it runs, with: ray status") from None
        except (self._ray.exceptions.RayError, RuntimeError) as problem:
            hint = "install the same as here, or see what ends its workers"
            raise ChatsquashError(f"{name}: chatsquash does not run there ({_line(problem)}); {hint}") from None

    def _refuse(self, node: dict[str, Any], answer: Any) -> None:
        if not isinstance(answer, str):
            raise _error(answer)
        place = self._run.place
        try:
            written = place.read(self._run.trial(node["NodeID"])).decode()
        except OSError:
            written = ""
        if written != answer:
            hint = "--engine ray needs an OUT that every node sees: one path, or a store"
            raise ChatsquashError(
                f"{node['NodeManagerHostname']}: what it wrote to {self._run.out} is not here; {hint}"
            )


class Tasks:
    """A task for each shard, some of them under way; only counts of what they gave are kept."""

    def __init__(self, ray: Any, run: Run, size: int, watch: Watch) -> None:
        self._ray, self._run, self._size, self._watch = ray, run, size, watch
        self._task = ray.remote(num_cpus=1, max_retries=_ATTEMPTS, scheduling_strategy="SPREAD")(_node.convert)
        self._head = _cluster.Head(ray)
        self._under_way: dict[Any, int] = {}
        self._done = 0
        self._nodes = self._most = 0
        self._looked = float("-inf")
        self.made = RecordsMade()
        self.complete = True

    def all(self) -> None:
        """Convert all shards; raises what stops a run, after all tasks were cancelled."""
        waiting = iter(range(1, self._run.shards + 1))
        try:
            while self._fill(waiting):
                ready, _ = self._ray.wait(list(self._under_way), num_returns=1, timeout=_LOOK)
                for each in ready:
                    self._take(self._under_way.pop(each), each)
                self._tell(0)
        except BaseException as problem:
            self._cancel()
            problem.add_note("the shards that are converted are kept, and the same command goes on with the others")
            raise

    def _fill(self, waiting: Iterator[int]) -> int:
        """Give the cluster as many tasks as it may have; how many it has."""
        if time.monotonic() - self._looked >= _LOOK and self._head.answers():
            self._looked = time.monotonic()
            self._nodes = len(_cluster.alive(self._ray))
            self._most = max(_AHEAD * int(self._ray.cluster_resources().get("CPU", 1)), _AHEAD)
        for number in islice(waiting, max(self._most - len(self._under_way), 0)):
            self._under_way[self._task.remote(self._run, number)] = number
        return len(self._under_way)

    def _take(self, number: int, answer: Any) -> None:
        shard = Shard(number, self._run.shards)
        try:
            done: ShardDone | _node.Problem = self._ray.get(answer)
        except self._ray.exceptions.RayError as problem:
            hint = "see what ends the workers there"
            raise ChatsquashError(f"shard {shard}: its task failed ({_line(problem)}); {hint}") from None
        if "kind" in done:  # what no shard has
            raise _error(done)  # type: ignore[arg-type]
        self.made.add_counts(done["records_made"])
        self.complete = self.complete and done["complete"]
        self._done += 1
        self._tell(done["size"])

    def _tell(self, size: int) -> None:
        self._watch.note(f"{self._done}/{pluralize(self._run.shards, 'shard')}, {pluralize(self._nodes, 'node')}")
        self._watch.observe(size, self._size)

    def _cancel(self) -> None:
        """End all tasks, at first so that they clear up behind themselves."""
        left = list(self._under_way)
        try:
            for force in (False, True):
                for each in left:
                    self._ray.cancel(each, force=force)
                _, left = self._ray.wait(left, num_returns=len(left), timeout=_ENDING) if left else ([], [])
        except Exception:  # noqa: BLE001, S110 - a cluster that is gone has no tasks
            pass


def _error(problem: _node.Problem) -> ChatsquashError:
    """What a node says that stops a run, as the exception that it was there."""
    kind: type[ChatsquashError] = getattr(errors, problem["kind"], ChatsquashError)
    return kind(problem["text"])


def _line(problem: BaseException) -> str:
    """What an exception of Ray comes to: the last line of a traceback on a node, the first of what Ray says."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()] or [type(problem).__name__]
    return escape(lines[-1 if "Traceback" in lines[0] or "ray::" in lines[0] else 0][:_LONGEST])
