"""The inputs of a run: sessions that are converted or reused from an earlier run, and the memory for the next one."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol, get_origin

import msgspec
from msgspec import Struct
from msgspec.structs import replace
from xxhash import xxh3_128

from chatsquash.conversion.frames import Spool
from chatsquash.conversion.journal import Journals, JournalWriter, identity, is_transient
from chatsquash.conversion.workers import outcomes, useful_workers
from chatsquash.core.errors import ChatsquashError, ShortageError
from chatsquash.core.lazy import LazyModule
from chatsquash.core.log import Log
from chatsquash.core.options import Options
from chatsquash.core.outcome import LinePlace, Outcome, Relative
from chatsquash.core.text import pluralize
from chatsquash.core.version import code_version
from chatsquash.dataset.store import Output
from chatsquash.dataset.summary import Summary
from chatsquash.reading.sessions import remove_finished
from chatsquash.redaction.privacy import Privacy
from chatsquash.session.lineages import Lineages
from chatsquash.session.private_texts import rejected_lines
from chatsquash.sources.find import Discovery, discover
from chatsquash.sources.identity import identify
from chatsquash.sources.logs import Logs
from chatsquash.storage.folder import Folder

if TYPE_CHECKING:
    from chatsquash.session.chains import ChainedLogs
    from chatsquash.session.converter import Converter
    from chatsquash.session.join.sessions import Joins
    from chatsquash.sources import relatives
else:
    relatives = LazyModule("chatsquash.sources.relatives")


# Incremental runs


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
        memory = _decode_memory(data)
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


def _decode_memory(data: bytes) -> Memory | None:
    if not data:
        return None  # avoids building a decoder, which takes time
    try:
        return msgspec.msgpack.decode(data, type=Memory, dec_hook=_counter)
    except (msgspec.MsgspecError, ValueError, RecursionError):  # damaged data may not be valid text
        return None


def _counter(kind: Any, value: Any) -> Any:
    return Counter(value) if get_origin(kind) is Counter else value


# Sessions


class SessionInputs(Protocol):
    """The sessions of a run, in order, with their outcomes."""

    @property
    def logs(self) -> Sequence[Log]:
        """The logs; at least those of the sessions returned so far."""

    @property
    def size(self) -> int:
        """The total size of all logs in bytes."""

    def ahead(self) -> Iterator[tuple[Log, Outcome]]:
        """Yield each session for the pre-pass, before ``sessions``; lines of records in journals may be missing."""

    def sessions(self) -> Iterator[tuple[Log, Outcome]]:
        """Yield each session; records that are in journals have only the positions of their lines."""

    def acknowledge(self, log: Log, outcome: Outcome) -> None:
        """Record that a session was written."""

    def inputs(self) -> Iterable[tuple[Log, str]]:
        """Return the logs with their hashes if sessions can span several logs; else nothing."""

    def fill(self, outcome: Outcome) -> Outcome:
        """Return an outcome with the lines of its records."""

    def descriptor(self, place: LinePlace) -> int:
        """Return the descriptor of the open file that contains a record's line."""

    def rejected(self, log: Log, outcome: Outcome) -> Iterator[Iterable[bytes]]:
        """Yield the malformed lines of a log, in pieces, with credentials and private values replaced.

        Raises:
            FileNotFoundError: If the log was removed.
        """


class Sessions:
    """The sessions of logs, converted on demand; see ``SessionInputs``.

    Args:
        logs: The logs, in order.
        options: The options of the run.
        expanded: The folder for copies of compressed logs.
        scratch: Returns a new temporary file.
        journals: The journals of earlier runs.
    """

    def __init__(
        self, logs: Logs, options: Options, expanded: Folder, scratch: Callable[[], BinaryIO], journals: Journals | None
    ) -> None:
        self.logs, self.size = logs, logs.size
        self._options, self._expanded, self._scratch, self._journals = options, expanded, scratch, journals
        self._lineages = Lineages(logs, options)
        self._converter: Callable[[], Converter] | None = None
        self.observe: Callable[[Log, int], None] | None = None
        """Called after each log that is read to find its sessions, with the bytes of all logs."""
        self._spool: Spool | None = None

    @cached_property
    def _chains(self) -> ChainedLogs | None:
        """The lines of the logs grouped into sessions, if requested; a single process converts the logs meanwhile."""
        if self._options.sessions_by != "chain":
            return None
        from chatsquash.session.chains import chain_logs  # rarely needed

        options, journals = self._options, self._journals
        if journals is None or not self._converts_early():
            return chain_logs(self.logs, options, self._expanded, observe=self.observe)
        from chatsquash.conversion.early_outcomes import EarlyOutcomes  # rarely needed

        early = EarlyOutcomes(options, self._lineages, journals, len(self.logs))
        self._converter = lambda: early.converter
        chains = chain_logs(self.logs, options, self._expanded, early, self.observe)
        early.offer()
        return chains

    def _converts_early(self) -> bool:
        """Return whether to convert logs before their sessions are known, which is wasted if the run stops early."""
        options = self._options
        may_stop = options.limit is not None or options.strict or options.on_invalid == "abort"
        return not (may_stop or options.join) and useful_workers(self.logs, options) <= 1

    def ahead(self) -> Iterator[tuple[Log, Outcome]]:
        """See ``SessionInputs``."""
        self._spool = Spool(self._scratch())
        # With --keep-rejected, malformed lines are read again later, so expanded copies must stay.
        for log, outcome in self._convert() if self._options.keep_rejected else self._cleared(self._convert()):
            self._spool.add(log, outcome)
            yield log, outcome

    def sessions(self) -> Iterator[tuple[Log, Outcome]]:
        """See ``SessionInputs``."""
        if self._spool is None:
            return self._cleared(self._convert())
        pairs = ((log, self.fill(outcome)) for log, outcome in self._spool.read())
        return self._cleared(pairs) if self._options.keep_rejected else pairs

    def fill(self, outcome: Outcome) -> Outcome:
        """See ``SessionInputs``."""
        return self._journals.fill(outcome) if self._journals else outcome

    def _convert(self) -> Iterator[tuple[Log, Outcome]]:
        logs = self._chains.sessions() if self._chains else None
        return outcomes(
            self.logs,
            self._options,
            self._journals,
            self._expanded,
            logs,
            joins=self._joins(),
            lineages=self._lineages,
            converter=self._converter,
        )

    def _joins(self) -> Joins | None:
        """Return the joins if ``--join`` requests them."""
        if not self._options.join:
            return None
        from chatsquash.session.join.sessions import find_joins  # rarely needed

        sessions = self._chains.sessions() if self._chains else self.logs
        return find_joins(sessions, self._options, self._expanded, self._lineages)

    def _cleared(self, pairs: Iterator[tuple[Log, Outcome]]) -> Iterator[tuple[Log, Outcome]]:
        """Remove expanded copies of finished logs; chains may need any log until the end."""
        return pairs if self._chains else remove_finished(pairs, self._expanded)


class Converting(Sessions):
    """Sessions that are converted, or reused from the journals of earlier runs."""

    def __init__(self, logs: Logs, options: Options, incremental: Incremental, out: Output) -> None:
        super().__init__(logs, options, out.expanded, out.scratch, incremental.journals)
        self._incremental = incremental
        self._names = Privacy(options)

    def acknowledge(self, log: Log, outcome: Outcome) -> None:
        """See ``SessionInputs``."""
        self._incremental.add_session(outcome)
        if not self._chains:
            self._incremental.add_log(log)

    def inputs(self) -> Iterator[tuple[Log, str]]:
        """See ``SessionInputs``."""
        for log, digest in zip(self.logs, self._chains.digests, strict=True) if self._chains else ():
            yield log, digest
            self._incremental.add_log(log)

    def descriptor(self, place: LinePlace) -> int:
        """See ``SessionInputs``."""
        return self._incremental.journals.descriptor(place)

    def rejected(self, log: Log, outcome: Outcome) -> Iterator[Iterable[bytes]]:
        """See ``SessionInputs``."""
        return rejected_lines(log, outcome, self._options, self._names)


def find(
    logs: str | PathLike[str] | Iterable[str | PathLike[str]],
    out: Path | str,
    options: Options,
    expanded: Callable[[], Folder] | None = None,
) -> Discovery:
    """Find the session logs in directories, files and globs.

    Args:
        logs: The paths, globs or URLs.
        out: The output, which is not searched.
        options: The options of the run.
        expanded: Returns the folder for copies of compressed archives.

    Raises:
        UsageError: If there are no logs.
    """
    roots = [fspath(root) for root in ([logs] if isinstance(logs, str | PathLike) else logs)]
    forget_documents()
    discovery = discover(roots, options, _is_readable, out, lambda log: _days(log, options), expanded)
    if not discovery.logs:
        from chatsquash.sources.no_logs import nothing_to_read  # only an error needs it

        raise nothing_to_read(roots, discovery, Privacy(options).text)
    return discovery


def _days(log: Log, options: Options) -> list[str]:
    from chatsquash.session.parts import days_logged  # only needed to select days

    return days_logged(options, log)


def forget_documents() -> None:
    """Release cached documents of an earlier run."""
    if documents := sys.modules.get("chatsquash.reading.identify"):
        documents.forget()
    if scores := sys.modules.get("chatsquash.reading.score_files"):
        scores.forget()
    if homes := sys.modules.get("chatsquash.session.parent_sessions"):
        homes.forget()


def _is_readable(path: str, options: Options) -> bool | str:
    from chatsquash.reading.identify import is_readable  # not needed for logs

    return is_readable(path, options)
