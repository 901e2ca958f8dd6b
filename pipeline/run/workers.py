"""Sessions to outcomes, in this process or several, in the order of the jobs."""

from __future__ import annotations

import os
import signal
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from errno import EIO
from functools import partial
from itertools import starmap
from typing import TYPE_CHECKING, NamedTuple, cast

from pipeline import platform
from pipeline.checks import log
from pipeline.model import Job, Options, Outcome
from pipeline.read.sessions import MixedSessionsError, split
from pipeline.run.journal import Journals, Place, Writer
from pipeline.run.session import Converter, nothing, unreadable

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

_BATCH_BYTES = 4 << 20
_BATCH_JOBS = 64
_WORTH_A_PROCESS = 8 << 20
"""Bytes of logs below which starting a process takes longer than it saves."""
_NO_MEMORY = 70
"""The exit code of a worker process that ran out of memory, where the system did not kill it."""

Batch = tuple[Job, ...]
Found = tuple[Job, Outcome | None]
"""A job and its outcome; ``None`` for a file that has to be split into its sessions first."""


def outcomes(jobs: list[Job], options: Options, journals: Journals | None = None) -> Iterator[tuple[Job, Outcome]]:
    """The outcome of every session, in the order of the jobs, at most a few batches ahead of the one asked for.

    What the journals know is taken from there; what is found is added to them.
    """
    size = sum(job.size for job in jobs)
    workers = min(options.workers, size // _WORTH_A_PROCESS + 1, size if options.sessions_by == "id" else len(jobs))
    by_id = options.sessions_by == "id"
    sessions = (part for job in jobs for part in split(job, options.from_format)) if by_id else iter(jobs)
    writer = journals.writer if journals else None
    convert = partial(_here, Converter(options), writer) if workers <= 1 else partial(_spread, options, workers, writer)
    if journals and not journals.is_empty():
        found = _known_or(convert, sessions, journals, options)
    else:
        found = convert(sessions)
    for job, outcome in found:
        if outcome is not None:
            yield job, outcome
        elif (parts := split(job, options.from_format)) == [job]:
            yield job, unreadable(job, OSError(EIO, "it changed while it was read"))
        else:
            yield from outcomes(parts, options, journals)


def _known_or(
    convert: Callable[[Iterable[Job]], Iterator[Found]], jobs: Iterable[Job], journals: Journals, options: Options
) -> Iterator[Found]:
    """The outcomes that journals know, and between them those of the sessions that they do not."""
    waiting: deque[tuple[Job, Place]] = deque()
    ahead: deque[int] = deque()  # how many known ones stand before each of the others

    def unknown() -> Iterator[Job]:
        before = 0
        for job in jobs:
            if place := journals.find(job):
                waiting.append((job, place))
                before += 1
            else:
                ahead.append(before)
                before = 0
                yield job

    def known(count: int) -> Iterator[Found]:
        for job, place in (waiting.popleft() for _ in range(count)):
            # One that is damaged is converted, as if it were not there.
            yield job, journals.get(place) or _convert(Converter(options), journals.writer, job)

    for found in convert(unknown()):
        yield from known(ahead.popleft())
        yield found
    yield from known(len(waiting))


def _here(converter: Converter, writer: Writer | None, jobs: Iterable[Job]) -> Iterator[Found]:
    """Outcomes from this process."""
    for job in jobs:
        try:
            outcome = _convert(converter, writer, job)
        except MemoryError:
            outcome = nothing(job, log.lost_worker("memory ran out"))
        yield job, outcome


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


def _spread(options: Options, workers: int, writer: Writer | None, jobs: Iterable[Job]) -> Iterator[Found]:
    """Outcomes from worker processes, each of which has one batch at a time.

    There is no thread on this side, so that a fork copies none and an interrupt meets none.
    """
    team = _Team(options, writer)
    lots = _Lots(batches(jobs), 2 * workers + 2)
    try:
        team.hire(workers)
        while True:
            for connection in team.idle():
                if lot := lots.take():
                    team.hand(connection, lot)
            if lots.is_next_done():
                yield from lots.next_done()
            elif team.under_way:
                for lot, found in team.finished():
                    lots.put(lot, found)
            else:
                return
    finally:
        team.dismiss()


class _Lot(NamedTuple):
    """What one process converts at a time."""

    number: int
    jobs: Batch
    alone: bool = False
    """Whether it is one of those that were under way when a process died, and no other is under way beside it."""


class _Lots:
    """Batches on their way, only so far ahead of the one whose turn it is, since what is done waits in memory."""

    def __init__(self, todo: Iterable[Batch], ahead: int) -> None:
        self._todo = enumerate(todo)
        self._ahead = ahead
        self._under_way = 0
        self._turn = 0
        self._done: dict[int, list[Found]] = {}
        self._again: deque[_Lot] = deque()
        self._missing: Counter[int] = Counter()  # of batches whose jobs are tried alone

    def take(self) -> _Lot | None:
        """What to convert next; ``None`` while there is nothing that may begin."""
        lot = None
        if self._again:
            lot = None if self._under_way else self._again.popleft()
        elif self._under_way + len(self._done) < self._ahead:
            lot = next(starmap(_Lot, self._todo), None)
        self._under_way += lot is not None
        return lot

    def put(self, lot: _Lot, found: list[Found] | str) -> None:
        """What came of a lot: outcomes, or how the process ended that had it.

        Each of its jobs is then tried once more alone, and left out if that, too, ends a process.
        """
        self._under_way -= 1
        if isinstance(found, str) and not lot.alone:
            self._missing[lot.number] = len(lot.jobs)
            self._again += [_Lot(lot.number, (job,), alone=True) for job in lot.jobs]
            return
        if isinstance(found, str):
            found = [(job, nothing(job, log.lost_worker(f"its process ended twice, by {found}"))) for job in lot.jobs]
        self._done.setdefault(lot.number, []).extend(found)
        self._missing[lot.number] -= len(found) if lot.alone else 0

    def is_next_done(self) -> bool:
        """Whether the batch whose turn it is has all its outcomes."""
        return self._turn in self._done and not self._missing[self._turn]

    def next_done(self) -> list[Found]:
        """The outcomes of the batch whose turn it is."""
        self._turn += 1
        return self._done.pop(self._turn - 1)


class _Team:
    """Worker processes, each with a connection; one that dies is replaced."""

    def __init__(self, options: Options, writer: Writer | None) -> None:
        self._given = (options, writer)
        self._members: dict[Connection, BaseProcess] = {}
        self.under_way: dict[Connection, _Lot] = {}

    def hire(self, count: int) -> None:
        """Start so many processes."""
        # Imported here, since it takes longer than to convert a small log.
        from multiprocessing import get_context

        method = platform.start_method()
        context = get_context(method)
        with platform.uninterrupted():
            for _ in range(count):
                ours, theirs = context.Pipe()
                # A fork copies our ends; a worker that kept them would not notice when this process is gone.
                copied = [*self._members, ours] if method == "fork" else []
                process = context.Process(  # type: ignore[attr-defined]
                    target=_serve, args=(theirs, copied, *self._given), daemon=True
                )
                process.start()
                theirs.close()
                self._members[ours] = process

    def idle(self) -> list[Connection]:
        """Those that have nothing to do."""
        return [each for each in self._members if each not in self.under_way]

    def hand(self, connection: Connection, lot: _Lot) -> None:
        """Give a lot to one that is idle."""
        self.under_way[connection] = lot
        with suppress(BrokenPipeError, ConnectionResetError):  # which waiting for it will tell
            connection.send(lot.jobs)

    def finished(self) -> Iterator[tuple[_Lot, list[Found] | str]]:
        """Wait; then the lots that came back, with their outcomes, or with how the process ended."""
        from multiprocessing.connection import wait

        for connection in cast("list[Connection]", wait(list(self.under_way))):
            lot = self.under_way.pop(connection)
            found: list[Found] | str
            try:
                found = list(zip(lot.jobs, connection.recv(), strict=True))
            except (EOFError, OSError):
                found = self._replace(connection)
            yield lot, found

    def dismiss(self) -> None:
        """End all processes."""
        with platform.uninterrupted():
            for connection, process in self._members.items():
                process.kill()  # what it writes is read up to where it is whole
                process.join()
                connection.close()

    def _replace(self, connection: Connection) -> str:
        """Start another process in the place of one that ended; how it ended, in words."""
        process = self._members.pop(connection)
        process.kill()
        process.join()
        connection.close()
        self.hire(1)
        code = process.exitcode or 0
        return signal.Signals(-code).name if code < 0 else f"exit code {code}"


def _serve(connection: Connection, copied: list[Connection], options: Options, writer: Writer | None) -> None:
    """A worker process: batches in, outcomes out, until the other side is gone."""
    platform.leave_interrupts_to_parent()
    platform.collect_less()
    threading.Thread(target=_end_with_parent, daemon=True).start()
    for each in copied:
        each.close()
    converter = Converter(options)
    with suppress(EOFError, ConnectionError):
        while True:
            try:
                found = [_convert(converter, writer, job) for job in connection.recv()]
            except MemoryError:
                os._exit(_NO_MEMORY)  # each of them is tried once more, alone
            connection.send(found)


def _end_with_parent() -> None:
    """A parent that is killed cannot end its workers, which would go on with what nobody waits for."""
    from multiprocessing import parent_process

    if parent := parent_process():
        parent.join()
        os._exit(1)


def _convert(converter: Converter, writer: Writer | None, job: Job) -> Outcome | None:
    """The outcome of a session; ``None`` for a file that has to be split into its sessions first."""
    try:
        outcome = converter.convert(job)
    except MixedSessionsError:
        return None
    except OSError as problem:
        return unreadable(job, problem)
    if writer:
        writer.add(job, outcome)
    return outcome
