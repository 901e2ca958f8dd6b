"""Sessions to outcomes, in this process or several, in the order of the logs."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from errno import EIO
from functools import partial
from typing import TYPE_CHECKING

from msgspec.structs import replace

from chatsquash.checks import reading
from chatsquash.conversion.journal import Frame, Journals, JournalWriter, PackedOutcome
from chatsquash.conversion.pool import Batch, Pool, Queue
from chatsquash.core.log import Log
from chatsquash.core.options import Options
from chatsquash.core.outcome import Outcome
from chatsquash.session.converter import Converter
from chatsquash.session.lineages import Lineages
from chatsquash.session.log_findings import rejected_outcome, unreadable_outcome
from chatsquash.sources.logs import Logs
from chatsquash.storage.folder import Folder

if TYPE_CHECKING:
    from chatsquash.session.join.sessions import Joins

Done = tuple[Log, Outcome | None]
"""A log and its outcome; ``None`` for a file that has to be split into its sessions first."""
Sent = PackedOutcome | Outcome | None
"""An outcome as a worker process sends it."""
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
    grouped: Iterable[Log] | None = None,
    *,
    processes: int | None = None,
    joins: Joins | None = None,
    lineages: Lineages | None = None,
) -> Iterator[tuple[Log, Outcome]]:
    """The outcome of every session, in the order of the logs, at most a few batches ahead of the one asked for.

    Outcomes in the journals are reused, others are added to them.  ``expanded`` is the folder for compressed logs that
    are split, as ``split`` has it; ``grouped`` are the sessions in the logs, if they are known; ``processes`` is the
    number of worker processes, by default as many of ``workers`` as pay off; ``joins`` selects the sessions to join;
    ``lineages`` are those of the run, by default those among the logs.
    """
    lineages = lineages or Lineages(logs, options)
    workers = _useful_workers(logs, options)
    sessions = _sessions(logs, options, expanded, grouped)
    sessions = joins.all(sessions) if joins else sessions
    writer = journals.writer if journals else None
    if workers <= 1 and processes is None:
        convert = partial(_here, Converter(options, lineages), writer)
    else:
        convert = partial(_spread, options, processes or workers, journals, lineages)
    if journals and not journals.is_empty():
        done = _known_or(convert, sessions, journals, Converter(options, lineages))
    else:
        done = convert(sessions)
    for log, outcome in done:
        if outcome is not None:
            yield log, outcome
            continue
        divided = _divide(log, options, expanded)
        if isinstance(divided, Outcome):
            yield log, divided
        else:
            yield from outcomes(
                divided, options, journals, expanded, processes=processes, joins=joins, lineages=lineages
            )


def _sessions(
    logs: Sequence[Log], options: Options, expanded: Folder | None, grouped: Iterable[Log] | None
) -> Iterable[Log]:
    """Return the sessions in the logs; ``grouped`` if they are known."""
    if options.sessions_by == "id":
        return (part for log in logs for part in _parts(log, options, expanded))
    if options.sessions_by == "chain" and grouped is None:
        from chatsquash.session.chains import chain_logs  # which few runs need

        return chain_logs(logs, options, expanded).sessions()
    return logs if grouped is None else grouped


def _useful_workers(logs: Sequence[Log], options: Options) -> int:
    """As many of ``workers`` as pay off; the bytes of a document count once, whatever its number of conversations."""
    size = logs.size if isinstance(logs, Logs) else sum(log.size for log in logs if not log.part)
    jobs = size if options.sessions_by in ("id", "chain") else len(logs)
    return min(options.workers, size // _WORTH_A_PROCESS + 1, jobs)


def _divide(log: Log, options: Options, expanded: Folder | None) -> list[Log] | Outcome:
    """The sessions of a log that has several after all, or the outcome of one that cannot be divided."""
    from chatsquash.session.parts import parts  # which few runs need

    try:
        divided = parts(log, options, expanded)
    except MemoryError:
        return _no_memory(log)
    if divided == [log]:
        return unreadable_outcome(log, OSError(EIO, "it changed while it was read"))
    return divided


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
    convert: Callable[[Iterable[Log]], Iterator[Done]], logs: Iterable[Log], journals: Journals, converter: Converter
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

    def reuse(count: int) -> Iterator[Done]:
        for log, frame in (waiting.popleft() for _ in range(count)):
            # One that is damaged is converted, as if it were not there.
            yield (
                log,
                journals.get(frame, partial(converter.is_current, log)) or attempt(converter, journals.writer, log)[0],
            )

    for outcome in convert(unknown()):
        yield from reuse(ahead.popleft())
        yield outcome
    yield from reuse(len(waiting))


def _here(converter: Converter, writer: JournalWriter | None, logs: Iterable[Log]) -> Iterator[Done]:
    """Outcomes from this process; of many small sessions several at a time, since going to and fro takes longer."""
    done: list[Done] = []
    size = given = 0
    for log in logs:
        try:
            outcome, packed = attempt(converter, writer, log)
            if writer and packed:
                writer.seen[log.display_path] = packed.seen
        except MemoryError:
            outcome = _no_memory(log)
        done.append((log, outcome))
        size += outcome.account.size if outcome else _TOGETHER
        if size >= _TOGETHER or len(done) >= min(_BATCH_JOBS, given // _BATCH_JOBS):
            yield from done
            given += len(done)
            done, size = [], 0
    yield from done


def _no_memory(log: Log) -> Outcome:
    return rejected_outcome(log, reading.lost_worker("memory ran out"))


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


def _spread(
    options: Options, workers: int, journals: Journals | None, lineages: Lineages, logs: Iterable[Log]
) -> Iterator[Done]:
    """Outcomes from worker processes, each of which has one batch at a time.

    The lines of records stay in the journals of the workers where nobody looks at them here.
    """
    writer = journals.writer if journals else None
    looks = options.max_chars is not None if options.needs_all_records else options.inspects_lines
    first = _largest(logs, workers) if journals and isinstance(logs, Logs) else []
    lineages.look_ahead()
    queue: Queue[Log, Sent] = Queue(batches(logs), 2 * workers + 2, _lose, first)
    pool = Pool(
        _prepare, options, lineages, writer and replace(writer, descriptor=None, size=0)
    )  # each has its own journal
    for results in pool.run(queue, workers):
        for log, sent in results:
            if isinstance(sent, PackedOutcome) and writer:
                writer.seen[log.display_path] = sent.seen
            outcome = sent.outcome if isinstance(sent, PackedOutcome) else sent
            yield log, journals.fill(outcome) if journals and looks and outcome else outcome


def _prepare(options: Options, lineages: Lineages, writer: JournalWriter | None) -> Callable[[Log], Sent]:
    """What converts a log in a worker process."""
    if writer and "kingfisher" in options.redacts:
        from chatsquash.conversion import scanner_rules  # which few runs need

        scanner_rules.take(options, writer.folder.path.parents[1])
    converter = Converter(options, lineages)

    def convert(log: Log) -> Sent:
        outcome, packed = attempt(converter, writer, log)
        return packed if packed and packed.journal else outcome

    return convert


def _lose(log: Log, how: str) -> Outcome:
    return rejected_outcome(log, reading.lost_worker(f"its process ended twice, by {how}"))


def attempt(
    converter: Converter, writer: JournalWriter | None, log: Log
) -> tuple[Outcome | None, PackedOutcome | None]:
    """The outcome of a session, and how it is kept; none for a file that has to be split into its sessions first."""
    try:
        outcome = converter.convert(log, visit=writer.look if writer else None)
    except OSError as problem:
        return unreadable_outcome(log, problem), None
    return outcome, writer.add(log, outcome) if writer and outcome else None


def _largest(logs: Logs, workers: int) -> list[Batch[Log]]:
    """Logs that are so large that one of them, begun last, would keep one worker busy alone; each is a batch."""
    least = max(_BATCH_BYTES, logs.size // (_SHARES * workers))
    if logs.largest <= least:
        return []
    large = [Batch(number, batch) for number, batch in enumerate(batches(logs)) if batch[0].size > least]
    return sorted(large, key=lambda batch: batch.jobs[0].size, reverse=True)
