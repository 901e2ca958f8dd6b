"""Sessions to outcomes, in this process or several, in the order of the jobs."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice

from pipeline import platform
from pipeline.errors import ChatsquashError
from pipeline.model import Job, Options, Outcome
from pipeline.run.session import Converter, unreadable

_BATCH_BYTES = 4 << 20
_BATCH_JOBS = 64
_WORTH_A_PROCESS = 8 << 20
"""Bytes of logs below which starting a process takes longer than it saves."""

Batch = tuple[Job, ...]


def outcomes(jobs: list[Job], options: Options) -> Iterator[tuple[Job, Outcome]]:
    """Every job's outcome, in the order of the jobs, at most a few batches ahead of the one asked for."""
    workers = min(options.workers, sum(job.size for job in jobs) // _WORTH_A_PROCESS + 1, len(jobs))
    if workers <= 1:
        convert = Converter(options)
        for job in jobs:
            yield job, _convert(convert, job)
    else:
        yield from _spread(jobs, options, workers)


def batches(jobs: Iterable[Job]) -> Iterator[Batch]:
    """Neighbouring jobs in lots worth handing over: small files together, large ones alone."""
    batch: list[Job] = []
    size = 0
    for job in jobs:
        if batch and (size + job.size > _BATCH_BYTES or len(batch) == _BATCH_JOBS):
            yield tuple(batch)
            batch, size = [], 0
        batch.append(job)
        size += job.size
    if batch:
        yield tuple(batch)


def _spread(jobs: list[Job], options: Options, workers: int) -> Iterator[tuple[Job, Outcome]]:
    # Imported here, since it takes longer than to convert a small log.
    from concurrent.futures import Future, ProcessPoolExecutor
    from concurrent.futures.process import BrokenProcessPool
    from multiprocessing import get_context

    context = get_context(platform.start_method())
    pool = ProcessPoolExecutor(workers, context, initializer=_start, initargs=(options,))
    todo = batches(jobs)
    ahead: deque[tuple[Batch, Future[list[Outcome]]]] = deque()
    try:
        while True:
            with platform.uninterrupted():  # handing over may start a process, which is not to see an interrupt
                for batch in islice(todo, 2 * workers + 2 - len(ahead)):
                    ahead.append((batch, pool.submit(_convert_batch, batch)))
            if not ahead:
                break
            batch, future = ahead.popleft()
            yield from zip(batch, future.result(), strict=True)
    except BrokenProcessPool:
        hint = "it may have run out of memory; try --workers 1"
        raise ChatsquashError(f"a worker process died; {hint}") from None
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


_converter: Converter | None = None


def _start(options: Options) -> None:
    """Prepare a worker process."""
    global _converter  # noqa: PLW0603 - a worker's one piece of state
    platform.leave_interrupts_to_parent()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    _converter = Converter(options)


def _end_with_parent() -> None:
    """A parent that is killed cannot end its workers, which would wait for work forever."""
    from multiprocessing import parent_process

    if parent := parent_process():
        parent.join()
        os._exit(1)


def _convert_batch(batch: Batch) -> list[Outcome]:
    assert _converter is not None
    return [_convert(_converter, job) for job in batch]


def _convert(converter: Converter, job: Job) -> Outcome:
    try:
        return converter.convert(job)
    except OSError as problem:
        return unreadable(job, problem)
