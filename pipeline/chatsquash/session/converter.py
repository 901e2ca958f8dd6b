"""Convert one session log to one outcome.

``Converter`` reads the log, runs the plan for each record of the session and collects findings, accounting and
coverage. The stages of a conversation are in ``plan``; distributing logs over processes is in
``chatsquash.conversion``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from errno import ESTALE
from functools import cached_property, partial
from typing import TYPE_CHECKING, BinaryIO

from xxhash import xxh3_64_intdigest

from chatsquash.checks import coverage, reading
from chatsquash.core.log import Log
from chatsquash.core.model import Entry, Mark, Tokens, Violation
from chatsquash.core.options import Options
from chatsquash.core.outcome import (
    Outcome,
    PreferencePair,
    Record,
    Rejection,
    Relative,
    ScoreAccount,
    SessionAccount,
    SessionFindings,
    SessionPrivacy,
    SessionRecords,
    SessionReplies,
)
from chatsquash.core.times import day
from chatsquash.reading.reader import MixedSessionsError, Reader, Reading
from chatsquash.redaction.pseudonyms import anonymizer
from chatsquash.session.lineages import MOST, Lineages
from chatsquash.session.log_findings import (
    SessionCoverage,
    accounts,
    cleaning_notes,
    convert_grown,
    cut_rejection,
    format_name,
    in_files,
    line_of,
    log_rejection,
    logger_cuts,
    split_findings,
    trace,
)
from chatsquash.session.plan import EntryObserver, Plan, needs_conversations, plan
from chatsquash.session.privacy import OutcomePrivacy
from chatsquash.session.record_maker import RecordMaker
from chatsquash.session.record_measures import ContentsMeasure
from chatsquash.session.reply_counts import model_findings
from chatsquash.session.session import (
    LineFinding,
    Session,
    Snapshot,
    digest_log,
    finding,
    hash_lines,
    is_fully_counted,
    meeting,
)
from chatsquash.sources.compression import stem
from chatsquash.sources.identity import LogHash, change, limit_to_discovered_size
from chatsquash.sources.names import path_day
from chatsquash.sources.open import open_log

if TYPE_CHECKING:
    from chatsquash.reading.documents import LogDocument
    from chatsquash.session.label_files import LabelMatcher
    from chatsquash.session.log_lines import LogLines
    from chatsquash.session.samples import Make, Reread

_Result = tuple[list[Record], Violation | None, list[LineFinding], SessionCoverage]
"""The records of a session or the reason for its rejection, findings, and the coverage of the session."""


LogVisitor = Callable[[Log, BinaryIO, LogHash], None]
"""Receives an open log after it was read, with the hash of the bytes read."""


class Converter:
    """Converts sessions with one plan and one table of pseudonyms.

    ``lineages`` relates the logs of the run; without it, no reply is treated as a copy from another log.
    """

    def __init__(self, options: Options, lineages: Lineages | None = None) -> None:
        self.options = self._options = options
        self._lineages = lineages
        self._anonymizer = anonymizer(options)
        # If values other than addresses are replaced too, addresses come last, because they may be part of such values.
        self._early_anonymizer = None if options.replaces else self._anonymizer
        self._plan = plan(options, self._early_anonymizer)
        self._cleanups = options.cleanups
        self._splits_files = options.sessions_by is None
        self._sorts_lines = options.divides
        self._needs_conversations = needs_conversations(options)
        self._reader = Reader(options)
        self.lines: LogLines | None = None
        """Reads the next log instead of the reader, and collects its lines."""
        self._maker = RecordMaker(options, self._plan, self._anonymizer)
        self._privacy = OutcomePrivacy(options, self._maker.lengths)
        self._contents = ContentsMeasure(options, self._maker.lengths)
        self._labels: LabelMatcher | None = None
        if options.loss_labels is not None:
            from chatsquash.session.label_files import matcher  # imported here because few runs need it

            self._labels = matcher(options.loss_labels, self._privacy.name)
        self.hashed = LogHash()
        """The hash of the bytes of the last log."""

    def is_current(self, log: Log, outcome: Outcome) -> bool:
        """Return whether an earlier outcome of a log is still valid, which depends on the other logs of its lineage."""
        state = outcome.account.lineage
        return state is None or state == self._lineage(log)

    def _lineage(self, log: Log) -> bytes:
        return self._lineages.state(log) if self._lineages else b""

    @cached_property
    def _unflagged(self) -> Plan:
        """The plan for records without training flags."""
        return plan(replace(self._options, loss="none"), self._early_anonymizer)

    def convert(
        self, log: Log, observer: EntryObserver | None = None, visit: LogVisitor | None = None
    ) -> Outcome | None:
        """Convert a session log.

        Args:
            log: The log of the session.
            observer: Receives the entries during the conversion.
            visit: Receives the open log after it was read.

        Returns:
            The outcome, or ``None`` for a file that must first be split into its sessions.

        Raises:
            OSError: The log cannot be read.
        """
        try:
            outcome = self._convert(log, observer, visit)
        except OSError as problem:
            # A remote file changed while being read, so its current content is converted.
            if problem.errno != ESTALE or observer:
                raise
            outcome = self._convert(log, None, visit)
        return outcome and self._with_fingerprints(outcome)

    def _with_fingerprints(self, outcome: Outcome) -> Outcome:
        """Add fingerprints for comparing records if any option needs them, and the final rows of token ids."""
        if self._options.compares:
            from chatsquash.session import fingerprints  # imported here because few runs need it

            outcome = fingerprints.of_outcome(outcome, self._options)
        if self._options.samples == "tokens":
            from chatsquash.records.token_rows import with_row  # imported here because few runs need it

            outcome = outcome.with_records([*map(with_row, outcome.records)])
        return outcome

    def _convert(self, log: Log, observer: EntryObserver | None, visit: LogVisitor | None) -> Outcome | None:
        with open_log(log, self._options) as file:
            outcome = self.read(file, log, observer)
            if outcome is None:
                return None
            if visit:
                visit(log, file, self.hashed)
            # Checked after reading, because the log may have changed in the meantime.
            how = change(log, file)
            return self._as_discovered(file, log, outcome, how) if how else outcome

    def _as_discovered(self, file: BinaryIO, log: Log, outcome: Outcome, how: str) -> Outcome | None:
        """Convert a log that changed since discovery, using its content at that time if possible."""
        if (before := limit_to_discovered_size(file, log)) is not file:
            read_before = self.read(before, log)
            if read_before is None:
                return None
            outcome = read_before
        changed_finding = finding(reading.changed_log(how), outcome.session, log.display_path)
        return outcome.with_finding(changed_finding)

    def read(self, file: BinaryIO, log: Log, observer: EntryObserver | None = None) -> Outcome | None:
        """Convert an open session log.

        Returns:
            The outcome; ``None`` for a file that must first be split, because it mixes sessions, contains unrelated
            requests, or has lines that must be sorted by time.

        Raises:
            OSError: The file cannot be read.
        """
        try:
            outcome = self._read(file, log, observer)
        except MixedSessionsError:
            return None
        return outcome and self._contents.measure(self._privacy.outcome(outcome, log, file))

    def _read(self, file: BinaryIO, log: Log, observer: EntryObserver | None) -> Outcome | None:
        self.hashed = LogHash()
        reader, self.lines = self.lines or self._reader, None
        read = reader.read(file, log, self.hashed.update)
        if read.is_mixed:
            return None
        is_document = read.document is not None and bool(read.document.conversations)
        if read.document and is_document:
            self._mark_copies(read.document, log)
        session = self._session(read, observer)
        if self._is_unrelated(session, log) or self._is_out_of_order(session, log):
            return None
        assert is_fully_counted(session, file, log) or change(log, file), log
        name = session.id or stem(log)
        if log.join and log.join.gateway:
            return self._joined_outcome(read, session, log)
        session = self._with_other_files(session, read, file, log)
        snapshot = session.snapshot
        records, left_out, later, session_coverage = result = self._records(read, session, file, log)
        later = [*later, *model_findings(records, snapshot.entry.line if snapshot else None, self._options)]
        explained = session_coverage.without_explained(session)
        findings = in_files(explained.findings([*later, *session_coverage.notes], name, log.display_path), log)
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
            digest=hash_lines(file, log) if log.reordered_lines and not log.pieces else digest_log(read, self.hashed),
            format=format_name(read.seen, left_out),
            relatives=_relatives(session_coverage, session, read),
            lineage=self._lineage(log) if is_document else None,
            scores=self._scores(session, read),
        )
        replies = self._replies(read, session, log, name, result)
        output = self._output(read, session, file, log, result)
        addresses = sum([each.addresses for each in records])
        return Outcome(name, output, report, lines, replies, SessionPrivacy(addresses=addresses))

    def _scores(self, session: Session, read: Reading) -> ScoreAccount | None:
        """Account for scores that are logged apart from their replies."""
        own_scores = read.scores.ids if read.scores else ()
        if not (session.scores or own_scores):
            return None
        rows = [row.id for row in session.scores if row.score]
        return ScoreAccount(self._digests(rows), len(session.scores) - len(rows), self._digests(own_scores))

    def _digests(self, ids: Iterable[str]) -> list[int]:
        """Return digests of ids as reports show them, since a digest could confirm a guess about a private value."""
        return [xxh3_64_intdigest(self._privacy.name(each).encode("utf-8", "surrogatepass")) for each in ids]

    def _mark_copies(self, document: LogDocument, log: Log) -> None:
        """Mark the replies of a document that are counted in another log or in the session it is joined with."""
        if self._lineages:
            self._lineages.mark(document, log)
        if log.join and log.join.elsewhere:
            from chatsquash.session.join.matching import mark_elsewhere  # imported here because few runs need it

            mark_elsewhere(document, log.join.elsewhere)

    def _replies(self, read: Reading, session: Session, log: Log, name: str, result: _Result) -> SessionReplies:
        records, _, _, session_coverage = result
        rows = session_coverage.rows
        return SessionReplies(
            session_coverage.of_records(records),
            self._labels.complete(rows, name, log) if self._labels else rows,
            _sampled_tokens(read, session, log),
            meeting(session),
            session_coverage.breaks,
        )

    def _output(self, read: Reading, session: Session, file: BinaryIO, log: Log, result: _Result) -> SessionRecords:
        records, _, _, session_coverage = result
        snapshot = session.snapshot
        return SessionRecords(
            records=records,
            pairs=self._pairs(read, session, file, log) if records and self._options.pairs != "none" else [],
            entry=(records[-1].entry if records else None) or (self._maker.selection(snapshot) if snapshot else None),
            day=path_day(log.name)
            or (day(snapshot.started_at) if snapshot and snapshot.started_at is not None else None),
            family=session_coverage.family,
        )

    def _with_other_files(self, session: Session, read: Reading, file: BinaryIO, log: Log) -> Session:
        """Join a gateway session with the agent files that belong to it, and match its replies with labels."""
        if log.agents:
            from chatsquash.session.join.views import join_agents  # imported here because few runs need it

            reread = partial(self._reread, file, log, session)
            session = join_agents(session, log, self._options, reread, self._lineages)
        if self._needs_conversations and session.growth.scores:
            for reply in session.growth.branch().replies:
                reply.scores = session.growth.scores.get(reply.line, ())
        if self._labels:
            self._labels.match(session, read.document, log)
        return session

    def _joined_outcome(self, read: Reading, session: Session, log: Log) -> Outcome:
        """Return the outcome of an agent's conversation that is part of a gateway session."""
        name = session.id or stem(log)
        lines, sizes = session.accounts(has_record=False)
        report = SessionFindings(findings=session.findings([], name, log.display_path), rejected=session.rejected)
        account = SessionAccount(
            lines=session.lines.all,
            size=session.sizes.all,
            counts=lines._replace(left_out=0, joined=lines.left_out),
            sizes=sizes._replace(left_out=0, joined=sizes.left_out),
            digest=digest_log(read, self.hashed),
            format=format_name(read.seen, None),
            relatives=read.document.relatives if read.document else [],
            is_joined=True,
        )
        return Outcome(name, report=report, account=account)

    def _is_out_of_order(self, session: Session, log: Log) -> bool:
        """Return whether lines must be sorted by time."""
        if not self._sorts_lines or log.reordered_lines is not None:
            return False
        codes = {finding.code for _, finding in session.notes}
        return "timestamp-order" in codes and "session-id-mismatch" not in codes

    def _is_unrelated(self, session: Session, log: Log) -> bool:
        """Return whether each line is a session, because no line has an id and no request continues another."""
        trees = session.growth.trees
        if trees is None or log.join or session.id is not None or not self._splits_files or log.is_part:
            return False
        from chatsquash.trees.kinds import are_unrelated

        return are_unrelated(trees)

    def _session(self, read: Reading, observer: EntryObserver | None) -> Session:
        """Read all entries of a log and select the snapshot of its session."""
        if observer is None:
            return self._plan.select(self._plan.clean_entries(read.items))
        session = self._plan.select(observer.watch_cleaned(self._plan.clean_entries(observer.watch_logged(read.items))))
        observer.settle(read.seen, session)
        return session

    def _records(self, read: Reading, session: Session, file: BinaryIO, log: Log) -> _Result:
        findings, rejection = self._log_findings(read, session, log)
        make = partial(self._maker.make, read.seen, session, log)

        def make_last(snapshot: Snapshot | None, marks: list[Mark] | None = None) -> Record | Rejection:
            if rejection:
                return Rejection(rejection)
            assert snapshot
            record, more = make(snapshot, marks)
            findings.extend([(line_of(snapshot.entry, each), each) for each in more])
            return record

        def reread_lines(lines: set[int]) -> Iterator[Entry]:
            return self._reread(file, log, session, lines)

        samples = self._samples(read, session, log, (make, reread_lines), rejection)
        if samples:
            records, refusal, later, session_coverage = samples
            return records, refusal, [*findings, *later], session_coverage
        if read.document and read.document.conversations:
            from chatsquash.session import agents  # imported here because most logs do not need it

            records, refusal, session_coverage = agents.records(read.document, log, self._options, session, make_last)
            return records, refusal, findings, session_coverage
        # The common case needs no trees.
        if self._only_grew(session):
            snapshot = session.snapshot
            marks = session.growth.grown_marks(snapshot.entry) if snapshot else None
            return convert_grown(session, make_last(snapshot, marks), findings)
        from chatsquash.session import conversations  # imported here because sessions that only grow do not need it

        name = session.id or log.identity
        if self._options.writes_last or rejection or session.growth.last is None:
            snapshot = conversations.last_snapshot(session, self._options)
            if not rejection and snapshot and self._options.restore != "none":
                snapshot, more = conversations.restore_last(session, snapshot, self._options.restore)
                findings += [(snapshot.entry.line, each) for each in more]
            record, session_coverage = conversations.convert_last(session, snapshot, name, self._options, make_last)
            if isinstance(record, Rejection):
                return [], record.why, findings, session_coverage
            return [record], None, findings, session_coverage
        records, later, session_coverage, refusal = conversations.convert_each(
            session, name, self._options, make, reread_lines
        )
        return records, refusal, [*findings, *later], session_coverage

    def _only_grew(self, session: Session) -> bool:
        """Return whether every request continues the previous reply and no option needs more than that."""
        needs_more = self._needs_conversations or session.side_requests or session.other_files
        return not needs_more and session.growth.has_only_grown()

    def _samples(
        self, read: Reading, session: Session, log: Log, by: tuple[Make, Reread], why: Violation | None
    ) -> _Result | None:
        """Divide a session into samples; return ``None`` if samples are off or cannot be made."""
        if self._options.samples == "session":
            return None
        from chatsquash.session.samples import SampleRequest  # imported here because few runs need it

        count = self._maker.lengths.count_tokens if self._maker.lengths else None
        request = SampleRequest(
            self._options, *by, self._maker.inference(), self._maker.rerendering(), self._maker.tokenizer, count
        )
        if read.document and read.document.conversations:
            from chatsquash.session.agents import DocumentPart

            part = DocumentPart(read.document, log, self._options)
            if self._options.samples == "tokens":
                from chatsquash.session import token_documents

                return token_documents.of_document(part, session.snapshot, request, why)
            from chatsquash.session.sample_documents import of_document

            return of_document(part, session.snapshot, request, why)
        if why or session.growth.last is None:
            return None
        if self._options.samples == "tokens":
            from chatsquash.session import token_samples

            return token_samples.of_log(session, session.id or log.identity, request)
        from chatsquash.session.sample_records import of_log

        return of_log(session, session.id or log.identity, request)

    def _pairs(self, read: Reading, session: Session, file: BinaryIO, log: Log) -> list[PreferencePair]:
        """Return the preference pairs of a session that has a record."""
        from chatsquash.session.agents import DocumentPart  # imported here because few runs need them
        from chatsquash.session.pairs import preference_pairs
        from chatsquash.session.pairs.candidates import document_candidates, log_candidates

        if read.document and read.document.conversations:
            assert session.snapshot
            part = DocumentPart(read.document, log, self._options)
            part.find_steps()
            candidates = document_candidates(part, session.snapshot)
        else:
            reread = partial(self._reread, file, log, session)
            candidates = log_candidates(session, reread, self._options)
        source, version = (read.seen.format, read.seen.version) if read.seen else (None, None)

        def make(snapshot: Snapshot, marks: list[Mark] | None) -> tuple[Record | Rejection, list[Violation]]:
            return self._unflagged.make_record(
                snapshot, has_private=session.has_private, source=source, version=version, marks=marks
            )

        return preference_pairs(candidates, make, partial(self._maker.location, log))

    def _log_findings(self, read: Reading, session: Session, log: Log) -> tuple[list[LineFinding], Violation | None]:
        """Return the findings about a log as a whole, and why it cannot be converted."""
        findings = cleaning_notes(session, self._cleanups)
        findings += split_findings(log)
        findings += logger_cuts(session)
        if read.document and self._lineages and (count := self._lineages.excess(log)):
            findings.append((None, coverage.copies_not_compared(count, MOST)))
        why = log_rejection(read, session, self._options)
        if why:
            findings.append((None, why))
        return findings, why or session.invalid or cut_rejection(session, findings, self._options)

    def _reread(self, file: BinaryIO, log: Log, session: Session, lines: set[int]) -> Iterator[Entry]:
        """Read the entries of some lines a second time."""
        file.seek(0)
        for item in self._plan.clean_entries(self._reader.read(file, log).items):
            if isinstance(item, Entry) and item.line in lines:
                yield item
        if session.other_files:
            yield from session.other_files.entries(lines)


def _relatives(session_coverage: SessionCoverage, session: Session, read: Reading) -> list[Relative]:
    """Return the other files from which data was read."""
    agents = session.other_files.relatives if session.other_files else ()
    return [*session_coverage.relatives, *agents, *(read.scores.relatives if read.scores else ())]


def _sampled_tokens(read: Reading, session: Session, log: Log) -> Tokens:
    """Return the numbers of tokens used by the replies of a session."""
    if read.document and read.document.conversations:
        from chatsquash.session import agents  # imported here because most logs do not need it

        return agents.tokens(read.document, log)
    return session.growth.tokens
