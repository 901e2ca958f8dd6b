"""Where the outcomes of a run come from: sessions that it converts, or that an earlier run did."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol

from chatsquash.conversion.frames import Spool
from chatsquash.conversion.incremental import Incremental
from chatsquash.conversion.journal import Journals
from chatsquash.conversion.workers import outcomes
from chatsquash.core.log import Log
from chatsquash.core.options import Options
from chatsquash.core.outcome import LinePlace, Outcome
from chatsquash.dataset.store import Output
from chatsquash.reading.sessions import remove_finished
from chatsquash.redaction.privacy import Privacy
from chatsquash.session.lineages import Lineages
from chatsquash.session.private_texts import rejected_lines
from chatsquash.sources.find import Discovery, discover
from chatsquash.sources.logs import Logs
from chatsquash.sources.no_logs import nothing_to_read
from chatsquash.storage.folder import Folder

if TYPE_CHECKING:
    from chatsquash.session.join.sessions import Joins


class SessionInputs(Protocol):
    """The sessions of a run in order, and what became of each."""

    @property
    def logs(self) -> Sequence[Log]:
        """All logs, those at least whose sessions were given."""

    @property
    def size(self) -> int:
        """Bytes of all logs."""

    def ahead(self) -> Iterator[tuple[Log, Outcome]]:
        """Each session before ``sessions`` gives it; what lines of records stand elsewhere may be missing."""

    def sessions(self) -> Iterator[tuple[Log, Outcome]]:
        """Each session; of records that stand elsewhere it says where."""

    def acknowledge(self, log: Log, outcome: Outcome) -> None:
        """Take note that a session was written."""

    def inputs(self) -> Iterable[tuple[Log, str]]:
        """The logs with their hashes, where sessions stand in several of them; else nothing."""

    def fill(self, outcome: Outcome) -> Outcome:
        """An outcome with the lines of its records."""

    def descriptor(self, place: LinePlace) -> int:
        """That of the open file in which a record's line stands."""

    def rejected(self, log: Log, outcome: Outcome) -> Iterator[Iterable[bytes]]:
        """Each line of a log that could not be read, in pieces, without credentials and what is to be replaced.

        Raises ``FileNotFoundError`` where it is gone.
        """


class Sessions:
    """The sessions of logs, converted as they are asked for; see ``SessionInputs``.

    ``expanded`` is the folder for copies of compressed logs, ``scratch`` gives a file without a name.
    """

    def __init__(
        self, logs: Logs, options: Options, expanded: Folder, scratch: Callable[[], BinaryIO], journals: Journals | None
    ) -> None:
        self.logs, self.size = logs, logs.size
        self._options, self._expanded, self._scratch, self._journals = options, expanded, scratch, journals
        self._lineages = Lineages(logs, options)
        self._found = None
        if options.sessions_by == "chain":
            from chatsquash.session.chains import chain_logs  # which few runs need

            self._found = chain_logs(logs, options, expanded)
        self._spool: Spool | None = None

    def ahead(self) -> Iterator[tuple[Log, Outcome]]:
        """See ``SessionInputs``."""
        self._spool = Spool(self._scratch())
        # Lines that cannot be read are read once more when they are kept.
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
        logs = self._found.sessions() if self._found else None
        return outcomes(
            self.logs,
            self._options,
            self._journals,
            self._expanded,
            logs,
            joins=self._joins(),
            lineages=self._lineages,
        )

    def _joins(self) -> Joins | None:
        """What is joined, where that is asked for."""
        if not self._options.join:
            return None
        from chatsquash.session.join.sessions import find_joins  # which few runs need

        sessions = self._found.sessions() if self._found else self.logs
        return find_joins(sessions, self._options, self._expanded, self._lineages)

    def _cleared(self, pairs: Iterator[tuple[Log, Outcome]]) -> Iterator[tuple[Log, Outcome]]:
        """Sessions, of whose logs the expanded copies go once they are done; a session of several may need any."""
        return pairs if self._found else remove_finished(pairs, self._expanded)


class Converting(Sessions):
    """Sessions that are converted now, or that the journals of earlier runs know."""

    def __init__(self, logs: Logs, options: Options, incremental: Incremental, out: Output) -> None:
        super().__init__(logs, options, out.expanded, out.scratch, incremental.journals)
        self._incremental = incremental
        self._names = Privacy(options)

    def acknowledge(self, log: Log, outcome: Outcome) -> None:
        """See ``SessionInputs``."""
        self._incremental.take(outcome)
        if not self._found:
            self._incremental.see(log)

    def inputs(self) -> Iterator[tuple[Log, str]]:
        """See ``SessionInputs``."""
        for log, digest in zip(self.logs, self._found.digests, strict=True) if self._found else ():
            yield log, digest
            self._incremental.see(log)

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
    """The session logs in directories, files and globs; raises ``UsageError`` where there are none.

    ``expanded`` gives the folder for copies of compressed archives, as ``discover`` has it.
    """
    roots = [fspath(root) for root in ([logs] if isinstance(logs, str | PathLike) else logs)]
    forget_documents()
    discovery = discover(roots, options, _is_readable, out, lambda log: _days(log, options), expanded)
    if not discovery.logs:
        raise nothing_to_read(roots, discovery, Privacy(options).text)
    return discovery


def _days(log: Log, options: Options) -> list[str]:
    from chatsquash.session.parts import days_logged  # which only a choice by day needs

    return days_logged(options, log)


def forget_documents() -> None:
    """Let go of documents of an earlier run, if there was one that read any."""
    if documents := sys.modules.get("chatsquash.reading.identify"):
        documents.forget()
    if homes := sys.modules.get("chatsquash.session.parent_sessions"):
        homes.forget()


def _is_readable(path: str, options: Options) -> bool | str:
    from chatsquash.reading.identify import is_readable  # which logs do not need

    return is_readable(path, options)
