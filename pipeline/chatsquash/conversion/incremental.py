"""Incremental runs: reuse of the previous run, and the memory for the next one."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, get_origin

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from xxhash import xxh3_128

from chatsquash.conversion.journal import Journals, JournalWriter, identity, is_transient
from chatsquash.core.errors import ChatsquashError, ShortageError
from chatsquash.core.lazy import LazyModule
from chatsquash.core.log import Log
from chatsquash.core.options import Options
from chatsquash.core.outcome import Outcome, Relative
from chatsquash.core.text import pluralize
from chatsquash.core.version import code_version
from chatsquash.dataset.store import Output
from chatsquash.dataset.summary import Summary
from chatsquash.sources.find import Discovery
from chatsquash.sources.identity import identify

if TYPE_CHECKING:
    from chatsquash.sources import relatives
else:
    relatives = LazyModule("chatsquash.sources.relatives")


class Memory(Struct):
    """The memory of a run for the next one."""

    logs: bytes
    """The hash of all logs and options; empty if a log was not read."""
    journals: list[str]
    summary: Summary
    relatives: list[Relative] = []
    """Other files on which outcomes depend."""


class Incremental:
    """A run into an output folder that may contain the journals of earlier runs."""

    def __init__(self, out: Output, options: Options, options_json: Mapping[str, object]) -> None:
        self._out = out
        self._options = options
        self._start = msgspec.json.encode([code_version(), options_json], order="sorted")
        self.journals = Journals(JournalWriter(out.journal, f"{time.time_ns():020}", identity(options_json)))
        self._seen = xxh3_128(self._start)
        self._last = ""
        self._memory = b""
        self._useless: set[str] = set()
        self._relatives: dict[Relative, None] = {}

    def unchanged(self, discovery: Discovery) -> Summary | None:
        """Return the summary of the last run if no log, option or output file changed; else load its journals.

        Runs that write a file elsewhere (``--write-known``, ``--tool-report-path``) always write it again.
        """
        data, is_as_left = self._out.read_memory()
        memory = _decode(data)
        is_known = (
            memory
            and is_as_left
            and not self._options.full
            and all(relatives.is_unchanged(each) for each in memory.relatives)
        )
        if memory and is_known and not self._options.names_files and memory.logs == self._hash(discovery):
            return replace(memory.summary, unchanged=True)
        known = memory.journals if memory else ()
        names = self.journals.names()
        if not self._options.full:
            self.journals.load(name for name in names if name in known)
        if self._options.resume:
            self.journals.load(name for name in names if name not in known)
        return None

    def add_session(self, outcome: Outcome) -> None:
        """Record a converted session."""
        if outcome.account.relatives:
            self._relatives.update(dict.fromkeys(outcome.account.relatives))

    def add_log(self, log: Log) -> None:
        """Record a converted log; the sessions of a log are consecutive."""
        seen = self.journals.writer.seen.pop(log.display_path, None)
        if log.display_path != self._last:
            self._last = log.display_path
            self._seen.update(seen or _identity(log))

    def memory(self, summary: Summary, discovery: Discovery) -> bytes:
        """Return the encoded memory for the next run, and determine the journals to delete."""
        is_preliminary = is_transient(code for _, code in (*summary.findings, *summary.filtered_findings))
        logs = b"" if is_preliminary else _digest(self._seen, discovery)
        names = self.journals.settle()
        self._useless = set(self.journals.names()).difference(names)
        self._memory = msgspec.msgpack.encode(
            Memory(logs, names, replace(summary, reused=0, other_options=[]), list(self._relatives))
        )
        return self._memory

    def delete_useless(self) -> None:
        """Delete the journals that are no longer needed."""
        self.journals.forget(self._useless)

    def interrupt(self, problem: BaseException, finished: int) -> None:
        """Keep the finished sessions of an interrupted run, and add a note to the exception on how to continue.

        A run that stopped because of an error leaves no journal, unless the machine ran out of resources.
        """
        self.journals.close()
        if isinstance(problem, ChatsquashError) and not isinstance(problem, ShortageError):
            self.journals.forget(self.journals.own())
        elif self._memory and self._out.read_memory()[0] == self._memory:
            problem.add_note("the output was already complete")
        elif self._out.is_decided():
            problem.add_note("all sessions are converted; run the same command again to finish writing")
        elif self._out.resumes and (self.journals.own() or self.journals.reused):
            # Later sessions may be finished even if the first one in order is not.
            done = f"{pluralize(finished, 'session')} done, but " if finished else ""
            problem.add_note(f"{done}nothing new was written; run the same command with --resume to continue")

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
    digest = seen.copy()
    members = [getattr(discovery, name) for name in discovery.__struct_fields__ if name != "logs"]
    plain = [sorted(value.items()) if isinstance(value, Counter) else value for value in members]
    digest.update(repr(plain).encode("utf-8", "backslashreplace"))
    return digest.digest()


def _decode(data: bytes) -> Memory | None:
    if not data:
        return None  # avoids building a decoder, which takes time
    try:
        return msgspec.msgpack.decode(data, type=Memory, dec_hook=_counter)
    except (msgspec.MsgspecError, ValueError, RecursionError):  # damaged data may not be valid text
        return None


def _counter(kind: Any, value: Any) -> Any:
    return Counter(value) if get_origin(kind) is Counter else value
