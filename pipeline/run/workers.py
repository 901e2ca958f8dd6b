"""Sessions to outcomes, in this process or several, in the order of the jobs."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from errno import EIO
from pathlib import Path
from typing import TYPE_CHECKING, cast

from pipeline import platform
from pipeline.errors import ChatsquashError
from pipeline.model import Job, Options, Outcome
from pipeline.read.sessions import MixedSessionsError, split
from pipeline.run.session import Converter, unreadable

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

_BATCH_BYTES = 4 << 20
_BATCH_JOBS = 64
_WORTH_A_PROCESS = 8 << 20
"""Bytes of logs below which starting a process takes longer than it saves."""

Batch = tuple[Job, ...]


def outcomes(jobs: list[Job], options: Options, expanded: Path | None = None) -> Iterator[tuple[Job, Outcome]]:
    """The outcome of every session, in the order of the jobs, at most a few batches ahead of the one asked for.

    ``expanded`` is the folder for compressed logs that are split, as ``split`` has it.
    """
    size = sum(job.size for job in jobs)
    workers = min(options.workers, size // _WORTH_A_PROCESS + 1, size if options.sessions_by == "id" else len(jobs))
    by_id = options.sessions_by == "id"
    sessions = (part for job in jobs for part in split(job, options, expanded)) if by_id else iter(jobs)
    for job, outcome in _here(sessions, options) if workers <= 1 else _spread(sessions, options, workers):
        if outcome is not None:
            yield job, outcome
        elif (parts := split(job, options, expanded)) == [job]:
            yield job, unreadable(job, OSError(EIO, "it changed while it was read"))
        else:
            yield from outcomes(parts, options, expanded)


def _here(jobs: Iterable[Job], options: Options) -> Iterator[tuple[Job, Outcome | None]]:
    """Outcomes from this process."""
    converter = Converter(options)
    for job in jobs:
        yield job, _convert(converter, job)


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


def _spread(jobs: Iterable[Job], options: Options, workers: int) -> Iterator[tuple[Job, Outcome | None]]:
    """Outcomes from worker processes, each of which has one batch at a time.

    There is no thread on this side, so that a fork copies none and an interrupt meets none.
    """
    # Imported here, since it takes longer than to convert a small log.
    from multiprocessing.connection import wait

    team: dict[Connection, BaseProcess] = {}
    todo = enumerate(batches(jobs))
    under_way: dict[Connection, tuple[int, Batch]] = {}
    done: dict[int, Iterator[tuple[Job, Outcome | None]]] = {}
    turn = 0
    try:
        with platform.uninterrupted():
            _hire(team, options, workers)
        while True:
            for connection in [each for each in team if each not in under_way]:
                # Only so far ahead of the batch whose turn it is, since what is done waits in memory.
                if len(under_way) + len(done) < 2 * workers + 2 and (batch := next(todo, None)):
                    under_way[connection] = batch
                    connection.send(batch[1])
            if turn in done:
                yield from done.pop(turn)
                turn += 1
            elif under_way:
                for connection in cast("list[Connection]", wait(list(under_way))):
                    number, jobs_done = under_way.pop(connection)
                    done[number] = zip(jobs_done, connection.recv(), strict=True)
            else:
                return
    except (EOFError, BrokenPipeError, ConnectionResetError):
        raise ChatsquashError("a worker process died; it may have run out of memory; try --workers 1") from None
    finally:
        with platform.uninterrupted():
            for connection, process in team.items():
                process.kill()  # it writes nothing, so nothing is lost
                process.join()
                connection.close()


def _hire(team: dict[Connection, BaseProcess], options: Options, workers: int) -> None:
    from multiprocessing import get_context

    method = platform.start_method()
    context = get_context(method)
    for _ in range(workers):
        ours, theirs = context.Pipe()
        # A fork copies our ends; a worker that kept them would not notice when this process is gone.
        copied = [*team, ours] if method == "fork" else []
        process = context.Process(  # type: ignore[attr-defined]
            target=_serve, args=(theirs, copied, options), daemon=True
        )
        process.start()
        theirs.close()
        team[ours] = process


def _serve(connection: Connection, copied: list[Connection], options: Options) -> None:
    """A worker process: batches in, outcomes out, until the other side is gone."""
    platform.leave_interrupts_to_parent()
    platform.collect_less()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    for each in copied:
        each.close()
    converter = Converter(options)
    with suppress(EOFError, ConnectionError):
        while True:
            connection.send([_convert(converter, job) for job in connection.recv()])


def _end_with_parent() -> None:
    """A parent that is killed cannot end its workers, which would go on with what nobody waits for."""
    from multiprocessing import parent_process

    if parent := parent_process():
        parent.join()
        os._exit(1)


def _convert(converter: Converter, job: Job) -> Outcome | None:
    """The outcome of a session; ``None`` for a file that has to be split into its sessions first."""
    try:
        return converter.convert(job)
    except MixedSessionsError:
        return None
    except OSError as problem:
        return unreadable(job, problem)
