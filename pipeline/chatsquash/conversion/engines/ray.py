"""Runs a conversion on a Ray cluster, with one task per shard; the shards are the same as without Ray."""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from chatsquash.conversion.engines import EngineReport, EngineSettings, _cluster, _node
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
"""Number of logs that each node must be able to access before it converts any."""
_MAX_RETRIES = 8
"""Maximum number of times that Ray restarts a task if its worker or node dies."""
_AHEAD = 2
"""Number of submitted tasks per core of the cluster."""
_CHECK_TIMEOUT = 180.0
"""Timeout of the check of a node, in seconds; the node may have to start a process first."""
_INTERVAL = 2.0
"""Seconds between checks of the cluster."""
_MAX_LINE = 200
"""Maximum number of characters of an error of Ray in a message."""
_CANCEL_TIMEOUT = 10.0
"""Seconds in which cancelled tasks must end."""


@dataclass
class Unmerged:
    """The result of a run with ``--no-merge``."""

    output: str
    shards: int
    complete: bool
    records_made: dict[str, Any]
    size: int
    seconds: float

    def overview(self) -> Overview:
        """Return the counts, and the next command."""
        converted = f"{pluralize(self.records_made['count'], 'record')} converted in {pluralize(self.shards, 'shard')}"
        rows = [
            Row("time", None, (throughput(self.size, self.seconds),)),
            Row("checksum", None, (self.records_made["xxh3_128_sum"],)),
        ]
        return Overview((Headline((converted,)),), (*rows,), Headline((f"next: chatsquash merge {self.output}",)))

    def as_json(self) -> dict[str, object]:
        """Return the report as JSON values."""
        return {"shards": self.shards, "seconds": round(self.seconds, 3), "records_made": self.records_made}


def convert(logs: Sequence[str], output: str, options: Options, settings: EngineSettings, watch: Watch) -> EngineReport:
    """See ``Engine``; shards that an earlier run of the same logs and options converted are skipped."""
    started = time.monotonic()
    if options.has_key and options.anonymize_key is None:
        hint = "pass the key for all nodes with --anonymize-key-file"
        raise UsageError(f"--engine ray: replacing e-mail addresses requires a key; {hint}")
    _cluster.refuse_missing()
    division = divide_by_size(logs, output, options)
    out = place_of(output)
    run = _run(out.absolute() if isinstance(out, Path) else out, division, options)
    with _cluster.connect(settings.address, options.workers) as ray:
        NodeChecks(ray, run).all()
        tasks = Tasks(ray, run, division.size, watch)
        tasks.all()
    if settings.merge:
        watch.begin()
        return merge(out, watch.observer, started, run.key)
    records_made = tasks.records_made.as_json()
    seconds = time.monotonic() - started
    return Unmerged(printable(output), run.shards, tasks.complete, records_made, division.size, seconds)


def _run(out: Path | str, division: DivisionReport, options: Options) -> Run:
    """Return the data for all tasks; the listing itself is not kept in memory."""
    place = place_in(out)
    try:
        listing = listings.read(place)
        first = range(1, min(division.shards, _SAMPLES) + 1)
        jobs = [listings.jobs(place, listing, Shard(number, division.shards)) for number in first]
        sample = [job for each in jobs for job in islice(each, _SAMPLES // len(jobs))]
        samples = _node.visible_logs(listing, [job.pieces[0][0] if job.pieces else job.path for job in sample])
    finally:
        place.close()
    key = options.anonymize_key if options.has_key else None
    return Run(
        secrets.token_hex(8), out, division.shards, listing.digest, samples, options.full, key, _node.ray_version()
    )


class NodeChecks:
    """Checks every node before the first task: its versions, and access to the output and the logs."""

    def __init__(self, ray: Any, run: Run) -> None:
        self._ray, self._run = ray, run

    def all(self) -> None:
        """Raise ``ChatsquashError`` for the first node that fails a check."""
        place, nodes = self._run.place, _cluster.live_nodes(self._ray)
        try:
            answers = [(node, self._submit(node["NodeID"])) for node in nodes]
            for node, answer in answers:
                self._refuse(node, self._answer(node, answer))
        finally:
            for node in nodes:
                place.remove(self._run.trial(node["NodeID"]))
            place.close()

    def _submit(self, node: str) -> Any:
        affinity = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(node, soft=False)
        check = self._ray.remote(num_cpus=0, max_retries=1, scheduling_strategy=affinity)(_node.check)
        return check.remote(self._run, node)

    def _answer(self, node: dict[str, Any], answer: Any) -> Any:
        name = node["NodeManagerAddress"]
        try:
            return self._ray.get(answer, timeout=_CHECK_TIMEOUT)
        except self._ray.exceptions.GetTimeoutError:
            raise ChatsquashError(f"{name}: no response; check the node with: ray status") from None
        except (self._ray.exceptions.RayError, RuntimeError) as problem:
            hint = "install the same build as on this machine, or find out why the workers die"
            raise ChatsquashError(f"{name}: chatsquash cannot run on this node ({_line(problem)}); {hint}") from None

    def _refuse(self, node: dict[str, Any], answer: Any) -> None:
        if not isinstance(answer, str):
            raise _error(answer)
        place = self._run.place
        try:
            content = place.read(self._run.trial(node["NodeID"])).decode()
        except OSError:
            content = ""
        if content != answer:
            hint = "--engine ray requires an OUT that all nodes can access: the same path, or a store"
            host = node["NodeManagerHostname"]
            raise ChatsquashError(f"{host}: files that it writes to {self._run.out} cannot be read here; {hint}")


class Tasks:
    """Runs one task per shard, a few at a time; only the sums of their counts are kept."""

    def __init__(self, ray: Any, run: Run, size: int, watch: Watch) -> None:
        self._ray, self._run, self._size, self._watch = ray, run, size, watch
        self._task = ray.remote(num_cpus=1, max_retries=_MAX_RETRIES, scheduling_strategy="SPREAD")(_node.convert)
        self._head = _cluster.Head(ray)
        self._under_way: dict[Any, int] = {}
        self._done = 0
        self._nodes = self._max_tasks = 0
        self._last_check = float("-inf")
        self.records_made = RecordsMade()
        self.complete = True

    def all(self) -> None:
        """Convert all shards; if an error ends the run, cancel all tasks first."""
        waiting = iter(range(1, self._run.shards + 1))
        try:
            while self._fill(waiting):
                ready, _ = self._ray.wait(list(self._under_way), num_returns=1, timeout=_INTERVAL)
                for each in ready:
                    self._take(self._under_way.pop(each), each)
                self._report(0)
        except BaseException as problem:
            self._cancel()
            problem.add_note("finished shards are kept; run the same command again to continue")
            raise

    def _fill(self, waiting: Iterator[int]) -> int:
        """Submit tasks up to the maximum, and return the number of unfinished ones."""
        if time.monotonic() - self._last_check >= _INTERVAL and self._head.is_reachable():
            self._last_check = time.monotonic()
            self._nodes = len(_cluster.live_nodes(self._ray))
            self._max_tasks = max(_AHEAD * int(self._ray.cluster_resources().get("CPU", 1)), _AHEAD)
        for number in islice(waiting, max(self._max_tasks - len(self._under_way), 0)):
            self._under_way[self._task.remote(self._run, number)] = number
        return len(self._under_way)

    def _take(self, number: int, answer: Any) -> None:
        shard = Shard(number, self._run.shards)
        try:
            done: ShardDone | _node.Problem = self._ray.get(answer)
        except self._ray.exceptions.RayError as problem:
            hint = "find out why the worker died"
            raise ChatsquashError(f"shard {shard}: the task failed ({_line(problem)}); {hint}") from None
        if "kind" in done:  # only problems have this member
            raise _error(done)  # type: ignore[arg-type]
        self.records_made.add_counts(done["records_made"])
        self.complete = self.complete and done["complete"]
        self._done += 1
        self._report(done["size"])

    def _report(self, size: int) -> None:
        self._watch.note(f"{self._done}/{pluralize(self._run.shards, 'shard')}, {pluralize(self._nodes, 'node')}")
        self._watch.observe(size, self._size)

    def _cancel(self) -> None:
        """Cancel all tasks, first in a way that lets them clean up, then by force."""
        remaining = list(self._under_way)
        try:
            for force in (False, True):
                for each in remaining:
                    self._ray.cancel(each, force=force)
                if remaining:
                    _, remaining = self._ray.wait(remaining, num_returns=len(remaining), timeout=_CANCEL_TIMEOUT)
        except Exception:  # noqa: BLE001, S110 - if the cluster is gone, so are its tasks
            pass


def _error(problem: _node.Problem) -> ChatsquashError:
    """Return the problem that a node reported as an exception of its original class."""
    kind: type[ChatsquashError] = getattr(errors, problem["kind"], ChatsquashError)
    return kind(problem["text"])


def _line(problem: BaseException) -> str:
    """Return one line of an exception of Ray: the last line of a traceback, or else the first line."""
    lines = [line.strip() for line in str(problem).splitlines() if line.strip()] or [type(problem).__name__]
    return escape(lines[-1 if "Traceback" in lines[0] or "ray::" in lines[0] else 0][:_MAX_LINE])
