"""Which sessions and records are written, how reports call them, and a session as programs see it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import starmap
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from chatsquash.checks import dataset
from chatsquash.core import jsonio
from chatsquash.core.errors import StoppedError
from chatsquash.core.index import Index
from chatsquash.core.log import Log
from chatsquash.core.model import Finding, Violation
from chatsquash.core.options import Options
from chatsquash.core.outcome import Outcome
from chatsquash.core.text import escape
from chatsquash.dataset.filters import Filters
from chatsquash.dataset.session_table import RecordOutcome, line_of
from chatsquash.redaction.privacy import Privacy
from chatsquash.session import private_texts
from chatsquash.session.session import INVALID, finding

if TYPE_CHECKING:
    from chatsquash.dataset.pre_pass import Foresight

Sessions = Iterator[tuple[Log, Outcome]]


class SessionChoice(NamedTuple):
    """A session whose records are those that are wanted."""

    outcome: Outcome
    made: int
    """The records that it had before."""
    turns: int | None
    """The turns of the assistant in the first of these."""
    filtered: tuple[str, ...] = ()
    """For each record that a filter left out, the option that says so."""
    duplicates: int = 0
    """The records that others stand for."""

    @property
    def why(self) -> str | None:
        """The option for which nothing is written of a session that has no fault."""
        if self.outcome.account.is_joined:
            return "--join"
        return self.filtered[0] if self.filtered and not self.outcome.records else None


class Choice:
    """Filters, tells duplicates apart and finds parts of sessions in other files; sessions come in order."""

    def __init__(self, options: Options) -> None:
        self._options = options
        self._filters = Filters(options)
        self._foresight: Foresight | None = None
        self._meetings: Meetings | None = None
        self.names = Privacy(options)
        """How what is private is called in reports."""
        self._paths: dict[str, str] = {}
        """How logs are called in which something private was found, by their paths."""

    def begin(self, logs: Sequence[Log]) -> None:
        """Prepare for the sessions of these logs."""
        if self._options.sessions_by != "chain":
            self._meetings = Meetings(logs, self.path)

    def foresee(self, sessions: Sessions, scratch: Callable[[], BinaryIO]) -> None:
        """See all sessions before the first is chosen, where options compare each with all others."""
        from chatsquash.dataset.pre_pass import foreseen  # which few runs need

        named = starmap(self.rename, sessions)
        self._foresight = foreseen(named, self._filters, self._options, scratch)

    def rename(self, log: Log, outcome: Outcome) -> tuple[Log, Outcome]:
        """A log as reports call it, and what became of it; of one that nobody could read nothing is hidden so far."""
        if outcome.privacy.log_names is None and not outcome.account.lines and self.names.is_active:
            outcome = private_texts.hide_texts(outcome, log, self.names.text, self.names.digest)
        named = private_texts.with_log_names(log, outcome.privacy.log_names)
        if named is not log:
            self._paths[log.display_path] = named.display_path
            self._paths.update(zip(log.other_files, named.other_files, strict=True))
        return named, outcome

    def path(self, path: str) -> str:
        """The path of a log, as reports have it."""
        return self._paths.get(path) or self.names.text(path)

    def choose(self, source: Log, log: Log, outcome: Outcome) -> SessionChoice:
        """The records of a session that are wanted; ``log`` is the one that was ``found``, as reports call it."""
        met = self._meetings.take(source, outcome) if self._meetings else None
        if met and all(each.code != met.code for each in outcome.findings):  # in a result that is merged, it may be
            outcome = outcome.with_finding(finding(met, outcome.session, log.display_path))
        made, turns = len(outcome.records), turns_of(outcome)
        outcome, filtered, duplicates = self._filters.apply(log, outcome)
        if (
            not made and outcome.left_out is None and not outcome.account.is_joined
        ):  # none of its conversations was asked for
            covered = outcome.replies.coverage
            is_copy = not covered.conversations and (
                covered.copied or any(each.code == "repeated-conversation" for each in outcome.findings)
            )
            filtered = ("copy",) if is_copy else (f"--conversations {self._options.conversations}",)
        return SessionChoice(outcome, made, turns, filtered, duplicates)

    def place(self, log: Log, outcome: Outcome) -> Outcome:
        """The outcome that was chosen last, in the cluster of its records if these decide its split."""
        return self._foresight.place(log, outcome) if self._foresight else outcome


def turns_of(outcome: Outcome) -> int | None:
    """The turns of the assistant in the first record."""
    return outcome.records[0].usage.assistant_turns if outcome.records else None


def stop_for(outcome: Outcome, file: str, options: Options) -> None:
    """Raise ``StoppedError`` for an outcome that the options stop for; of the file's name it hides what they hide."""
    aborts = options.on_invalid == "abort"
    if not aborts and not options.strict:
        return
    from chatsquash.dataset.stops import cut_short, why  # which few runs need

    if aborts and outcome.left_out in INVALID:
        stop = "--on-invalid abort"
    elif options.strict and (outcome.left_out or outcome.report.rejected or cut_short(outcome)):
        stop = "--strict"
    else:
        return
    raise StoppedError(f"stopped by {stop}, nothing was written: {why(outcome, Privacy(options).text(file))}")


class Meetings:
    """Holds the sessions of a run to those that came before; of each it keeps three numbers.

    ``shown`` says how a path is told in findings.
    """

    def __init__(self, logs: Sequence[Log], shown: Callable[[str], str]) -> None:
        self._logs, self._shown_as = logs, shown
        self._file = -1
        self._last: tuple[str, int] | None = None
        self._ids, self._begins, self._ends = Index(), Index(), Index()

    def take(self, log: Log, outcome: Outcome) -> Violation | None:
        """What a session has in common with one of another file."""
        if (log.display_path, log.number) != self._last:
            self._file, self._last = self._file + 1, (log.display_path, log.number)
        met, here = outcome.replies.meeting, self._file
        if met is None:
            return None
        same = self._ids.put(met.id, here) if met.id else None
        before = self._ends.get(met.begin) if met.begin else None
        behind = self._begins.get(met.end) if met.end else None
        if met.begin:
            self._begins.put(met.begin, here)
        if met.end:
            self._ends.put(met.end, here)
        if same is None and before is None and behind is None:
            return None
        relations = (("has the session_id of", same), ("goes on from", before), ("goes on in", behind))
        others = ((how, file) for how, file in relations if file is not None and file != here)
        return next(
            (dataset.divided_session(how, self._shown_as(self._logs[file].display_path)) for how, file in others), None
        )


class Session(NamedTuple):
    """A session of a log, as ``read`` gives it, and ``convert`` to its ``filter``.

    records: each ``{"messages": [...], "tools": [...]}``, or as the preset shapes it; none where it was left out.
    findings: what was found of it; each has ``code``, ``severity``, ``file``, ``line``, ``message`` and ``text``.
    facts: its line of ``reports/sessions.jsonl``; ``docs/output.md`` lists the columns.
    refused: the code of the finding for which it has no record; ``None`` where it has one.
    """

    records: list[dict[str, Any]]
    findings: list[Finding]
    facts: dict[str, Any]
    refused: str | None

    def __str__(self) -> str:
        """The session as ``chatsquash show`` prints it: a title, then the messages of each record."""
        from chatsquash.records import printing  # which few programs need

        title = escape(f"session {self.facts['session']}")
        if not self.records:
            return f"{title}: no record ({self.refused or self.facts.get('filtered')})"
        return "\n".join([title, *map(printing.record_as_text, self.records)])


def session_of(log: Log, chosen: SessionChoice) -> Session:
    """A session as programs see it."""
    outcome = chosen.outcome
    first = outcome.records[0] if outcome.records else None
    facts = line_of(log, outcome, first, chosen.turns, RecordOutcome(filtered=chosen.why))
    return Session([jsonio.loads(record.line) for record in outcome.records], outcome.findings, facts, outcome.left_out)
