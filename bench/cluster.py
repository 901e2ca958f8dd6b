"""A small model of a run over machines: a listing, shards that slots of machines take in turns, one merge at the end.

Events are those of simpy: a machine comes up and is lost, a shard is taken, fails or is done. What flows, bytes over a
network, is no event: each slot that has a shard has an equal part of it.
"""

from __future__ import annotations

import math
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field, fields
from random import Random
from typing import Any, NamedTuple

import simpy

HOUR = 3600.0
_WAVES = 2
"""How many shards for each slot are left when the end begins."""
_PIECES = 8
MB = 1e6
TB = 1e12

Steps = Generator[simpy.Event, Any, None]


def _told(value: float, unit: str, what: str, source: str) -> Any:
    return field(default=value, metadata={"unit": unit, "what": what, "source": source})


MEASURED = "measured"
_S3 = "S3 user guide"
ASSUMED = "assumed"


@dataclass(frozen=True)
class Given:
    """All that the model is given; what is measured on a machine replaces the defaults."""

    core: float = _told(600, "MB/s", "conversion per core", MEASURED)
    log: float = _told(2.2, "MB", "size of a log", "mean of *standard*")
    records: float = _told(0.03, "of the logs", "size of the records", MEASURED)
    start: float = _told(0.11, "s", "CPU time per process start", MEASURED)
    divide: float = _told(20e-6, "s per log", "listing and dividing, without pages", MEASURED)
    join: float = _told(60e-6, "s per log", "merging", MEASURED)
    copy: float = _told(600, "MB/s", "copying records in the merge", MEASURED)
    shard: float = _told(1000, "MB", "size of a shard", "recommended: 0.5 to 2 GB")
    cores: float = _told(16, "", "cores per machine", "m6i.4xlarge (vCPUs)")
    slots: float = _told(1, "", "parallel shards per core", "one worker per core")
    network: float = _told(1562, "MB/s", "network per machine", "m6i.4xlarge, 12.5 Gbit/s")
    fetch: float = _told(385, "MB/s", "download per core", "obstore on loopback: 300 to 470")
    requests: float = _told(5500, "per second", "requests to the store", f"{_S3}, GET per prefix")
    part: float = _told(8, "MB", "size of a request", "code")
    wait: float = _told(0.1, "s", "time to first byte", f"{_S3}: 0.1 to 0.2 s")
    ahead: float = _told(1, "", "parallel requests per shard", "code")
    page: float = _told(0.2, "s", "time per listing page", f"{_S3}: 0.1 to 0.2 s")
    keys: float = _told(1000, "", "logs per listing page", "S3 API")
    boot: float = _told(90, "s", "start of a machine", ASSUMED)
    place: float = _told(3, "s", "start of a shard", ASSUMED)
    spread: float = _told(0.2, "", "sigma of the shard time (lognormal)", ASSUMED)
    slow: float = _told(0.02, "of the machines", "slow machines", ASSUMED)
    slower: float = _told(3, "times", "slowdown of these", ASSUMED)
    fails: float = _told(0.002, "of the shards", "failed attempts", ASSUMED)
    lost: float = _told(0.0001, "per hour", "lost machines", "spot: 5 to 10% per month")
    notice: float = _told(120, "s", "reassigning the shards of a lost machine", ASSUMED)

    def __post_init__(self) -> None:
        """No number is below 0, and none is one by which is divided and is 0."""
        assert all(getattr(self, each.name) >= 0 for each in fields(self))


class Took(NamedTuple):
    """What a run took, in hours."""

    listing: float
    converting: float
    merging: float
    machines: float
    """Hours of all machines."""
    attempts: int
    """Shards that were begun, of which some failed or were lost."""

    @property
    def hours(self) -> float:
        """From the listing to the result."""
        return self.listing + self.converting + self.merging


def own_speed(given: Given, machines: int, shards: int) -> float:
    """MB/s of a slot that nothing but its machine limits: what it waits for, and its part of the cores."""
    work = 1 / given.core + 1 / given.fetch
    waiting = given.wait / given.ahead / given.log
    on_one = math.ceil(min(machines * _slots(given), shards) / machines)
    return min(1 / (work + waiting), given.cores / on_one / work)


def share(given: Given, machines: int, shards: int) -> float:
    """MB/s that a slot gets of the network of its machine, and of what the store answers, whichever is less."""
    busy = min(machines * _slots(given), shards)
    store = given.requests * min(given.part, given.log) / busy
    return min(given.network / math.ceil(busy / machines), store)


def _slots(given: Given) -> int:
    """The shards that a machine converts at a time."""
    return max(1, round(given.cores * given.slots))


def divided(given: Given, size: float) -> list[float]:
    """MB of each shard."""
    count = max(1, math.ceil(size / given.shard))
    return [size / count] * count


class Cluster:
    """Machines that convert shards, each of so many MB, until all are done."""

    def __init__(self, given: Given, shards: Sequence[float], machines: int, seed: int) -> None:
        self.given = given
        self.attempts = 0
        self._machines = machines
        self._random = Random(seed)
        self._env = simpy.Environment()
        self._waiting = simpy.Store(self._env)
        self._waiting.items.extend(shards)
        self._left = len(shards)
        self._ended = self._env.event()
        for _ in range(machines):
            self._env.process(self._machine())

    def seconds(self) -> float:
        """The time until the last shard is done."""
        self._env.run(until=self._ended)
        return float(self._env.now)

    def _machine(self) -> Steps:
        """A machine comes up, works until it is lost, and another takes its place."""
        while True:
            slower = self.given.slower if self._random.random() < self.given.slow else 1.0
            yield self._env.timeout(self.given.boot)
            slots = [self._env.process(self._slot(slower)) for _ in range(_slots(self.given))]
            if not self.given.lost:
                return
            yield self._env.timeout(self._random.expovariate(self.given.lost) * HOUR)
            for slot in slots:
                slot.interrupt()

    def _slot(self, slower: float) -> Steps:
        """A slot takes a shard after another; one that fails, or is lost with the machine, waits for its turn anew."""
        while True:
            asked = self._waiting.get()
            try:
                shard = yield asked
                self.attempts += 1
                failed = self._random.random() < self.given.fails
                yield from self._convert(shard * (self._random.random() if failed else 1), slower)
            except simpy.Interrupt:
                self._lose(asked)
                return
            if failed:
                self._waiting.put(shard)
            else:
                self._finish()

    def _convert(self, size: float, slower: float) -> Steps:
        """A shard in one go; near the end in pieces, since those that are left then share what others leave.

        The spread makes some shards longer and others shorter, and none on the whole.
        """
        sigma = self.given.spread
        by_chance = self._random.lognormvariate(-sigma * sigma / 2, sigma) if sigma else 1.0
        yield self._env.timeout(self.given.place + self.given.start * by_chance * slower)
        last = self._left < _WAVES * self._machines * _slots(self.given)
        pieces = _PIECES if last else 1
        for _ in range(pieces):
            parts = (
                own_speed(self.given, self._machines, self._left) / slower,
                share(self.given, self._machines, self._left),
            )
            yield self._env.timeout(size / pieces / min(parts) * by_chance)

    def _lose(self, asked: simpy.resources.store.StoreGet) -> None:
        if asked.triggered:
            self._env.process(self._give_back(asked.value))
        else:
            asked.cancel()

    def _give_back(self, shard: float) -> Steps:
        yield self._env.timeout(self.given.notice)
        self._waiting.put(shard)

    def _finish(self) -> None:
        self._left -= 1
        if not self._left:
            self._ended.succeed()


def simulate(given: Given, size: float, machines: int, seed: int = 0) -> Took:
    """What a run over so many bytes takes."""
    logs = size / MB / given.log
    listing = given.start + math.ceil(logs / given.keys) * given.page + logs * given.divide
    cluster = Cluster(given, divided(given, size / MB), machines, seed)
    converting = cluster.seconds()
    merging = given.start + logs * given.join + size / MB * given.records / given.copy
    hours = [each / HOUR for each in (listing, converting, merging)]
    return Took(*hours, machines * hours[1] + hours[0] + hours[2], cluster.attempts)
