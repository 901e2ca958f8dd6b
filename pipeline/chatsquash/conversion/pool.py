"""A pool of worker processes; each works on one batch of jobs at a time, and is replaced if it dies."""

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
"""The exit code of a worker process that ran out of memory without being killed by the system."""

Job = TypeVar("Job")
Result = TypeVar("Result")


class Batch(Struct, Generic[Job], frozen=True):
    """The jobs that a process works on at a time."""

    number: int
    jobs: tuple[Job, ...]
    alone: bool = False
    """Whether this is a retry after a process died, during which no other batch runs."""


class Pool(Generic[Job, Result]):
    """Worker processes, each with a connection; a process that dies is replaced.

    Args:
        prepare: Called once in each process; returns the function that does the jobs of a batch.
        arguments: The arguments of ``prepare``.
    """

    def __init__(self, prepare: Callable[..., Callable[[Sequence[Job]], list[Result]]], *arguments: Any) -> None:
        self._work = (prepare, arguments)
        self._workers: dict[Connection, BaseProcess] = {}
        self.under_way: dict[Connection, Batch[Job]] = {}

    def run(self, queue: Queue[Job, Result], workers: int) -> Iterator[list[tuple[Job, Result]]]:
        """Yield the results of batches, in order; the processes end after the last one."""
        # This process uses no threads: they must not be copied by a fork or hit by an interrupt.
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
        """Start processes."""
        # Imported here, since the import takes longer than the conversion of a small log.
        from multiprocessing import get_context

        method = platform.start_method()
        context = get_context(method)
        with platform.uninterrupted():
            for _ in range(count):
                ours, theirs = context.Pipe()
                # A worker with open copies of our ends, which a fork makes, would not notice the end of this process.
                inherited = [*self._workers, ours] if method == "fork" else []
                process = context.Process(  # type: ignore[attr-defined]
                    target=_serve, args=(theirs, inherited, *self._work), daemon=True
                )
                process.start()
                theirs.close()
                self._workers[ours] = process

    def idle(self) -> list[Connection]:
        """Return the idle workers."""
        return [each for each in self._workers if each not in self.under_way]

    def send(self, connection: Connection, batch: Batch[Job]) -> None:
        """Send a batch to an idle worker."""
        self.under_way[connection] = batch
        with suppress(BrokenPipeError, ConnectionResetError):  # wait() will notice that the worker died
            connection.send(batch.jobs)

    def wait(self) -> Iterator[tuple[Batch[Job], list[tuple[Job, Result]] | str]]:
        """Wait, and yield finished batches with their results, or with the reason for which the process ended.

        Raises:
            ShortageError: If it was raised in a process.
        """
        from multiprocessing.connection import wait

        for connection in cast("list[Connection]", wait(list(self.under_way))):
            batch = self.under_way.pop(connection)
            results: list[tuple[Job, Result]] | str
            try:
                answer = connection.recv()
                if isinstance(answer, str):
                    raise ShortageError(answer)
                results = list(zip(batch.jobs, answer, strict=True))
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
        """End a process, unless it has ended already, and return its exit code."""
        process = self._workers.pop(connection)
        process.kill()  # safe at any time, since readers ignore an incomplete frame
        process.join()
        connection.close()
        return process.exitcode or 0


def _serve(
    connection: Connection,
    inherited: list[Connection],
    prepare: Callable[..., Callable[[Sequence[Any]], list[Any]]],
    arguments: Any,
) -> None:
    """Run a worker process: receive batches and send results until the parent ends."""
    platform.leave_interrupts_to_parent()
    platform.collect_less()
    platform.end_with_parent()
    for each in inherited:
        each.close()
    work = prepare(*arguments)
    with suppress(EOFError, ConnectionError):
        while True:
            try:
                results = work(connection.recv())
            except MemoryError:
                os._exit(_NO_MEMORY)  # the parent retries each job separately
            except ShortageError as problem:
                connection.send(str(problem))
                return
            connection.send(results)


class Queue(Generic[Job, Result]):
    """Orders batches and their results; at most ``ahead`` batches run ahead of the next one, to bound memory.

    Args:
        todo: The jobs of each batch, in order.
        ahead: Maximum number of batches that are running or waiting for their turn.
        lose: Returns the result of a job that ended two processes, given how the last one ended.
        first: Batches to start first; they must be few, since all of their results may have to wait.
    """

    def __init__(
        self,
        todo: Iterable[tuple[Job, ...]],
        ahead: int,
        lose: Callable[[Job, str], Result],
        first: Sequence[Batch[Job]] = (),
    ) -> None:
        self._lost = lose
        self._first = deque(first)
        self._early = {batch.number for batch in first}
        self._waiting = 0  # batches of ``first`` that were started
        self._todo = (batch for batch in starmap(Batch[Job], enumerate(todo)) if batch.number not in self._early)
        self._ahead = ahead
        self._under_way = 0
        self._turn = 0
        self._done: dict[int, list[tuple[Job, Result]]] = {}
        self._retries: deque[Batch[Job]] = deque()
        self._missing: Counter[int] = Counter()  # jobs of retried batches that are not done

    def take(self) -> Batch[Job] | None:
        """Return the next batch, or ``None`` if none may start now."""
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
        """Add the results of a batch, or the reason for which its process ended.

        In the latter case each of its jobs is retried separately, and is lost if that ends a process again.
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
        """Return whether all results of the next batch in order are available."""
        return self._turn in self._done and not self._missing[self._turn]

    def next_done(self) -> list[tuple[Job, Result]]:
        """Return the results of the next batch in order."""
        self._waiting -= self._turn in self._early
        self._turn += 1
        return self._done.pop(self._turn - 1)
