"""Sessions to outcomes, in this process or several, in the order of the jobs."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from errno import EIO
from functools import partial
from itertools import starmap

from chatsquash.checks import reading
from chatsquash.folder import Folder
from chatsquash.model import Job, Options, Outcome
from chatsquash.read.sessions import split
from chatsquash.run.accounts import nothing, unreadable
from chatsquash.run.journal import Journals, Place, Writer
from chatsquash.run.pool import Batch, Found, Lot, Team, attempt
from chatsquash.run.session import Converter
from chatsquash.sources.logs import Jobs

_BATCH_BYTES = 4 << 20
_BATCH_JOBS = 64
_WORTH_A_PROCESS = 8 << 20
"""Bytes of logs below which starting a process takes longer than it saves."""


def outcomes(
    jobs: Sequence[Job], options: Options, journals: Journals | None = None, expanded: Folder | None = None
) -> Iterator[tuple[Job, Outcome]]:
    """The outcome of every session, in the order of the jobs, at most a few batches ahead of the one asked for.

    What the journals know is taken from there; what is found is added to them.  ``expanded`` is the folder for
    compressed logs that are split, as ``split`` has it.
    """
    size = _size(jobs)
    workers = min(options.workers, size // _WORTH_A_PROCESS + 1, size if options.sessions_by == "id" else len(jobs))
    by_id = options.sessions_by == "id"
    sessions = (part for job in jobs for part in _parts(job, options, expanded)) if by_id else iter(jobs)
    writer = journals.writer if journals else None
    convert = partial(_here, Converter(options), writer) if workers <= 1 else partial(_spread, options, workers, writer)
    if journals and not journals.is_empty():
        found = _known_or(convert, sessions, journals, options)
    else:
        found = convert(sessions)
    for job, outcome in found:
        if outcome is not None:
            yield job, outcome
            continue
        try:
            parts = split(job, options, expanded)
        except MemoryError:
            yield job, nothing(job, reading.lost_worker("memory ran out"))
            continue
        if parts == [job]:
            yield job, unreadable(job, OSError(EIO, "it changed while it was read"))
        else:
            yield from outcomes(parts, options, journals, expanded)


def _size(jobs: Sequence[Job]) -> int:
    """Bytes of all logs; those of a document count once, however many of its conversations are to be converted."""
    if isinstance(jobs, Jobs):
        return jobs.size
    return sum(job.size for job in jobs if not job.part)


def _parts(job: Job, options: Options, expanded: Folder | None) -> list[Job]:
    """The sessions of a log, which may be one of those already; converting it will say why it has none."""
    if job.spans is not None or job.part is not None:
        return [job]
    try:
        return split(job, options, expanded)
    except MemoryError:
        return [job]


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
            yield job, journals.get(place) or attempt(Converter(options), journals.writer, job)[0]

    for found in convert(unknown()):
        yield from known(ahead.popleft())
        yield found
    yield from known(len(waiting))


def _here(converter: Converter, writer: Writer | None, jobs: Iterable[Job]) -> Iterator[Found]:
    """Outcomes from this process."""
    for job in jobs:
        try:
            outcome, packed = attempt(converter, writer, job)
            if writer and packed:
                writer.seen[job.shown] = packed.seen
        except MemoryError:
            outcome = nothing(job, reading.lost_worker("memory ran out"))
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
    team = Team(options, writer)
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


class _Lots:
    """Batches on their way, only so far ahead of the one whose turn it is, since what is done waits in memory."""

    def __init__(self, todo: Iterable[Batch], ahead: int) -> None:
        self._todo = enumerate(todo)
        self._ahead = ahead
        self._under_way = 0
        self._turn = 0
        self._done: dict[int, list[Found]] = {}
        self._again: deque[Lot] = deque()
        self._missing: Counter[int] = Counter()  # of batches whose jobs are tried alone

    def take(self) -> Lot | None:
        """What to convert next; ``None`` while there is nothing that may begin."""
        lot = None
        if self._again:
            lot = None if self._under_way else self._again.popleft()
        elif self._under_way + len(self._done) < self._ahead:
            lot = next(starmap(Lot, self._todo), None)
        self._under_way += lot is not None
        return lot

    def put(self, lot: Lot, found: list[Found] | str) -> None:
        """What came of a lot: outcomes, or how the process ended that had it.

        Each of its jobs is then tried once more alone, and left out if that, too, ends a process.
        """
        self._under_way -= 1
        if isinstance(found, str) and not lot.alone:
            self._missing[lot.number] = len(lot.jobs)
            self._again += [Lot(lot.number, (job,), alone=True) for job in lot.jobs]
            return
        if isinstance(found, str):
            found = [
                (job, nothing(job, reading.lost_worker(f"its process ended twice, by {found}"))) for job in lot.jobs
            ]
        self._done.setdefault(lot.number, []).extend(found)
        if lot.alone:
            self._missing[lot.number] -= 1

    def is_next_done(self) -> bool:
        """Whether the batch whose turn it is has all its outcomes."""
        return self._turn in self._done and not self._missing[self._turn]

    def next_done(self) -> list[Found]:
        """The outcomes of the batch whose turn it is."""
        self._turn += 1
        return self._done.pop(self._turn - 1)
