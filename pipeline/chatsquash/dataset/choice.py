"""The selection of sessions and records to write, and their names in reports."""

# No ``from __future__ import annotations``: tuples compile annotations that are texts.
from collections.abc import Callable, Iterator, Sequence
from itertools import starmap
from typing import TYPE_CHECKING, BinaryIO

from msgspec import Struct

from chatsquash.checks import dataset
from chatsquash.core.errors import StoppedError
from chatsquash.core.index import Index
from chatsquash.core.log import Log
from chatsquash.core.model import Violation
from chatsquash.core.options import Options
from chatsquash.core.outcome import Outcome
from chatsquash.dataset.filters import Filters
from chatsquash.redaction.privacy import Privacy
from chatsquash.session import private_texts
from chatsquash.session.session import INVALID, finding

if TYPE_CHECKING:
    from chatsquash.dataset.pre_pass import PrePass

Sessions = Iterator[tuple[Log, Outcome]]


class Selection(Struct, frozen=True):
    """A session after filters and the removal of duplicates."""

    outcome: Outcome
    record_count: int
    """Number of records before filters and duplicates."""
    turns: int | None
    """Assistant turns of the first of these."""
    filtered: tuple[str, ...] = ()
    """The option that filtered each filtered record."""
    duplicates: int = 0
    """Number of records that duplicate others."""

    @property
    def why(self) -> str | None:
        """The option that excludes the session, or ``None`` if it has records or was skipped because of a finding."""
        if self.outcome.account.is_joined:
            return "--join"
        return self.filtered[0] if self.filtered and not self.outcome.records else None


class Selector:
    """Selects records: applies filters, removes duplicates and reports sessions divided between files.

    Sessions must be passed in the order of the output.
    """

    def __init__(self, options: Options) -> None:
        self._options = options
        self._filters = Filters(options)
        self._pre_pass: PrePass | None = None
        self._meetings: Meetings | None = None
        self.names = Privacy(options)
        """Replaces private values in reports."""
        self._paths: dict[str, str] = {}
        """Paths shown for logs with private values in their names, by their real paths."""

    def begin(self, logs: Sequence[Log]) -> None:
        """Prepare for the sessions of logs."""
        if self._options.sessions_by != "chain":
            self._meetings = Meetings(logs, self.path)

    def run_pre_pass(self, sessions: Sessions, scratch: Callable[[], BinaryIO]) -> None:
        """Read all sessions once before the first is selected, for options that compare each with all others."""
        from chatsquash.dataset.pre_pass import run_pre_pass  # rarely needed

        display_sessions = starmap(self.rename, sessions)
        self._pre_pass = run_pre_pass(display_sessions, self._filters, self._options, scratch)

    def rename(self, log: Log, outcome: Outcome) -> tuple[Log, Outcome]:
        """Replace private values in the paths of a log and, if it could not be read, in the texts of its findings."""
        if outcome.privacy.log_names is None and not outcome.account.lines and self.names.is_active:
            outcome = private_texts.hide_texts(outcome, log, self.names.text, self.names.digest)
        display_log = private_texts.with_log_names(log, outcome.privacy.log_names)
        if display_log is not log:
            self._paths[log.display_path] = display_log.display_path
            self._paths.update(zip(log.other_files, display_log.other_files, strict=True))
        return display_log, outcome

    def path(self, path: str) -> str:
        """Return the path of a log as shown in reports."""
        return self._paths.get(path) or self.names.text(path)

    def select(self, source: Log, log: Log, outcome: Outcome) -> Selection:
        """Select the records of a session to write.

        Args:
            source: The log as it was discovered.
            log: The same log with its names in reports.
            outcome: The outcome of the session.
        """
        violation = self._meetings.take(source, outcome) if self._meetings else None
        # When results are merged, the outcome may already have this finding.
        if violation and all(each.code != violation.code for each in outcome.findings):
            outcome = outcome.with_finding(finding(violation, outcome.session, log.display_path))
        record_count, turns = len(outcome.output.records), turns_of(outcome)
        result = self._filters.apply(log, outcome)
        outcome, filtered = result.outcome, result.filtered
        # The session has no conversation of a requested kind.
        if not record_count and outcome.left_out is None and not outcome.account.is_joined:
            totals = outcome.replies.coverage
            is_copy = not totals.conversations and (
                totals.copied or any(each.code == "repeated-conversation" for each in outcome.findings)
            )
            filtered = ("copy",) if is_copy else (f"--conversations {self._options.conversations}",)
        return Selection(outcome, record_count, turns, filtered, result.duplicates)

    def with_cluster(self, log: Log, outcome: Outcome) -> Outcome:
        """Return the outcome that was selected last, with its cluster if clusters determine splits."""
        return self._pre_pass.with_cluster(log, outcome) if self._pre_pass else outcome


def turns_of(outcome: Outcome) -> int | None:
    """Return the number of assistant turns in the first record."""
    records = outcome.output.records
    return records[0].usage.assistant_turns if records else None


def stop_for(outcome: Outcome, file: str, options: Options) -> None:
    """Raise ``StoppedError`` for an outcome that ``--on-invalid abort`` or ``--strict`` does not accept."""
    aborts = options.on_invalid == "abort"
    if not aborts and not options.strict:
        return
    from chatsquash.dataset.stops import cut_short, why  # rarely needed

    if aborts and outcome.left_out in INVALID:
        stop = "--on-invalid abort"
    elif options.strict and (outcome.left_out or outcome.report.rejected or cut_short(outcome)):
        stop = "--strict"
    else:
        return
    raise StoppedError(f"stopped by {stop}; nothing was written: {why(outcome, Privacy(options).text(file))}")


class Meetings:
    """Detects sessions divided between files by comparing each one with earlier ones; stores three numbers each.

    Args:
        logs: The logs of the run.
        display_path: Returns a path as shown in findings.
    """

    def __init__(self, logs: Sequence[Log], display_path: Callable[[str], str]) -> None:
        self._logs, self._display_path = logs, display_path
        self._file = -1
        self._last: tuple[str, int] | None = None
        self._ids, self._begins, self._ends = Index(), Index(), Index()

    def take(self, log: Log, outcome: Outcome) -> Violation | None:
        """Add a session and return a finding if it belongs to a session in another file."""
        key = log.display_path, log.number
        if key != self._last:
            self._file, self._last = self._file + 1, key
        meeting, here = outcome.replies.meeting, self._file
        if meeting is None:
            return None
        begin, end = meeting.begin, meeting.end
        same = self._ids.put(meeting.id, here) if meeting.id else None
        before = self._ends.get(begin) if begin else None
        after = self._begins.get(end) if end else None
        if begin:
            self._begins.put(begin, here)
        if end:
            self._ends.put(end, here)
        if same is None and before is None and after is None:
            return None
        relations = (("has the same session_id as", same), ("continues", before), ("continues in", after))
        others = ((how, file) for how, file in relations if file is not None and file != here)
        return next(
            (dataset.divided_session(how, self._display_path(self._logs[file].display_path)) for how, file in others),
            None,
        )
