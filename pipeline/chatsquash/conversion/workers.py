"""Sessions to outcomes, in this process or several, in the order of the logs."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from errno import EIO
from functools import partial
from itertools import starmap
from typing import TYPE_CHECKING

from chatsquash.checks import reading
from chatsquash.conversion.journal import Frame, Journals, JournalWriter
from chatsquash.conversion.pool import Batch, Done, Pool, attempt
from chatsquash.core.log import Log
from chatsquash.core.options import Options
from chatsquash.core.outcome import Outcome
from chatsquash.session.converter import Converter
from chatsquash.session.log_findings import nothing, unreadable
from chatsquash.sources.logs import Logs
from chatsquash.storage.folder import Folder

if TYPE_CHECKING:
    from chatsquash.session.join.sessions import Joins

_BATCH_BYTES = 4 << 20
_BATCH_JOBS = 64
_TOGETHER = 1 << 20
"""Bytes of lines above which an outcome of this process waits for no other."""
_SHARES = 32
"""Of one worker's part of all bytes a log is large that has more than one in so many."""
_WORTH_A_PROCESS = 8 << 20
"""Bytes of logs below which starting a process takes longer than it saves."""


def outcomes(  # noqa: PLR0913
    logs: Sequence[Log],
    options: Options,
    journals: Journals | None = None,
    expanded: Folder | None = None,
    found: Iterable[Log] | None = None,
    *,
    processes: int | None = None,
    joins: Joins | None = None,
) -> Iterator[tuple[Log, Outcome]]:
    """The outcome of every session, in the order of the logs, at most a few batches ahead of the one asked for.

    What the journals know is taken from there; what is found is added to them.  ``expanded`` is the folder for
    compressed logs that are split, as ``split`` has it.  ``found`` are the sessions in the logs, where they are known.
    So many ``processes`` convert; else as many of ``workers`` as are worth it, which may be this one alone.  ``joins``
    tells which are joined.
    """
    # The bytes of a document count once, however many of its conversations are to be converted.
    size = logs.size if isinstance(logs, Logs) else sum(log.size for log in logs if not log.part)
    workers = min(
        options.workers, size // _WORTH_A_PROCESS + 1, size if options.sessions_by in ("id", "chain") else len(logs)
    )
    by_id = options.sessions_by == "id"
    if options.sessions_by == "chain" and found is None:
        from chatsquash.session.chains import chained  # which few runs need

        found = chained(logs, options, expanded).sessions()
    sessions: Iterable[Log] = logs if found is None else found
    if by_id:
        sessions = (part for log in logs for part in _parts(log, options, expanded))
    sessions = joins.all(sessions) if joins else sessions
    writer = journals.writer if journals else None
    if workers <= 1 and processes is None:
        convert = partial(_here, Converter(options), writer)
    else:
        convert = partial(_spread, options, processes or workers, journals)
    if journals and not journals.is_empty():
        done = _known_or(convert, sessions, journals, options)
    else:
        done = convert(sessions)
    for log, outcome in done:
        if outcome is not None:
            yield log, outcome
            continue
        from chatsquash.session.parts import parts  # which few runs need

        try:
            divided = parts(log, options, expanded)
        except MemoryError:
            yield log, _no_memory(log)
            continue
        if divided == [log]:
            yield log, unreadable(log, OSError(EIO, "it changed while it was read"))
        else:
            yield from outcomes(divided, options, journals, expanded, processes=processes, joins=joins)


def _parts(log: Log, options: Options, expanded: Folder | None) -> list[Log]:
    """The sessions of a log, which may be one of those already; converting it will say why it has none."""
    if log.is_part:
        return [log]
    from chatsquash.session.parts import parts  # which few runs need

    try:
        return parts(log, options, expanded)
    except MemoryError:
        return [log]


def _known_or(
    convert: Callable[[Iterable[Log]], Iterator[Done]], logs: Iterable[Log], journals: Journals, options: Options
) -> Iterator[Done]:
    """The outcomes that journals know, and between them those of the sessions that they do not."""
    waiting: deque[tuple[Log, Frame]] = deque()
    ahead: deque[int] = deque()  # how many known ones stand before each of the others

    def unknown() -> Iterator[Log]:
        before = 0
        for log in logs:
            if frame := journals.find(log):
                waiting.append((log, frame))
                before += 1
            else:
                ahead.append(before)
                before = 0
                yield log

    def known(count: int) -> Iterator[Done]:
        for log, frame in (waiting.popleft() for _ in range(count)):
            # One that is damaged is converted, as if it were not there.
            yield log, journals.get(frame) or attempt(Converter(options), journals.writer, log)[0]

    for found in convert(unknown()):
        yield from known(ahead.popleft())
        yield found
    yield from known(len(waiting))


def _here(converter: Converter, writer: JournalWriter | None, logs: Iterable[Log]) -> Iterator[Done]:
    """Outcomes from this process; of many small sessions several at a time, since going to and fro takes longer."""
    done: list[Done] = []
    size = given = 0
    for log in logs:
        try:
            outcome, packed = attempt(converter, writer, log)
            if writer and packed:
                writer.seen[log.shown] = packed.seen
        except MemoryError:
            outcome = _no_memory(log)
        done.append((log, outcome))
        size += outcome.size if outcome else _TOGETHER
        if size >= _TOGETHER or len(done) >= min(_BATCH_JOBS, given // _BATCH_JOBS):
            yield from done
            given += len(done)
            done, size = [], 0
    yield from done


def _no_memory(log: Log) -> Outcome:
    return nothing(log, reading.lost_worker("memory ran out"))


def batches(logs: Iterable[Log]) -> Iterator[tuple[Log, ...]]:
    """Neighbouring logs, as many as are worth handing over: small files together, large ones alone."""
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


def _spread(options: Options, workers: int, journals: Journals | None, logs: Iterable[Log]) -> Iterator[Done]:
    """Outcomes from worker processes, each of which has one batch at a time.

    The lines of records stay in the journals of the workers where nobody looks at them here.  There is no thread on
    this side, so that a fork copies none and an interrupt meets none.
    """
    pool = Pool(options, journals.writer if journals else None)
    looks = options.max_chars is not None if options.foresees else options.looks
    first = _largest(logs, workers) if journals and isinstance(logs, Logs) else []
    queue = _Queue(batches(logs), 2 * workers + 2, first)
    try:
        pool.start(workers)
        while True:
            for connection in pool.idle():
                if batch := queue.take():
                    pool.send(connection, batch)
            if queue.is_next_done():
                for log, outcome in queue.next_done():
                    yield log, journals.filled(outcome) if journals and looks and outcome else outcome
            elif pool.under_way:
                for batch, done in pool.finished():
                    queue.put(batch, done)
            else:
                return
    finally:
        pool.close()


def _largest(logs: Logs, workers: int) -> list[Batch]:
    """Logs that are so large that one of them, begun last, would keep one worker busy alone; each is a batch."""
    least = max(_BATCH_BYTES, logs.size // (_SHARES * workers))
    if logs.largest <= least:
        return []
    found = [Batch(number, batch) for number, batch in enumerate(batches(logs)) if batch[0].size > least]
    return sorted(found, key=lambda batch: batch.logs[0].size, reverse=True)


class _Queue:
    """Batches on their way, only so far ahead of the one whose turn it is, since what is done waits in memory.

    Some go first, of which there are so few that all of them may wait: their records do not.
    """

    def __init__(self, todo: Iterable[tuple[Log, ...]], ahead: int, first: Sequence[Batch] = ()) -> None:
        self._first = deque(first)
        self._early = {batch.number for batch in first}
        self._waiting = 0  # of those that went first
        self._todo = (batch for batch in starmap(Batch, enumerate(todo)) if batch.number not in self._early)
        self._ahead = ahead
        self._under_way = 0
        self._turn = 0
        self._done: dict[int, list[Done]] = {}
        self._retries: deque[Batch] = deque()
        self._missing: Counter[int] = Counter()  # of batches whose logs are tried alone

    def take(self) -> Batch | None:
        """What to convert next; ``None`` while there is nothing that may begin."""
        batch = None
        if self._retries:
            batch = None if self._under_way else self._retries.popleft()
        elif self._first:
            batch = self._first.popleft()
            self._waiting += 1
        elif self._under_way + len(self._done) - self._waiting < self._ahead:
            batch = next(self._todo, None)
        self._under_way += batch is not None
        return batch

    def put(self, batch: Batch, done: list[Done] | str) -> None:
        """What came of a batch: outcomes, or how the process ended that had it.

        Each of its logs is then tried once more alone, and left out if that, too, ends a process.
        """
        self._under_way -= 1
        if isinstance(done, str):
            if not batch.alone:
                self._missing[batch.number] = len(batch.logs)
                self._retries += [Batch(batch.number, (log,), alone=True) for log in batch.logs]
                return
            lost = reading.lost_worker(f"its process ended twice, by {done}")
            done = [(log, nothing(log, lost)) for log in batch.logs]
        self._done.setdefault(batch.number, []).extend(done)
        if batch.alone:
            self._missing[batch.number] -= 1

    def is_next_done(self) -> bool:
        """Whether the batch whose turn it is has all its outcomes."""
        return self._turn in self._done and not self._missing[self._turn]

    def next_done(self) -> list[Done]:
        """The outcomes of the batch whose turn it is."""
        self._waiting -= self._turn in self._early
        self._turn += 1
        return self._done.pop(self._turn - 1)
