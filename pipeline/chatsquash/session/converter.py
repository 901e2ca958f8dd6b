"""One session log to one outcome."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from errno import ESTALE
from functools import cached_property, partial
from typing import TYPE_CHECKING, BinaryIO

from chatsquash.checks import coverage, reading
from chatsquash.core.log import Log
from chatsquash.core.model import Entry, Mark, Tokens, Violation
from chatsquash.core.options import Options
from chatsquash.core.outcome import (
    Outcome,
    PreferencePair,
    Record,
    Rejection,
    SessionAccount,
    SessionFindings,
    SessionPrivacy,
    SessionRecords,
    SessionReplies,
)
from chatsquash.core.times import day
from chatsquash.formats import PLAIN
from chatsquash.reading.documents import LogDocument, line_of
from chatsquash.reading.reader import MixedSessionsError, Reader, Reading
from chatsquash.redaction.pseudonyms import anonymizer
from chatsquash.session.contents import ContentsMeasure
from chatsquash.session.lineages import MOST, Lineages
from chatsquash.session.log_findings import (
    SessionCoverage,
    accounts,
    cleaning_notes,
    cut_rejection,
    grown_session,
    in_files,
    logger_cuts,
    taken_apart,
    trace,
    unfit,
)
from chatsquash.session.output_growth import check_growth
from chatsquash.session.plan import EntryObserver, Plan, asks_for_kinds, plan
from chatsquash.session.privacy import OutcomePrivacy
from chatsquash.session.record_maker import RecordMaker
from chatsquash.session.session import Noted, Session, Snapshot, digest_of, finding, hash_of, is_whole, meeting
from chatsquash.sources.changes import as_found, change
from chatsquash.sources.compression import stem
from chatsquash.sources.identity import Hashed
from chatsquash.sources.joined_files import opened_log
from chatsquash.sources.names import path_day

if TYPE_CHECKING:
    from chatsquash.session.samples import Make, Reread

_Result = tuple[list[Record], Violation | None, list[Noted], SessionCoverage]
"""The records of a session, why there is none, what was found on the way, and what they hold of it."""


Also = Callable[[Log, BinaryIO, Hashed], None]
"""What looks at a log, too, while it is open, and at what was read of it."""


class Converter:
    """Converts sessions by one plan; the memory of pseudonyms lasts from one to the next.

    ``lineages`` are those among the logs of the run; without them no reply counts in another log.
    """

    def __init__(self, options: Options, lineages: Lineages | None = None) -> None:
        self._options, self._lineages = options, lineages
        self._anonymizer = anonymizer(options)
        # Where more is replaced than addresses, these come last, since they may be parts of it.
        self._first = None if options.replaces else self._anonymizer
        self._plan = plan(options, self._first)
        self._divides = options.sessions_by is None
        self._puts_in_order = options.divides
        self._is_asked_more = asks_for_kinds(options)
        self._reader = Reader(options)
        self._maker = RecordMaker(options, self._plan, self._anonymizer)
        self._privacy = OutcomePrivacy(options, self._maker.lengths)
        self._contents = ContentsMeasure(options, self._maker.lengths)
        self.hashed = Hashed()
        """What was read last."""

    def is_current(self, log: Log, outcome: Outcome) -> bool:
        """Whether an earlier outcome of a log is still right, given the logs that it repeats or that repeat it."""
        known = outcome.account.lineage
        return known is None or known == self._lineage(log)

    def _lineage(self, log: Log) -> bytes:
        return self._lineages.state(log) if self._lineages else b""

    @cached_property
    def _unflagged(self) -> Plan:
        """The plan of records that say nothing of what is trained on."""
        return plan(replace(self._options, loss="none"), self._first)

    def convert(self, log: Log, observer: EntryObserver | None = None, also: Also | None = None) -> Outcome | None:
        """Convert a session log; ``None`` for a file that has to be split into its sessions first.

        ``also`` looks at the open log once it was read. Raises ``OSError`` where it cannot be read.
        """
        try:
            outcome = self._convert(log, observer, also)
        except OSError as problem:
            if problem.errno != ESTALE or observer:
                raise
            outcome = self._convert(log, None, also)  # as it is now
        return outcome and self._with_fingerprints(outcome)

    def _with_fingerprints(self, outcome: Outcome) -> Outcome:
        """An outcome whose records have what they are compared by, where somebody asks."""
        if not self._options.compares:
            return outcome
        from chatsquash.session import fingerprints  # which few runs need

        return fingerprints.of_outcome(outcome, self._options)

    def _convert(self, log: Log, observer: EntryObserver | None, also: Also | None) -> Outcome | None:
        with opened_log(log, self._options) as file:
            outcome = self.read(file, log, observer)
            if outcome is None:
                return None
            if also:
                also(log, file, self.hashed)
            how = change(log, file)
            return self._before_change(file, log, outcome, how) if how else outcome

    def _before_change(self, file: BinaryIO, log: Log, outcome: Outcome, how: str) -> Outcome | None:
        """The outcome of a log that changed since it was found, which is as it was then as far as that can be."""
        if (before := as_found(file, log)) is not file:
            read_before = self.read(before, log)
            if read_before is None:
                return None
            outcome = read_before
        changed = finding(reading.changed_log(how), outcome.session, log.display_path)
        return outcome.with_finding(changed)

    def read(self, file: BinaryIO, log: Log, observer: EntryObserver | None = None) -> Outcome | None:
        """Convert an open session log; ``None`` for a file that has to be split into its sessions first.

        That is a file that mixes sessions, one of unrelated requests, and one whose lines are to be put in order.
        Raises ``OSError`` for a file that cannot be read.
        """
        try:
            outcome = self._read(file, log, observer)
        except MixedSessionsError:
            return None
        return outcome and self._contents.measure(self._privacy.outcome(outcome, log, file))

    def _read(self, file: BinaryIO, log: Log, observer: EntryObserver | None) -> Outcome | None:
        self.hashed = Hashed()
        read = self._reader.read(file, log, self.hashed.update)
        if read.is_mixed:
            return None
        is_document = read.document is not None and bool(read.document.conversations)
        if read.document and is_document:
            self._mark_copies(read.document, log)
        session = self._session(read, observer)
        if self._is_apart(session, log) or self._is_out_of_order(session, log):
            return None
        assert is_whole(session, file, log) or change(log, file), log
        name = session.id or stem(log)
        if log.join and log.join.gateway:
            return self._joined_outcome(read, session, log)
        if log.agents:
            session = self._with_agents(session, file, log)
        snapshot = session.snapshot
        result = self._records(read, session, file, log)
        records, left_out, later, covered = result
        findings = in_files(covered.explained(session).findings([*later, *covered.notes], name, log.display_path), log)
        account, sizes = accounts(session, records)
        report = SessionFindings(
            left_out=left_out.code if left_out and not records else None,
            findings=findings,
            rejected=session.rejected,
            trace=trace(snapshot) if snapshot and any(each.severity == "error" for each in findings) else "",
        )
        lines = SessionAccount(
            lines=session.lines.all,
            size=session.sizes.all,
            counts=account,
            sizes=sizes,
            cleanup_counts=snapshot.entry.cleanup_counts if snapshot and records else {},
            dropped=session.dropped,
            digest=hash_of(file, log) if log.reordered_lines and not log.pieces else digest_of(read, self.hashed),
            format=_format(read, left_out),
            relatives=[*covered.relatives, *(session.elsewhere.relatives if session.elsewhere else ())],
            lineage=self._lineage(log) if is_document else None,
        )
        tokens = _sampled_tokens(read, session, log)
        replies = SessionReplies(covered.of_records(records), covered.rows, tokens, meeting(session))
        output = self._output(read, session, file, log, result)
        privacy = SessionPrivacy(addresses=sum([each.addresses for each in records]))
        return Outcome(name, output, report, lines, replies, privacy)

    def _mark_copies(self, document: LogDocument, log: Log) -> None:
        """Mark the replies of a document that count in another log of the run, or in the session it is joined with."""
        if self._lineages:
            self._lineages.mark(document, log)
        if log.join and log.join.elsewhere:
            from chatsquash.session.join.matching import mark_elsewhere  # which few runs need

            mark_elsewhere(document, log.join.elsewhere)

    def _output(self, read: Reading, session: Session, file: BinaryIO, log: Log, result: _Result) -> SessionRecords:
        records, _, _, covered = result
        snapshot = session.snapshot
        return SessionRecords(
            records=records,
            pairs=self._pairs(read, session, file, log) if records and self._options.pairs != "none" else [],
            entry=(records[-1].entry if records else None) or (self._maker.selection(snapshot) if snapshot else None),
            day=path_day(log.name) or (day(snapshot.started) if snapshot and snapshot.started is not None else None),
            family=covered.family,
        )

    def _with_agents(self, session: Session, file: BinaryIO, log: Log) -> Session:
        """A gateway's session joined with the agents' files that belong to it."""
        from chatsquash.session.join.views import join_agents  # which few runs need

        return join_agents(session, log, self._options, partial(self._again, file, log, session), self._lineages)

    def _joined_outcome(self, read: Reading, session: Session, log: Log) -> Outcome:
        """The outcome of an agent's conversation that stands in the session of a gateway."""
        name = session.id or stem(log)
        lines, sizes = session.accounts(written=False)
        report = SessionFindings(findings=session.findings([], name, log.display_path), rejected=session.rejected)
        account = SessionAccount(
            lines=session.lines.all,
            size=session.sizes.all,
            counts=lines._replace(left_out=0, joined=lines.left_out),
            sizes=sizes._replace(left_out=0, joined=sizes.left_out),
            digest=digest_of(read, self.hashed),
            format=_format(read, None),
            relatives=read.document.relatives if read.document else [],
            joined=True,
        )
        return Outcome(name, report=report, account=account)

    def _is_out_of_order(self, session: Session, log: Log) -> bool:
        """Whether lines are to be taken in the order of their times that stand otherwise in the file."""
        if not self._puts_in_order or log.reordered_lines is not None:
            return False
        codes = {finding.code for _, finding in session.notes}
        return "timestamp-order" in codes and "session-id-mismatch" not in codes

    def _is_apart(self, session: Session, log: Log) -> bool:
        """Whether no line has an id and no request goes on from another, so that each is a session."""
        trees = session.followed.trees
        if trees is None or log.join or session.id is not None or not self._divides or log.is_part:
            return False
        from chatsquash.trees.kinds import are_unrelated

        return are_unrelated(trees)

    def _session(self, read: Reading, observer: EntryObserver | None) -> Session:
        """What the lines of a log come to."""
        if observer is None:
            return self._plan.select(self._plan.through(read.items))
        session = self._plan.select(observer.watch_cleaned(self._plan.through(observer.watch_logged(read.items))))
        observer.settle(read.seen, session)
        return session

    def _records(self, read: Reading, session: Session, file: BinaryIO, log: Log) -> _Result:
        noted, why = self._log_notes(read, session, log)
        make = partial(self._maker.make, read.seen, session, log)

        def make_last(snapshot: Snapshot | None, marks: list[Mark] | None = None) -> Record | Rejection:
            if why:
                return Rejection(why)
            assert snapshot
            made, findings = make(snapshot, marks)
            noted.extend([(line_of(snapshot.entry, each), each) for each in findings])
            return made

        def again(lines: set[int]) -> Iterator[Entry]:
            return self._again(file, log, session, lines)

        if self._options.samples != "session" and (sampled := self._samples(read, session, log, (make, again), why)):
            records, refused, later, covered = sampled
            return records, refused, [*noted, *later], covered
        if read.document and read.document.conversations:
            from chatsquash.session import agents  # which logs do not need

            records, refused, covered = agents.records(read.document, log, self._options, session, make_last)
            return records, refused, noted, covered
        if (
            not self._is_asked_more
            and not session.asides
            and not session.elsewhere
            and session.followed.has_only_grown()
        ):
            snapshot = session.snapshot
            marks = session.followed.grown_marks(snapshot.entry) if snapshot else None
            return grown_session(session, make_last(snapshot, marks), noted)
        from chatsquash.session import conversations  # which sessions that only grow do not need

        name = session.id or log.identity
        if self._options.writes_last or why or session.followed.last is None:
            snapshot = conversations.last_snapshot(session, self._options)
            if not why and snapshot and self._options.restore != "none":
                snapshot, findings = conversations.restored_last(session, snapshot, self._options.restore)
                noted += [(snapshot.entry.line, each) for each in findings]
            made, covered = conversations.of_last(
                session, snapshot, session.id or log.identity, self._options, make_last
            )
            if isinstance(made, Rejection):
                return [], made.why, noted, covered
            return [made], None, noted, covered
        records, later, covered, refused = conversations.of_each(session, name, self._options, make, again)
        return records, refused, [*noted, *later], covered

    def _samples(
        self, read: Reading, session: Session, log: Log, by: tuple[Make, Reread], why: Violation | None
    ) -> _Result | None:
        """The records of a session that is divided into samples; ``None`` where nothing can be made of it."""
        from chatsquash.session.samples import SampleRequest  # which few runs need

        asked = SampleRequest(self._options, *by, self._maker.inference())
        if read.document and read.document.conversations:
            from chatsquash.session.agents import DocumentPart
            from chatsquash.session.sample_records import of_document

            return of_document(DocumentPart(read.document, log, self._options), session.snapshot, asked, why)
        if why or session.followed.last is None:
            return None
        from chatsquash.session.sample_records import of_log

        return of_log(session, session.id or log.identity, asked)

    def _pairs(self, read: Reading, session: Session, file: BinaryIO, log: Log) -> list[PreferencePair]:
        """The pairs of preferred and other replies of a session that has a record."""
        from chatsquash.session.agents import DocumentPart  # as below
        from chatsquash.session.pairs import preference_pairs  # which few runs need
        from chatsquash.session.pairs.candidates import document_candidates, log_candidates

        counterfactuals = self._options.pairs == "counterfactual"
        if read.document and read.document.conversations:
            assert session.snapshot
            part = DocumentPart(read.document, log, self._options)
            candidates = document_candidates(part, session.snapshot, counterfactuals=counterfactuals)
        else:
            again = partial(self._again, file, log, session)
            candidates = log_candidates(session, again, counterfactuals=counterfactuals)
        source, version = (read.seen.format, read.seen.version) if read.seen else (None, None)

        def make(snapshot: Snapshot, marks: list[Mark] | None) -> tuple[Record | Rejection, list[Violation]]:
            return self._unflagged.finish(snapshot, loaded=session.loaded, source=source, version=version, marks=marks)

        return preference_pairs(candidates, make, partial(self._maker.location, log))

    def _log_notes(self, read: Reading, session: Session, log: Log) -> tuple[list[Noted], Violation | None]:
        """What is found of a log as a whole, and why nothing can be made of it."""
        noted = [*cleaning_notes(session, self._options.cleanups), *taken_apart(log)]
        noted += logger_cuts(session)
        if read.document and self._lineages and (count := self._lineages.excess(log)):
            noted.append((None, coverage.copies_not_compared(count, MOST)))
        why = unfit(read.seen, session) or check_growth(session, read.document, self._options)
        if why:
            noted.append((None, why))
        return noted, why or session.invalid or cut_rejection(session, noted, self._options)

    def _again(self, file: BinaryIO, log: Log, session: Session, lines: set[int]) -> Iterator[Entry]:
        """The entries of some lines, read once more."""
        file.seek(0)
        for item in self._plan.through(self._reader.read(file, log).items):
            if isinstance(item, Entry) and item.line in lines:
                yield item
        if session.elsewhere:
            yield from session.elsewhere.entries(lines)


def _format(read: Reading, left_out: Violation | None) -> str | None:
    """The format of a log, whose lines are read as chat where they tell of none."""
    is_known = read.seen is None or read.seen.format is not None or (left_out and left_out.code == "unknown-format")
    return (read.seen.format if read.seen else None) if is_known else PLAIN


def _sampled_tokens(read: Reading, session: Session, log: Log) -> Tokens:
    """How many tokens the replies of a session took."""
    if read.document and read.document.conversations:
        from chatsquash.session import agents  # which logs do not need

        return agents.tokens(read.document, log)
    return session.followed.tokens
