"""What a run takes over from the one before it, and what it remembers for the next."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, get_origin

import msgspec
from msgspec import Struct
from xxhash import xxh3_128

from chatsquash.conversion.journal import Journals, JournalWriter, identity, is_passing
from chatsquash.core.errors import ChatsquashError, ShortageError
from chatsquash.core.log import Log
from chatsquash.core.options import Options
from chatsquash.core.outcome import Outcome, Relative
from chatsquash.core.text import pluralize
from chatsquash.core.version import code_version
from chatsquash.dataset.store import Output
from chatsquash.dataset.summary import Summary
from chatsquash.sources.find import Discovery
from chatsquash.sources.identity import identify
from chatsquash.sources.relatives import is_unchanged


class Memory(Struct):
    """What a run leaves for the next."""

    logs: bytes
    """The hash of all logs, as ``Incremental.see`` sees them, and of all options; empty where a log was not read."""
    journals: list[str]
    summary: Summary
    relatives: list[Relative] = []
    """The other files that outcomes were made of."""


class Incremental:
    """One run into an output folder that may have seen others."""

    def __init__(self, out: Output, options: Options, described: Mapping[str, object]) -> None:
        self._out = out
        self._options = options
        self._start = msgspec.json.encode([code_version(), described], order="sorted")
        self.journals = Journals(JournalWriter(out.journal, f"{time.time_ns():020}", identity(described)))
        self._seen = xxh3_128(self._start)
        self._last = ""
        self._memory = b""
        self._useless: set[str] = set()
        self._relatives: dict[Relative, None] = {}

    def unchanged(self, discovery: Discovery) -> Summary | None:
        """The summary of the last run, where nothing changed since: no log, no option, no file that it wrote.

        A run that writes a file elsewhere (``--write-known``, ``--tool-report-path``) writes it anew.

        Else gets ready to take from it what is still true.
        """
        data, is_as_left = self._out.read_memory()
        memory = _remembered(data)
        is_known = memory and is_as_left and not self._options.full and all(map(is_unchanged, memory.relatives))
        if memory and is_known and not self._options.names_files and memory.logs == self._hash(discovery):
            return replace(memory.summary, unchanged=True)
        known = memory.journals if memory else ()
        names = self.journals.names()
        if not self._options.full:
            self.journals.load(name for name in names if name in known)
        if self._options.resume:
            self.journals.load(name for name in names if name not in known)
        return None

    def take(self, outcome: Outcome) -> None:
        """Take note of a session that was converted."""
        if outcome.account.relatives:
            self._relatives.update(dict.fromkeys(outcome.account.relatives))

    def see(self, log: Log) -> None:
        """Take note of a log that was converted; its sessions follow each other."""
        seen = self.journals.writer.seen.pop(log.display_path, None)
        if log.display_path != self._last:
            self._last = log.display_path
            is_all = self._options.sessions_by != "chain"  # else what was seen is a session of several files
            self._seen.update((seen if is_all else None) or _identity(log))

    def memory(self, summary: Summary, discovery: Discovery) -> bytes:
        """What the next run wants to know."""
        passing = is_passing(code for _, code in (*summary.findings, *summary.filtered_findings))
        logs = b"" if passing else _digest(self._seen, discovery)
        names = self.journals.settle()
        self._useless = set(self.journals.names()).difference(names)
        self._memory = msgspec.msgpack.encode(
            Memory(logs, names, replace(summary, reused=0, other_options=[]), list(self._relatives))
        )
        return self._memory

    def delete_useless(self) -> None:
        """Delete the journals that are of no more use."""
        self.journals.forget(self._useless)

    def interrupt(self, problem: BaseException, taken: int) -> None:
        """Keep what a run finished that was interrupted, and say with the exception how to go on.

        A run that stopped by itself leaves no trace, unless the machine lacked something.
        """
        self.journals.close()
        if isinstance(problem, ChatsquashError) and not isinstance(problem, ShortageError):
            self.journals.forget(self.journals.own())
        elif self._memory and self._out.read_memory()[0] == self._memory:
            problem.add_note("all was written before")
        elif self._out.is_decided():
            problem.add_note("all is converted, the same command puts the files in their places")
        elif self._out.resumes and (self.journals.own() or self.journals.reused):
            # Of none that was taken in order, others behind it may be done all the same.
            done = f"{pluralize(taken, 'session')} done, " if taken else ""
            problem.add_note(f"{done}nothing new written; the same command with --resume goes on from there")

    def _hash(self, discovery: Discovery) -> bytes:
        seen = xxh3_128(self._start)
        for log in discovery.logs:
            seen.update(_identity(log))
        return _digest(seen, discovery)


def _identity(log: Log) -> bytes:
    try:
        return identify(log)
    except OSError:
        return b"gone"


def _digest(seen: xxh3_128, discovery: Discovery) -> bytes:
    whole = seen.copy()
    beside = [getattr(discovery, name) for name in discovery.__struct_fields__ if name != "logs"]
    known = [sorted(value.items()) if isinstance(value, Counter) else value for value in beside]
    whole.update(repr(known).encode("utf-8", "backslashreplace"))
    return whole.digest()


def _remembered(data: bytes) -> Memory | None:
    if not data:
        return None  # without looking through the type of a memory, which takes time
    try:
        return msgspec.msgpack.decode(data, type=Memory, dec_hook=_counter)
    except (msgspec.MsgspecError, ValueError, RecursionError):  # what is damaged may be no text
        return None


def _counter(kind: Any, value: Any) -> Any:
    return Counter(value) if get_origin(kind) is Counter else value
