"""Worker processes: each has one batch of jobs at a time, and one that dies is replaced."""

from __future__ import annotations

import os
import signal
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import starmap
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from msgspec import Struct

from chatsquash.core import platform
from chatsquash.core.errors import ShortageError

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

_NO_MEMORY = 70
"""The exit code of a worker process that ran out of memory, where the system did not kill it."""

Job = TypeVar("Job")
Result = TypeVar("Result")


class Batch(Struct, Generic[Job], frozen=True):
    """What one process works on at a time."""

    number: int
    jobs: tuple[Job, ...]
    alone: bool = False
    """Whether it is one of those that were under way when a process died, and no other is under way beside it."""


class Pool(Generic[Job, Result]):
    """Worker processes, each with a connection; one that dies is replaced.

    ``prepare`` is called with the arguments once in each process, and returns the function that does a job there.
    """

    def __init__(self, prepare: Callable[..., Callable[[Job], Result]], *arguments: Any) -> None:
        self._work = (prepare, arguments)
        self._workers: dict[Connection, BaseProcess] = {}
        self.under_way: dict[Connection, Batch[Job]] = {}

    def run(self, queue: Queue[Job, Result], workers: int) -> Iterator[list[tuple[Job, Result]]]:
        """The results of batches, in their order, from so many processes, which end with the last of them.

        There is no thread on this side, so that a fork copies none and an interrupt meets none.
        """
        try:
            self.start(workers)
            while True:
                for connection in self.idle():
                    if batch := queue.take():
                        self.send(connection, batch)
                if queue.is_next_done():
                    yield queue.next_done()
                elif self.under_way:
                    for batch, results in self.wait():
                        queue.put(batch, results)
                else:
                    return
        finally:
            self.close()

    def start(self, count: int) -> None:
        """Start so many processes."""
        # Imported here, since it takes longer than to convert a small log.
        from multiprocessing import get_context

        method = platform.start_method()
        context = get_context(method)
        with platform.uninterrupted():
            for _ in range(count):
                ours, theirs = context.Pipe()
                # A fork copies our ends; a worker that kept them would not notice when this process is gone.
                copied = [*self._workers, ours] if method == "fork" else []
                process = context.Process(  # type: ignore[attr-defined]
                    target=_serve, args=(theirs, copied, *self._work), daemon=True
                )
                process.start()
                theirs.close()
                self._workers[ours] = process

    def idle(self) -> list[Connection]:
        """The workers that have nothing to do."""
        return [each for each in self._workers if each not in self.under_way]

    def send(self, connection: Connection, batch: Batch[Job]) -> None:
        """Give a batch to a worker that is idle."""
        self.under_way[connection] = batch
        with suppress(BrokenPipeError, ConnectionResetError):  # which waiting for it will tell
            connection.send(batch.jobs)

    def wait(self) -> Iterator[tuple[Batch[Job], list[tuple[Job, Result]] | str]]:
        """Wait; then the batches that came back, with their results, or with how the process ended.

        Raises ``ShortageError`` where a process met one.
        """
        from multiprocessing.connection import wait

        for connection in cast("list[Connection]", wait(list(self.under_way))):
            batch = self.under_way.pop(connection)
            results: list[tuple[Job, Result]] | str
            try:
                received = connection.recv()
                if isinstance(received, str):
                    raise ShortageError(received)
                results = list(zip(batch.jobs, received, strict=True))
            except (EOFError, OSError):
                code = self._end(connection)
                self.start(1)
                results = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            yield batch, results

    def close(self) -> None:
        """End all processes."""
        with platform.uninterrupted():
            for connection in list(self._workers):
                self._end(connection)

    def _end(self, connection: Connection) -> int:
        """End a process, which may have ended already; its exit code."""
        process = self._workers.pop(connection)
        process.kill()  # what it writes is read up to where it is whole
        process.join()
        connection.close()
        return process.exitcode or 0


def _serve(
    connection: Connection, copied: list[Connection], prepare: Callable[..., Callable[[Any], Any]], arguments: Any
) -> None:
    """A worker process: batches in, results out, until the other side is gone."""
    platform.leave_interrupts_to_parent()
    platform.collect_less()
    platform.end_with_parent()
    for each in copied:
        each.close()
    work = prepare(*arguments)
    with suppress(EOFError, ConnectionError):
        while True:
            try:
                results = [work(job) for job in connection.recv()]
            except MemoryError:
                os._exit(_NO_MEMORY)  # each of them is tried once more, alone
            except ShortageError as problem:
                connection.send(str(problem))
                return
            connection.send(results)


class Queue(Generic[Job, Result]):
    """Batches on their way, only so far ahead of the one whose turn it is, since what is done waits in memory.

    ``lost`` gives the result of a job that ended two processes, by how the last one ended.  Some batches go first, of
    which there are so few that all of them may wait: their records do not.
    """

    def __init__(
        self,
        todo: Iterable[tuple[Job, ...]],
        ahead: int,
        lost: Callable[[Job, str], Result],
        first: Sequence[Batch[Job]] = (),
    ) -> None:
        self._lost = lost
        self._first = deque(first)
        self._early = {batch.number for batch in first}
        self._waiting = 0  # of those that went first
        self._todo = (batch for batch in starmap(Batch[Job], enumerate(todo)) if batch.number not in self._early)
        self._ahead = ahead
        self._under_way = 0
        self._turn = 0
        self._done: dict[int, list[tuple[Job, Result]]] = {}
        self._retries: deque[Batch[Job]] = deque()
        self._missing: Counter[int] = Counter()  # of batches whose jobs are tried alone

    def take(self) -> Batch[Job] | None:
        """What to do next; ``None`` while there is nothing that may begin."""
        batch: Batch[Job] | None = None
        if self._retries:
            batch = None if self._under_way else self._retries.popleft()
        elif self._first:
            batch = self._first.popleft()
            self._waiting += 1
        elif self._under_way + len(self._done) - self._waiting < self._ahead:
            batch = next(self._todo, None)
        self._under_way += batch is not None
        return batch

    def put(self, batch: Batch[Job], results: list[tuple[Job, Result]] | str) -> None:
        """Take the results of a batch, or how the process ended that had it.

        Each of its jobs is then tried once more alone, and is lost if that, too, ends a process.
        """
        self._under_way -= 1
        if isinstance(results, str):
            if not batch.alone:
                self._missing[batch.number] = len(batch.jobs)
                self._retries += [Batch(batch.number, (job,), alone=True) for job in batch.jobs]
                return
            results = [(job, self._lost(job, results)) for job in batch.jobs]
        self._done.setdefault(batch.number, []).extend(results)
        if batch.alone:
            self._missing[batch.number] -= 1

    def is_next_done(self) -> bool:
        """Whether the batch whose turn it is has all its results."""
        return self._turn in self._done and not self._missing[self._turn]

    def next_done(self) -> list[tuple[Job, Result]]:
        """The results of the batch whose turn it is."""
        self._waiting -= self._turn in self._early
        self._turn += 1
        return self._done.pop(self._turn - 1)
