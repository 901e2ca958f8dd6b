"""Sessions to outcomes, in this process or several, in the order of the logs."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from errno import EIO
from functools import partial
from itertools import starmap

from chatsquash.checks import reading
from chatsquash.folder import Folder
from chatsquash.model import Log, Outcome
from chatsquash.options import Options
from chatsquash.read.sessions import split
from chatsquash.run.journal import Journals, Place, Writer
from chatsquash.run.pool import Batch, Found, Lot, Team, attempt
from chatsquash.run.session import Converter, nothing, unreadable
from chatsquash.sources.logs import Logs

_BATCH_BYTES = 4 << 20
_BATCH_JOBS = 64
_WORTH_A_PROCESS = 8 << 20
"""Bytes of logs below which starting a process takes longer than it saves."""


def outcomes(
    logs: Sequence[Log], options: Options, journals: Journals | None = None, expanded: Folder | None = None
) -> Iterator[tuple[Log, Outcome]]:
    """The outcome of every session, in the order of the logs, at most a few batches ahead of the one asked for.

    What the journals know is taken from there; what is found is added to them.  ``expanded`` is the folder for
    compressed logs that are split, as ``split`` has it.
    """
    size = _size(logs)
    workers = min(options.workers, size // _WORTH_A_PROCESS + 1, size if options.sessions_by == "id" else len(logs))
    by_id = options.sessions_by == "id"
    sessions = (part for log in logs for part in _parts(log, options, expanded)) if by_id else iter(logs)
    writer = journals.writer if journals else None
    convert = partial(_here, Converter(options), writer) if workers <= 1 else partial(_spread, options, workers, writer)
    if journals and not journals.is_empty():
        found = _known_or(convert, sessions, journals, options)
    else:
        found = convert(sessions)
    for log, outcome in found:
        if outcome is not None:
            yield log, outcome
            continue
        try:
            parts = split(log, options, expanded)
        except MemoryError:
            yield log, nothing(log, reading.lost_worker("memory ran out"))
            continue
        if parts == [log]:
            yield log, unreadable(log, OSError(EIO, "it changed while it was read"))
        else:
            yield from outcomes(parts, options, journals, expanded)


def _size(logs: Sequence[Log]) -> int:
    """Bytes of all logs; those of a document count once, however many of its conversations are to be converted."""
    if isinstance(logs, Logs):
        return logs.size
    return sum(log.size for log in logs if not log.part)


def _parts(log: Log, options: Options, expanded: Folder | None) -> list[Log]:
    """The sessions of a log, which may be one of those already; converting it will say why it has none."""
    if log.spans is not None or log.part is not None:
        return [log]
    try:
        return split(log, options, expanded)
    except MemoryError:
        return [log]


def _known_or(
    convert: Callable[[Iterable[Log]], Iterator[Found]], logs: Iterable[Log], journals: Journals, options: Options
) -> Iterator[Found]:
    """The outcomes that journals know, and between them those of the sessions that they do not."""
    waiting: deque[tuple[Log, Place]] = deque()
    ahead: deque[int] = deque()  # how many known ones stand before each of the others

    def unknown() -> Iterator[Log]:
        before = 0
        for log in logs:
            if place := journals.find(log):
                waiting.append((log, place))
                before += 1
            else:
                ahead.append(before)
                before = 0
                yield log

    def known(count: int) -> Iterator[Found]:
        for log, place in (waiting.popleft() for _ in range(count)):
            # One that is damaged is converted, as if it were not there.
            yield log, journals.get(place) or attempt(Converter(options), journals.writer, log)[0]

    for found in convert(unknown()):
        yield from known(ahead.popleft())
        yield found
    yield from known(len(waiting))


def _here(converter: Converter, writer: Writer | None, logs: Iterable[Log]) -> Iterator[Found]:
    """Outcomes from this process."""
    for log in logs:
        try:
            outcome, packed = attempt(converter, writer, log)
            if writer and packed:
                writer.seen[log.shown] = packed.seen
        except MemoryError:
            outcome = nothing(log, reading.lost_worker("memory ran out"))
        yield log, outcome


def batches(logs: Iterable[Log]) -> Iterator[Batch]:
    """Neighbouring logs in lots worth handing over: small files together, large ones alone."""
    batch: list[Log] = []
    size = 0
    for log in logs:
        if batch and (size + log.size > _BATCH_BYTES or len(batch) == _BATCH_JOBS):
            yield tuple(batch)
            batch, size = [], 0
        batch.append(log)
        size += log.size
    if batch:
        yield tuple(batch)


def _spread(options: Options, workers: int, writer: Writer | None, logs: Iterable[Log]) -> Iterator[Found]:
    """Outcomes from worker processes, each of which has one batch at a time.

    There is no thread on this side, so that a fork copies none and an interrupt meets none.
    """
    team = Team(options, writer)
    lots = _Lots(batches(logs), 2 * workers + 2)
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
        self._missing: Counter[int] = Counter()  # of batches whose logs are tried alone

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

        Each of its logs is then tried once more alone, and left out if that, too, ends a process.
        """
        self._under_way -= 1
        if isinstance(found, str) and not lot.alone:
            self._missing[lot.number] = len(lot.logs)
            self._again += [Lot(lot.number, (log,), alone=True) for log in lot.logs]
            return
        if isinstance(found, str):
            found = [
                (log, nothing(log, reading.lost_worker(f"its process ended twice, by {found}"))) for log in lot.logs
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
