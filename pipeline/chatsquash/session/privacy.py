"""Report or replace private values in the outcome of a session."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Any, BinaryIO

from msgspec import Struct
from msgspec.structs import replace
from xxhash import xxh3_128_digest

from chatsquash.checks import private as checks
from chatsquash.core import jsonio
from chatsquash.core.accounting import ReplyOutcome
from chatsquash.core.lazy import LazyModule
from chatsquash.core.log import Log
from chatsquash.core.model import Finding, Json, Violation
from chatsquash.core.options import Options
from chatsquash.core.outcome import Facts, Outcome, PreferencePair, Record
from chatsquash.records import digest
from chatsquash.redaction import requests
from chatsquash.redaction.addresses import may_contain_address, may_have_address
from chatsquash.redaction.privacy import Pieces, Privacy, anonymize_path, kinds, remove_beginnings
from chatsquash.redaction.shapes import may_concern_text_before
from chatsquash.redaction.texts import Texts
from chatsquash.redaction.values import UnsearchedError, Value, is_secret, redaction, value_of
from chatsquash.session import private_texts
from chatsquash.session.log_findings import in_files
from chatsquash.session.private_texts import may_be_kept, read_rejected_line
from chatsquash.session.record_maker import prefix_of_line
from chatsquash.session.record_measures import parsed
from chatsquash.session.session import finding

if TYPE_CHECKING:
    from chatsquash.core import marks
    from chatsquash.redaction.redactor import Redactor
    from chatsquash.session import secret_lines
    from chatsquash.session.lengths import Lengths
else:
    marks = LazyModule("chatsquash.core.marks")
    secret_lines = LazyModule("chatsquash.session.secret_lines")

REDACTED = "redacted"
"""The reason why a message with a placeholder for a secret is not trained on."""
_Counts = Counter[tuple[int, Value]]


class _Replacement(Struct, frozen=True):
    """The replacements for records, pairs and other texts."""

    records: list[Record]
    pairs: list[PreferencePair]
    names: list[str]
    """The texts outside of records."""
    values: list[Value]
    """The detected values."""


class OutcomePrivacy:
    """Searches outcomes for private values as the options request."""

    def __init__(self, options: Options, lengths: Lengths | None = None) -> None:
        self._options, self._lengths = options, lengths
        self._privacy = Privacy(options)
        self._placeholders = self._privacy.placeholders if options.anonymize_key else None
        self._anonymizer, self._redactor = self._privacy.anonymizer, self._privacy.redactor
        self._reports_secrets = options.integrity_analysis and "secrets" not in options.redacts
        self._gate = requests.secret_gate(options) if self._reports_secrets else None
        self._replacement_gate = requests.replacement_gate(options)

    def outcome(self, outcome: Outcome, log: Log, file: BinaryIO) -> Outcome:
        """Return an outcome whose private values are reported or replaced with placeholders.

        ``file`` is the open log.
        """
        try:
            clean_outcome = (
                self._with_placeholders(outcome, log, file)
                if self._redactor
                else self.without_private_texts(self._mask(outcome, log), log)
            )
            return (
                self._report_secrets(
                    clean_outcome,
                    private_texts.with_log_names(log, clean_outcome.privacy.log_names),
                    file,
                )
                if self._reports_secrets
                else clean_outcome
            )
        except UnsearchedError as problem:
            return self.without_private_texts(_reject(outcome, log, checks.redaction_failed(str(problem))), log)

    def name(self, name: str) -> str:
        """Return the name of a session or file as reports show it."""
        return self._privacy.text(name) if self._privacy.is_active else name

    def without_private_texts(self, outcome: Outcome, log: Log) -> Outcome:
        """Replace private values in the texts of an outcome that has no records, or whose records are already clean."""
        if not self._privacy.is_active:
            return outcome
        before = private_texts.collect_texts(outcome, log)
        after = before
        if self._redactor:
            after = before.copy()
            try:
                self._redactor.replace([after])
            except UnsearchedError:
                after = ["" for _ in before]
        return self._hide(outcome, log, before, after)

    def _hide(self, outcome: Outcome, log: Log, before: list[str], after: list[str]) -> Outcome:
        """Replace the texts ``before`` by those ``after``, without addresses."""
        # Nearly all outcomes have no address in any text, which one search shows.
        if self._anonymizer and may_have_address("\n".join(after)):
            after = [anonymize_path(text, self._anonymizer) for text in after]
        if before == after:
            return outcome
        names = dict(zip(before, after, strict=True))
        return private_texts.hide_texts(outcome, log, lambda text: names.get(text, text), self._privacy.digest)

    # Reporting

    @cached_property
    def _detector(self) -> Redactor:
        return requests.secret_finder(self._options)  # most runs have no record that the gate does not exclude

    def _report_secrets(self, outcome: Outcome, log: Log, file: BinaryIO) -> Outcome:
        records, unsearched = list(outcome.records), outcome.privacy.unsearched_texts
        facts: list[tuple[Violation, str, int | None]] = []
        for at, record in enumerate(outcome.records):
            skipped = self._gate.skipped_texts(record.line) if self._gate else None
            if skipped is not None:
                unsearched += 0 if self._redactor else skipped
                continue
            pieces = Pieces(parsed(record.line))
            counts = self._detector.count(pieces.values)
            unsearched += 0 if self._redactor else self._detector.passed_over
            if counts:
                records[at] = self._with_counts(record, counts, are_replaced=False)
                line = _line(outcome, record)
                for fact, value in _findings_of(counts, pieces):
                    facts.append((replace(fact, conversation=record.conversation), value, line))
        if unsearched != outcome.privacy.unsearched_texts:
            outcome = replace(outcome, privacy=replace(outcome.privacy, unsearched_texts=unsearched))
        if not facts:
            return outcome
        lines = secret_lines.first_lines((value for _, value, line in facts if line is not None), log, file)
        secret_findings = [
            finding(fact, outcome.session, log.display_path, lines.get(value, line)) for fact, value, line in facts
        ]
        return outcome.with_records(records).with_finding(*in_files(secret_findings, log))

    def _with_counts(self, record: Record, counts: _Counts, *, are_replaced: bool) -> Record:
        """Add the counts of detected values to a record."""
        values: Counter[Value] = Counter()
        for (_, value), count in counts.items():
            values[value] += count
        secrets = sum(count for value, count in values.items() if is_secret(value.kind))
        replaced_count = record.replaced_secrets + (secrets if are_replaced else 0)
        hashes = self._options.write_known is not None
        new_redactions = [redaction(value, count, self._placeholders, hashes=hashes) for value, count in values.items()]
        redactions = [*record.redactions, *new_redactions]
        return replace(record, secrets=record.secrets + secrets, replaced_secrets=replaced_count, redactions=redactions)

    # Replacing

    def _with_placeholders(self, outcome: Outcome, log: Log, file: BinaryIO) -> Outcome:
        assert self._redactor
        names = private_texts.collect_texts(outcome, log)
        replacement = self._replace_everywhere(outcome, names, self._redactor)
        if outcome.report.rejected and self._options.keep_rejected and may_be_kept(log, self._options):
            known = self._privacy.value_finder(replacement.values)
            rejected_lines = [
                b"".join(read_rejected_line(file, each, self._privacy, known)) for each in outcome.report.rejected
            ]
        else:
            rejected_lines = outcome.privacy.unreadable_lines
        outcome = replace(
            outcome,
            output=replace(outcome.output, records=replacement.records, pairs=replacement.pairs),
            privacy=replace(
                outcome.privacy,
                addresses=sum(record.addresses for record in replacement.records),
                unsearched_texts=self._redactor.passed_over,
                unreadable_lines=rejected_lines,
            ),
        )
        hidden = [remove_beginnings(text, replacement.values) for text in replacement.names]
        return self._hide(self._mask(outcome, log), log, names, hidden)

    def _replace_everywhere(self, outcome: Outcome, names: list[str], redactor: Redactor) -> _Replacement:
        """Search all texts of a session at once, so that a value found in one place is replaced everywhere."""
        if self._has_nothing_to_replace(outcome, names, redactor):
            return _Replacement([self._record(each, None, Counter()) for each in outcome.records], [], names, [])
        records = [Pieces(jsonio.loads(record.line)) for record in outcome.records]
        pairs = [Pieces(jsonio.loads(pair.line)) for pair in outcome.output.pairs]
        after = list(names)
        counts = redactor.replace([*(value for each in (*records, *pairs) for value in each.values), after])
        counts_by_record = zip(outcome.records, records, _divide_counts(counts, records), strict=True)
        clean_records = [self._record(record, pieces, own) for record, pieces, own in counts_by_record]
        lines = [jsonio.dumps(self._privacy.anonymized(pieces.assemble()).value) for pieces in pairs]
        clean_pairs = [replace(pair, line=line) for pair, line in zip(outcome.output.pairs, lines, strict=True)]
        values = sorted({value for _, value in counts})
        return _Replacement(clean_records, clean_pairs, after, values)

    def _has_nothing_to_replace(self, outcome: Outcome, names: list[str], redactor: Redactor) -> bool:
        """Return whether no text of a session certainly has anything to replace; set the number of skipped texts."""
        if self._replacement_gate is None or outcome.output.pairs:
            return False
        skipped = [self._replacement_gate.skipped_texts(record.line) for record in outcome.records]
        if None in skipped:
            return False
        texts = Texts([names], every=True)
        if may_concern_text_before(texts.joined) or redactor.find(texts.joined):
            return False
        redactor.passed_over = sum(filter(None, skipped)) + sum(texts.passed_over_by_value)
        return True

    def _record(self, record: Record, pieces: Pieces | None, counts: _Counts) -> Record:
        """Return a record with placeholders and pseudonyms."""
        if not counts and not (self._anonymizer and may_contain_address(record.line)):
            return record
        pieces = pieces or Pieces(jsonio.loads(record.line))
        for at in {at for at, _ in counts}:
            pieces.values[at].pop("logprobs", None)  # logprobs spell out the replaced value token by token
        pseudonymous = self._privacy.anonymized(pieces.assemble())
        result = self._with_counts(record, counts, are_replaced=True) if counts else record
        if pseudonymous.passwords:
            passwords = Counter((0, value_of(each)) for each in pseudonymous.passwords)
            result = self._with_counts(result, passwords, are_replaced=True)
        addresses = record.addresses + pseudonymous.addresses
        return self._with_value(replace(result, addresses=addresses), pseudonymous.value)

    def _with_value(self, record: Record, value: dict[str, Any]) -> Record:
        line = jsonio.dumps(value)
        return replace(
            record,
            content=line,
            digest=xxh3_128_digest(line),
            unflagged=digest(jsonio.dumps(_without_flags(value, self._options.flag))) if record.unflagged else b"",
            facts=_facts(record.facts, line),
            tokens=self._lengths.count_tokens(line) if self._lengths else record.tokens,
        )

    # Loss

    def _mask(self, outcome: Outcome, log: Log) -> Outcome:
        """Stop training on replies with placeholders for secrets; without flags, report them instead."""
        if not any(record.replaced_secrets for record in outcome.records):
            return outcome
        records, findings, places = [*outcome.records], list[Finding](), set[tuple[int, int]]()
        rows = outcome.replies.rows
        reply_lines = {(row.record, row.message): row.line for row in rows}
        for number, record in enumerate(outcome.records):
            if not record.replaced_secrets:
                continue
            value = jsonio.loads(record.line)
            masked = Pieces(value).secret_replies()
            if masked and self._options.flag != "none":
                flags, trained = self._unflag(value, masked, record)
                records[number] = self._with_value(replace(record, flags=flags, trained=trained), value)
                places |= {(number, place) for place in masked}
            elif masked:
                fact = replace(checks.placeholder_in_reply(len(masked), masked[0]), conversation=record.conversation)
                line = reply_lines.get((number, masked[0]), _line(outcome, record))
                findings += in_files([finding(fact, outcome.session, log.display_path, line)], log)
        outcome = outcome.with_records(records).with_finding(*findings)
        if not places:
            return outcome
        return replace(outcome, replies=replace(outcome.replies, rows=[_reply(each, places) for each in rows]))

    def _unflag(self, value: dict[str, Any], masked: list[int], record: Record) -> tuple[dict[str, int], int]:
        """Clear the flags of some replies; return the new flag counts, and how many replies a sample trains on."""
        flag = self._options.flag
        turns = value.get("messages", value.get("conversations"))
        if flag == "none" or not isinstance(turns, list):
            return record.flags, record.trained
        trained = [turns[at] for at in masked if marks.is_trained(turns[at], flag)]
        for turn in trained:
            turn[flag] = marks.FLAGS[flag][False]
        counts = Counter(record.flags) + Counter({REDACTED: len(trained)})
        counts[""] -= len(trained)
        flags = {why: count for why, count in sorted(counts.items()) if count}
        return flags, record.trained - len(trained) if record.sample else record.trained


def _divide_counts(counts: _Counts, records: list[Pieces]) -> list[_Counts]:
    """Divide the counts among several records whose pieces were searched together."""
    starts = [*accumulate((len(each.values) for each in records), initial=0)]
    result: list[_Counts] = [Counter() for _ in records]
    for (at, value), count in counts.items():
        number = bisect_right(starts, at) - 1
        if number < len(records):  # else it is in a text outside of records
            result[number][at - starts[number], value] = count
    return result


def _line(outcome: Outcome, record: Record) -> int | None:
    entry = record.entry or outcome.output.entry
    return entry.line if entry else None


def _findings_of(counts: _Counts, pieces: Pieces) -> Iterable[tuple[Violation, str]]:
    """Yield a finding for each kind of secret in a record, with the first value of that kind."""
    for kind, count, first in kinds(counts):
        value = min(each.value for at, each in counts if at == first and each.kind == kind)
        yield checks.secret_found(kind, count, pieces.place(first)), value


def _facts(facts: Facts | None, line: bytes) -> Facts | None:
    if facts is None or not facts.prefix:
        return facts
    return replace(facts, prefix=prefix_of_line(line))


def _without_flags(value: dict[str, Any], flag: str) -> dict[str, Json]:
    name = "messages" if "messages" in value else "conversations"
    turns = [{key: each for key, each in turn.items() if key != flag} for turn in value.get(name, [])]
    return {**value, name: turns}


def _reply(reply: ReplyOutcome, masked: set[tuple[int, int]]) -> ReplyOutcome:
    """Set the loss of a reply to 0 if it has a placeholder for a secret."""
    others = tuple(replace(each, loss=0) if (each.record, each.message) in masked else each for each in reply.others)
    is_masked = (reply.record, reply.message) in masked
    if not is_masked and others == reply.others:
        return reply
    return replace(reply, loss=0 if is_masked else reply.loss, redacted=is_masked, others=others)


def _reject(outcome: Outcome, log: Log, why: Violation) -> Outcome:
    """Return the outcome of a session whose content must not be written."""
    findings = [*outcome.findings, finding(why, outcome.session, log.display_path)]
    rows = [reply.without_record("refused") for reply in outcome.replies.rows]
    return replace(
        outcome,
        output=replace(outcome.output, records=[], pairs=[]),
        report=replace(outcome.report, left_out=why.code, findings=findings),
        account=outcome.account.unwritten(),
        replies=replace(outcome.replies, coverage=outcome.replies.coverage.without_record("refused"), rows=rows),
        privacy=replace(outcome.privacy, addresses=0),
    )
