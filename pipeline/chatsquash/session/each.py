"""The sessions of logs, one after the other, without a dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

from chatsquash.core.errors import UsageError
from chatsquash.core.log import Log
from chatsquash.core.options import Options
from chatsquash.reading import documents
from chatsquash.reading.sessions import MixedSessionsError
from chatsquash.session.chains import chained
from chatsquash.session.parts import parts
from chatsquash.sources.find import discover
from chatsquash.sources.no_logs import nothing_to_read

T = TypeVar("T")


def each_session(logs: Iterable[str], options: Options, work: Callable[[Log], T]) -> Iterator[T]:
    """What ``work`` makes of each session of logs; raises as ``inspect``.

    ``work`` may raise ``MixedSessionsError`` for a log, and is then given the sessions in it.
    """
    roots = list(logs)
    documents.forget()  # of an earlier run
    found = discover(roots, options, documents.is_document)
    if not found.logs:
        raise UsageError(nothing_to_read(roots, found))
    by_chain = options.sessions_by == "chain"
    for log in chained(found.logs, options).sessions() if by_chain else found.logs:
        yield from _sessions_in(log, options, work)


def _sessions_in(log: Log, options: Options, work: Callable[[Log], T]) -> Iterator[T]:
    """What is made of a log, or of each of the sessions that its file holds."""
    is_divided = options.sessions_by == "id" and not log.is_part
    try:
        for part in parts(log, options) if is_divided else [log]:
            try:
                yield work(part)
            except MixedSessionsError:
                sessions = parts(part, options)
                if sessions == [part]:
                    raise UsageError(f"{log.shown}: cannot be read (it changed while it was read)") from None
                for each in sessions:
                    yield from _sessions_in(each, options, work)
    except OSError as problem:
        raise UsageError(f"{log.shown}: cannot be read ({problem.strerror})") from None
