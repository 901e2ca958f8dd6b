"""Where the outcomes of a run come from: sessions that it converts, or that an earlier run did."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, BinaryIO, Protocol

from chatsquash.conversion.frames import Spool
from chatsquash.conversion.incremental import Incremental
from chatsquash.conversion.journal import Journals
from chatsquash.conversion.workers import outcomes
from chatsquash.core.log import Log
from chatsquash.core.options import Options
from chatsquash.core.outcome import LinePlace, Outcome
from chatsquash.dataset.store import Output
from chatsquash.reading.sessions import cleared
from chatsquash.redact.privacy import Privacy
from chatsquash.session.private_texts import rejected_lines
from chatsquash.sources.logs import Logs
from chatsquash.storage.folder import Folder

if TYPE_CHECKING:
    from chatsquash.session.join.sessions import Joins


class Given(Protocol):
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

    def taken(self, log: Log, outcome: Outcome) -> None:
        """Take note that a session was written."""

    def inputs(self) -> Iterable[tuple[Log, str]]:
        """The logs with their hashes, where sessions stand in several of them; else nothing."""

    def filled(self, outcome: Outcome) -> Outcome:
        """An outcome with the lines of its records."""

    def descriptor(self, held: LinePlace) -> int:
        """That of the open file in which a record's line stands."""

    def rejected(self, log: Log, outcome: Outcome) -> Iterator[Iterable[bytes]]:
        """Each line of a log that could not be read, in pieces, without credentials and what is to be replaced.

        Raises ``FileNotFoundError`` where it is gone.
        """


class Sessions:
    """The sessions of logs, converted as they are asked for; ``Given`` says what each function does.

    ``expanded`` is the folder for copies of compressed logs, ``scratch`` gives a file without a name.
    """

    def __init__(
        self, logs: Logs, options: Options, expanded: Folder, scratch: Callable[[], BinaryIO], journals: Journals | None
    ) -> None:
        self.logs, self.size = logs, logs.size
        self._options, self._expanded, self._scratch, self._journals = options, expanded, scratch, journals
        self._found = None
        if options.sessions_by == "chain":
            from chatsquash.session.chains import chained  # which few runs need

            self._found = chained(logs, options, expanded)
        self._spool: Spool | None = None

    def ahead(self) -> Iterator[tuple[Log, Outcome]]:
        """As ``Given`` has it."""
        self._spool = Spool(self._scratch())
        # Lines that cannot be read are read once more when they are kept.
        for log, outcome in self._converted() if self._options.keep_rejected else self._cleared(self._converted()):
            self._spool.add(log, outcome)
            yield log, outcome

    def sessions(self) -> Iterator[tuple[Log, Outcome]]:
        """As ``Given`` has it."""
        if self._spool is None:
            return self._cleared(self._converted())
        found = ((log, self.filled(outcome)) for log, outcome in self._spool.read())
        return self._cleared(found) if self._options.keep_rejected else found

    def filled(self, outcome: Outcome) -> Outcome:
        """As ``Given`` has it."""
        return self._journals.filled(outcome) if self._journals else outcome

    def _converted(self) -> Iterator[tuple[Log, Outcome]]:
        found = self._found.sessions() if self._found else None
        return outcomes(self.logs, self._options, self._journals, self._expanded, found, joins=self._joins())

    def _joins(self) -> Joins | None:
        """What is joined, where that is asked for."""
        if not self._options.join:
            return None
        from chatsquash.session.join.sessions import joins  # which few runs need

        return joins(self._found.sessions() if self._found else self.logs, self._options, self._expanded)

    def _cleared(self, found: Iterator[tuple[Log, Outcome]]) -> Iterator[tuple[Log, Outcome]]:
        """Sessions, of whose logs the expanded copies go once they are done; a session of several may need any."""
        return found if self._found else cleared(found, self._expanded)


class Converting(Sessions):
    """Sessions that are converted now, or that the journals of earlier runs know."""

    def __init__(self, logs: Logs, options: Options, incremental: Incremental, out: Output) -> None:
        super().__init__(logs, options, out.expanded, out.scratch, incremental.journals)
        self._incremental = incremental
        self._names = Privacy(options)

    def taken(self, log: Log, outcome: Outcome) -> None:
        """As ``Given`` has it."""
        self._incremental.take(outcome)
        if not self._found:
            self._incremental.see(log)

    def inputs(self) -> Iterator[tuple[Log, str]]:
        """As ``Given`` has it."""
        for log, digest in zip(self.logs, self._found.digests, strict=True) if self._found else ():
            yield log, digest
            self._incremental.see(log)

    def descriptor(self, held: LinePlace) -> int:
        """As ``Given`` has it."""
        return self._incremental.journals.descriptor(held)

    def rejected(self, log: Log, outcome: Outcome) -> Iterator[Iterable[bytes]]:
        """As ``Given`` has it."""
        return rejected_lines(log, outcome, self._options, self._names)
