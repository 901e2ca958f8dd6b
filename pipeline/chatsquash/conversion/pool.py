"""Worker processes: each has one batch of sessions at a time, and one that dies is replaced."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, cast

from msgspec import Struct
from msgspec.structs import replace

from chatsquash.conversion.journal import JournalWriter, Packed
from chatsquash.core import platform
from chatsquash.core.errors import ShortageError
from chatsquash.core.log import Log
from chatsquash.core.options import Options
from chatsquash.core.outcome import Outcome
from chatsquash.reading.sessions import MixedSessionsError
from chatsquash.session.converter import Converter
from chatsquash.session.log_findings import unreadable

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

_NO_MEMORY = 70
"""The exit code of a worker process that ran out of memory, where the system did not kill it."""

Done = tuple[Log, Outcome | None]
"""A log and its outcome; ``None`` for a file that has to be split into its sessions first."""


class Batch(Struct, frozen=True):
    """What one process converts at a time."""

    number: int
    logs: tuple[Log, ...]
    alone: bool = False
    """Whether it is one of those that were under way when a process died, and no other is under way beside it."""


class Pool:
    """Worker processes, each with a connection; one that dies is replaced."""

    def __init__(self, options: Options, writer: JournalWriter | None) -> None:
        self._writer = writer
        self._given = (options, writer and replace(writer, descriptor=None, size=0))  # each has a journal of its own
        self._workers: dict[Connection, BaseProcess] = {}
        self.under_way: dict[Connection, Batch] = {}

    def start(self, count: int) -> None:
        """Start so many processes."""
        # Imported here, since it takes longer than to convert a small log.
        from multiprocessing import get_context

        method = platform.start_method()
        context = get_context(method)
        with platform.uninterrupted():
            for _ in range(count):
                ours, theirs = context.Pipe()
                # A fork copies our ends; a worker that kept them would not notice when this process is gone.
                copied = [*self._workers, ours] if method == "fork" else []
                process = context.Process(  # type: ignore[attr-defined]
                    target=_serve, args=(theirs, copied, *self._given), daemon=True
                )
                process.start()
                theirs.close()
                self._workers[ours] = process

    def idle(self) -> list[Connection]:
        """The workers that have nothing to do."""
        return [each for each in self._workers if each not in self.under_way]

    def send(self, connection: Connection, batch: Batch) -> None:
        """Give a batch to a worker that is idle."""
        self.under_way[connection] = batch
        with suppress(BrokenPipeError, ConnectionResetError):  # which waiting for it will tell
            connection.send(batch.logs)

    def finished(self) -> Iterator[tuple[Batch, list[Done] | str]]:
        """Wait; then the batches that came back, with their outcomes, or with how the process ended.

        Raises ``ShortageError`` where a process met one.
        """
        from multiprocessing.connection import wait

        for connection in cast("list[Connection]", wait(list(self.under_way))):
            batch = self.under_way.pop(connection)
            done: list[Done] | str
            try:
                received = connection.recv()
                if isinstance(received, str):
                    raise ShortageError(received)
                done = [self._received(log, sent) for log, sent in zip(batch.logs, received, strict=True)]
            except (EOFError, OSError):
                code = self._end(connection)
                self.start(1)
                done = signal.Signals(-code).name if code < 0 else f"exit code {code}"
            yield batch, done

    def close(self) -> None:
        """End all processes."""
        with platform.uninterrupted():
            for connection in list(self._workers):
                self._end(connection)

    def _received(self, log: Log, sent: Packed | Outcome | None) -> Done:
        if not isinstance(sent, Packed):
            return log, sent
        assert self._writer
        self._writer.seen[log.shown] = sent.seen
        return log, sent.outcome

    def _end(self, connection: Connection) -> int:
        """End a process, which may have ended already; its exit code."""
        process = self._workers.pop(connection)
        process.kill()  # what it writes is read up to where it is whole
        process.join()
        connection.close()
        return process.exitcode or 0


def _serve(connection: Connection, copied: list[Connection], options: Options, writer: JournalWriter | None) -> None:
    """A worker process: batches in, outcomes out, until the other side is gone."""
    platform.leave_interrupts_to_parent()
    platform.collect_less()
    platform.end_with_parent()
    for each in copied:
        each.close()
    if writer and "kingfisher" in options.redacts:
        from chatsquash.conversion import scanner_rules  # which few runs need

        scanner_rules.take(options, writer.folder.path.parents[1])
    converter = Converter(options)
    with suppress(EOFError, ConnectionError):
        while True:
            try:
                done = (attempt(converter, writer, log) for log in connection.recv())
                found = [packed if packed and packed.journal else outcome for outcome, packed in done]
            except MemoryError:
                os._exit(_NO_MEMORY)  # each of them is tried once more, alone
            except ShortageError as problem:
                connection.send(str(problem))
                return
            connection.send(found)


def attempt(converter: Converter, writer: JournalWriter | None, log: Log) -> tuple[Outcome | None, Packed | None]:
    """The outcome of a session, and how it is kept; none for a file that has to be split into its sessions first."""
    try:
        outcome = converter.convert(log, also=writer.look if writer else None)
    except MixedSessionsError:
        return None, None
    except OSError as problem:
        return unreadable(log, problem), None
    return outcome, writer.add(log, outcome) if writer else None
