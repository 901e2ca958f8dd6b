"""Converts sessions to outcomes, in one or several processes, in the order of the logs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from errno import EIO
from functools import cache, partial
from typing import TYPE_CHECKING

from chatsquash.checks import reading
from chatsquash.conversion.journal import Frame, Journals, JournalWriter, PackedOutcome
from chatsquash.core.lazy import LazyModule
from chatsquash.core.log import Log
from chatsquash.core.options import Options
from chatsquash.core.outcome import Outcome
from chatsquash.session.converter import Converter
from chatsquash.session.lineages import Lineages
from chatsquash.session.log_findings import rejected_outcome, unreadable_outcome
from chatsquash.sources.logs import Logs
from chatsquash.storage.folder import Folder

if TYPE_CHECKING:
    from chatsquash.conversion import pool
    from chatsquash.conversion.pool import Batch, Queue
    from chatsquash.session.join.sessions import Joins
else:
    pool = LazyModule("chatsquash.conversion.pool")

Done = tuple[Log, Outcome | None]
"""A log and its outcome; ``None`` for a file that must be split into its sessions first."""
Result = PackedOutcome | Outcome | None
"""An outcome as a worker process sends it."""
_BATCH_BYTES = 4 << 20
_BATCH_JOBS = 64
_CHUNK_BYTES = 1 << 20
"""Bytes of lines after which outcomes of this process are passed on."""
_SHARE_AHEAD = 8
"""Outcomes of this process are passed on when their number is this fraction (1/8) of all earlier ones."""
_SHARES_PER_WORKER = 32
"""A log is large if it has more than this fraction (1/32) of the bytes of one worker."""
_WORTH_A_PROCESS = 8 << 20
"""Bytes of logs per process below which starting it takes longer than it saves."""


def outcomes(  # noqa: PLR0913
    logs: Sequence[Log],
    options: Options,
    journals: Journals | None = None,
    expanded: Folder | None = None,
    grouping: Iterable[Log] | None = None,
    *,
    processes: int | None = None,
    joins: Joins | None = None,
    lineages: Lineages | None = None,
    converter: Callable[[], Converter] | None = None,
) -> Iterator[tuple[Log, Outcome]]:
    """Yield the outcome of every session, in the order of the logs, converting at most a few batches ahead.

    Args:
        logs: The logs, in order.
        options: The options of the run.
        journals: Journals from which outcomes are reused, and to which others are added.
        expanded: The folder for expanded copies of logs that are split.
        grouping: The sessions in the logs, if they are known.
        processes: Number of worker processes; by default as many of ``--workers`` as are worthwhile.
        joins: Selects the sessions to join.
        lineages: The lineages of the run; by default those among the logs.
        converter: Returns the converter of this process; many files may have to be split, so they share it.
    """
    lineages = lineages or Lineages(logs, options)
    converter = converter or cache(partial(Converter, options, lineages))
    sessions = _sessions(logs, options, expanded, grouping)
    sessions = joins.all(sessions) if joins else sessions
    convert = _conversion(logs, options, journals, processes, lineages, converter)
    if journals and not journals.is_empty():
        done = _reuse_or_convert(convert, sessions, journals, converter())
    else:
        done = convert(sessions)
    for log, outcome in done:
        if outcome is not None:
            yield log, outcome
            continue
        parts = _divide(log, options, expanded)
        if isinstance(parts, Outcome):
            yield log, parts
        else:
            rest = partial(outcomes, processes=processes, joins=joins, lineages=lineages, converter=converter)
            yield from rest(parts, options, journals, expanded)


def _conversion(  # noqa: PLR0913, PLR0917
    logs: Sequence[Log],
    options: Options,
    journals: Journals | None,
    processes: int | None,
    lineages: Lineages,
    converter: Callable[[], Converter],
) -> Callable[[Iterable[Log]], Iterator[Done]]:
    """Return the function that converts sessions, in this process if one is enough for the logs."""
    workers = useful_workers(logs, options)
    if workers <= 1 and processes is None:
        return partial(_convert_here, converter(), journals.writer if journals else None)
    return partial(_convert_in_workers, options, processes or workers, journals, lineages)


def _sessions(
    logs: Sequence[Log], options: Options, expanded: Folder | None, grouping: Iterable[Log] | None
) -> Iterable[Log]:
    """Return the sessions in the logs; ``grouping`` if it is known."""
    if options.sessions_by == "id":
        return (part for log in logs for part in _parts(log, options, expanded))
    if options.sessions_by == "chain" and grouping is None:
        from chatsquash.session.chains import chain_logs  # rarely needed

        return chain_logs(logs, options, expanded).sessions()
    return logs if grouping is None else grouping


def useful_workers(logs: Sequence[Log], options: Options) -> int:
    """Return the useful number of workers; a document counts once, whatever its number of conversations."""
    size = logs.size if isinstance(logs, Logs) else sum(log.size for log in logs if not log.part)
    jobs = size if options.sessions_by in ("id", "chain") else len(logs)
    return min(options.workers, size // _WORTH_A_PROCESS + 1, jobs)


def _divide(log: Log, options: Options, expanded: Folder | None) -> list[Log] | Outcome:
    """Split a log that turned out to have several sessions; return an outcome if this is impossible."""
    from chatsquash.session.parts import parts  # rarely needed

    try:
        sessions = parts(log, options, expanded)
    except MemoryError:
        return _no_memory(log)
    if sessions == [log]:
        return unreadable_outcome(log, OSError(EIO, "it changed while being read"))
    return sessions


def _parts(log: Log, options: Options, expanded: Folder | None) -> list[Log]:
    """Return the sessions of a log; the log itself if it is a part already or memory ran out."""
    if log.is_part:
        return [log]
    from chatsquash.session.parts import parts  # rarely needed

    try:
        return parts(log, options, expanded)
    except MemoryError:
        return [log]


def _reuse_or_convert(
    convert: Callable[[Iterable[Log]], Iterator[Done]], logs: Iterable[Log], journals: Journals, converter: Converter
) -> Iterator[Done]:
    """Yield outcomes in order, reused from journals or converted."""
    waiting: deque[tuple[Log, Frame, bytes]] = deque()
    ahead: deque[int] = deque()  # number of known sessions before each unknown one

    def unknown() -> Iterator[Log]:
        before = 0
        for log in logs:
            if known := journals.find(log):
                waiting.append((log, *known))
                before += 1
            else:
                ahead.append(before)
                before = 0
                yield log

    def reuse(count: int) -> Iterator[Done]:
        for _ in range(count):
            log, frame, seen = waiting.popleft()
            journals.writer.remember(log, seen)
            outcome = journals.get(frame, partial(converter.is_current, log))
            if outcome is None:  # a damaged outcome is converted again
                outcome = attempt(converter, journals.writer, log)[0]
                journals.writer.flush()
            yield log, outcome

    for outcome in convert(unknown()):
        yield from reuse(ahead.popleft())
        yield outcome
    yield from reuse(len(waiting))


def _convert_here(converter: Converter, writer: JournalWriter | None, logs: Iterable[Log]) -> Iterator[Done]:
    """Yield outcomes from this process; small sessions are converted several at a time, which is faster."""
    done: list[Done] = []
    size = yielded = 0
    for log in logs:
        try:
            outcome, packed_outcome = attempt(converter, writer, log)
            if writer and packed_outcome:
                writer.remember(log, packed_outcome.seen)
        except MemoryError:
            outcome = _no_memory(log)
        done.append((log, outcome))
        size += outcome.account.size if outcome else _CHUNK_BYTES
        if size >= _CHUNK_BYTES or len(done) >= min(_BATCH_JOBS, yielded // _SHARE_AHEAD):
            if writer:
                writer.flush()
            yield from done
            yielded += len(done)
            done, size = [], 0
    if writer:
        writer.flush()
    yield from done


def _no_memory(log: Log) -> Outcome:
    return rejected_outcome(log, reading.lost_worker("memory ran out"))


def batches(logs: Iterable[Log]) -> Iterator[tuple[Log, ...]]:
    """Group consecutive logs into batches: small files together, large files in their own batches."""
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


def _convert_in_workers(
    options: Options, workers: int, journals: Journals | None, lineages: Lineages, logs: Iterable[Log]
) -> Iterator[Done]:
    """Yield outcomes from worker processes, each of which works on one batch at a time.

    The lines of records stay in the journals of the workers unless this process needs them.
    """
    writer = journals.writer if journals else None
    fills = needs_lines(options)
    first = _largest(logs, workers) if journals and isinstance(logs, Logs) else []
    lineages.look_ahead()
    queue: Queue[Log, Result] = pool.Queue(batches(logs), 2 * workers + 2, _lose, first)
    own_writer = writer and JournalWriter(writer.folder, writer.run, writer.identity)  # each has its own journal
    processes = pool.Pool(_prepare, options, lineages, own_writer)
    for results in processes.run(queue, workers):
        for log, result in results:
            if isinstance(result, PackedOutcome) and writer:
                writer.remember(log, result.seen)
            outcome = result.outcome if isinstance(result, PackedOutcome) else result
            yield log, journals.fill(outcome) if journals and fills and outcome else outcome


def needs_lines(options: Options) -> bool:
    """Return whether a run needs the lines of records that are in journals."""
    return options.max_chars is not None if options.needs_all_records else options.inspects_lines


def _prepare(
    options: Options, lineages: Lineages, writer: JournalWriter | None
) -> Callable[[Sequence[Log]], list[Result]]:
    """Return the function that converts a batch of logs in a worker process."""
    if writer and "kingfisher" in options.redacts:
        from chatsquash.conversion import scanner_rules  # rarely needed

        scanner_rules.take(options, writer.folder.path.parents[1])
    converter = Converter(options, lineages)

    def convert(logs: Sequence[Log]) -> list[Result]:
        done = [attempt(converter, writer, log) for log in logs]
        are_stored = writer is not None and writer.flush()
        return [frame if frame and are_stored else outcome for outcome, frame in done]

    return convert


def _lose(log: Log, reason: str) -> Outcome:
    return rejected_outcome(log, reading.lost_worker(f"its process died twice with {reason}"))


def attempt(
    converter: Converter, writer: JournalWriter | None, log: Log
) -> tuple[Outcome | None, PackedOutcome | None]:
    """Convert a session; return its outcome and the stored form.

    The outcome is ``None`` for a file that must be split into its sessions first.
    """
    try:
        outcome = converter.convert(log, visit=writer.identify_open if writer else None)
    except OSError as problem:
        return unreadable_outcome(log, problem), None
    if outcome and converter.options.provenance:
        from chatsquash.provenance import origins  # few runs need it

        outcome = origins.with_origins(outcome, log, converter.options)
    return outcome, writer.add(log, outcome) if writer and outcome else None


def _largest(logs: Logs, workers: int) -> list[Batch[Log]]:
    """Return batches of single logs that are so large that they should start first, to keep all workers busy."""
    least = max(_BATCH_BYTES, logs.size // (_SHARES_PER_WORKER * workers))
    if logs.largest <= least:
        return []
    large = [pool.Batch(number, batch) for number, batch in enumerate(batches(logs)) if batch[0].size > least]
    return sorted(large, key=lambda batch: batch.jobs[0].size, reverse=True)
