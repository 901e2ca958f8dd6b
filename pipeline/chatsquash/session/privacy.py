"""What is private in the outcome of a session: said, or replaced in all that is written of it."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable
from itertools import accumulate
from typing import TYPE_CHECKING, Any, BinaryIO, NamedTuple

from msgspec.structs import replace
from xxhash import xxh3_128_digest

from chatsquash.checks import private as checks
from chatsquash.core import jsonio, marks
from chatsquash.core.accounting import ReplyOutcome
from chatsquash.core.log import Log
from chatsquash.core.model import Finding, Json, Violation
from chatsquash.core.options import Options
from chatsquash.core.outcome import Facts, Outcome, PreferencePair, Record
from chatsquash.records.line import digest
from chatsquash.redaction import requests
from chatsquash.redaction.addresses import may_hold_address
from chatsquash.redaction.hits import Value, value_of
from chatsquash.redaction.placeholders import is_secret, redaction
from chatsquash.redaction.privacy import Pieces, Privacy, kinds, without_addresses, without_beginnings
from chatsquash.redaction.redactor import Redactor, UnsearchedError
from chatsquash.session import private_texts
from chatsquash.session.log_findings import in_files
from chatsquash.session.private_texts import kept_line, may_be_kept
from chatsquash.session.record_maker import prefix_of_line
from chatsquash.session.secret_lines import first_lines
from chatsquash.session.session import finding

if TYPE_CHECKING:
    from chatsquash.session.lengths import Lengths

REDACTED = "redacted"
"""Why a message is not trained on in which a placeholder stands for a secret."""
_Counts = Counter[tuple[int, Value]]


class _Replacement(NamedTuple):
    """What stands in the place of records and pairs."""

    records: list[Record]
    pairs: list[PreferencePair]
    hidden: dict[str, str]
    """What stands in the place of texts beside them."""
    values: list[Value]
    """What was found."""


class OutcomePrivacy:
    """Looks for what is private by the options of a run."""

    def __init__(self, options: Options, lengths: Lengths | None = None) -> None:
        self._options, self._lengths = options, lengths
        self._privacy = Privacy(options)
        self._placeholders = self._privacy.placeholders if options.anonymize_key else None
        self._anonymizer, self._redactor = self._privacy.anonymizer, self._privacy.redactor
        looks = options.integrity_analysis and "secrets" not in options.redacts
        self._looker = requests.looker(options) if looks else None

    def outcome(self, outcome: Outcome, log: Log, file: BinaryIO) -> Outcome:
        """An outcome that says what is private in its records, or holds placeholders in the place of it.

        ``file`` is the open log.
        """
        try:
            replaced = (
                self._with_placeholders(outcome, log, file)
                if self._redactor
                else self.without_private_texts(self._mask(outcome, log), log)
            )
            return (
                self._looked(replaced, private_texts.with_names(log, replaced.privacy.log_names), file, self._looker)
                if self._looker
                else replaced
            )
        except UnsearchedError as problem:
            return self.without_private_texts(_left_out(outcome, log, checks.redaction_failed(str(problem))), log)

    def without_private_texts(self, outcome: Outcome, log: Log) -> Outcome:
        """An outcome without records, or whose records are replaced already, that tells nothing private beside."""
        texts = private_texts.texts(outcome, log)
        before = dict(zip(texts, texts, strict=True))
        try:
            self._privacy.replace([texts])
        except UnsearchedError:
            texts = ["" for _ in texts]
        return self._hide(outcome, log, dict(zip(before, texts, strict=True)))

    def _hide(self, outcome: Outcome, log: Log, names: dict[str, str]) -> Outcome:
        if self._anonymizer:
            names = {before: without_addresses(after, self._anonymizer) for before, after in names.items()}
        if all(before == after for before, after in names.items()):
            return outcome
        return private_texts.hide_texts(outcome, log, lambda text: names.get(text, text), self._privacy.digest)

    # Looking

    def _looked(self, outcome: Outcome, log: Log, file: BinaryIO, looker: Redactor) -> Outcome:
        records, passed_over = list(outcome.records), outcome.privacy.unsearched_texts
        facts: list[tuple[Violation, str, int | None]] = []
        for at, record in enumerate(outcome.records):
            pieces = Pieces(jsonio.loads(record.line))
            counts = looker.look(pieces.values)
            passed_over += 0 if self._redactor else looker.passed_over
            if counts:
                records[at] = self._with_counts(record, counts, are_replaced=False)
                line = _line(outcome, record)
                for fact, value in _findings_of(counts, pieces):
                    facts.append((fact._replace(conversation=record.conversation), value, line))
        lines = first_lines((value for _, value, line in facts if line is not None), log, file) if facts else {}
        found = [
            finding(fact, outcome.session, log.display_path, lines.get(value, line)) for fact, value, line in facts
        ]
        findings = in_files(found, log)
        privacy = replace(outcome.privacy, unsearched_texts=passed_over)
        return replace(outcome.with_records(records).with_finding(*findings), privacy=privacy)

    def _with_counts(self, record: Record, counts: _Counts, *, are_replaced: bool) -> Record:
        """A record that says what was found in it."""
        values: Counter[Value] = Counter()
        for (_, value), count in counts.items():
            values[value] += count
        secrets = sum(count for value, count in values.items() if is_secret(value.kind))
        replaced = record.replaced_secrets + (secrets if are_replaced else 0)
        hashes = self._options.write_known is not None
        counted = [redaction(value, count, self._placeholders, hashes=hashes) for value, count in values.items()]
        redactions = [*record.redactions, *counted]
        return replace(record, secrets=record.secrets + secrets, replaced_secrets=replaced, redactions=redactions)

    # Replacing

    def _with_placeholders(self, outcome: Outcome, log: Log, file: BinaryIO) -> Outcome:
        assert self._redactor
        names = private_texts.texts(outcome, log)
        made = self._spelled(outcome, names, self._redactor)
        if outcome.report.rejected and self._options.keep_rejected and may_be_kept(log, self._options):
            known = self._privacy.value_finder(made.values)
            kept = [b"".join(kept_line(file, each, self._privacy, known)) for each in outcome.report.rejected]
        else:
            kept = outcome.privacy.unreadable_lines
        outcome = replace(
            outcome,
            output=replace(outcome.output, records=made.records, pairs=made.pairs),
            privacy=replace(
                outcome.privacy,
                addresses=sum(record.addresses for record in made.records),
                unsearched_texts=self._redactor.passed_over,
                unreadable_lines=kept,
            ),
        )
        sources = {before: without_beginnings(after, made.values) for before, after in made.hidden.items()}
        return self._hide(self._mask(outcome, log), log, sources)

    def _spelled(self, outcome: Outcome, names: list[str], redactor: Redactor) -> _Replacement:
        """All that is told of a session, searched in one go, so that what is found once is replaced everywhere."""
        records = [Pieces(jsonio.loads(record.line)) for record in outcome.records]
        pairs = [Pieces(jsonio.loads(pair.line)) for pair in outcome.output.pairs]
        after = list(names)
        counts = redactor.replace([*(value for each in (*records, *pairs) for value in each.values), after])
        found = zip(outcome.records, records, _divide_counts(counts, records), strict=True)
        made = [self._record(record, pieces, own) for record, pieces, own in found]
        lines = [jsonio.dumps(self._privacy.anonymized(pieces.whole()).value) for pieces in pairs]
        written = [pair._replace(line=line) for pair, line in zip(outcome.output.pairs, lines, strict=True)]
        values = sorted({value for _, value in counts})
        return _Replacement(made, written, dict(zip(names, after, strict=True)), values)

    def _record(self, record: Record, pieces: Pieces, counts: _Counts) -> Record:
        """A record with placeholders and pseudonyms."""
        if not counts and not (self._anonymizer and may_hold_address(record.line)):
            return record
        for at in {at for at, _ in counts}:
            pieces.values[at].pop("logprobs", None)  # which spell out what was replaced, token by token
        value, addresses, passwords = self._privacy.anonymized(pieces.whole())
        made = self._with_counts(record, counts, are_replaced=True) if counts else record
        if passwords:
            made = self._with_counts(made, Counter((0, value_of(each)) for each in passwords), are_replaced=True)
        return self._with_value(replace(made, addresses=record.addresses + addresses), value)

    def _with_value(self, record: Record, value: dict[str, Any]) -> Record:
        line = jsonio.dumps(value)
        return replace(
            record,
            line=line,
            digest=xxh3_128_digest(line),
            unflagged=digest(jsonio.dumps(_without_flags(value, self._options.flag))) if record.unflagged else b"",
            facts=_facts(record.facts, line),
            tokens=self._lengths.count_tokens(line) if self._lengths else record.tokens,
        )

    # What is trained on

    def _mask(self, outcome: Outcome, log: Log) -> Outcome:
        """An outcome whose replies with placeholders for secrets are not trained on, or of which a finding says so."""
        records, findings, places = [*outcome.records], list[Finding](), set[tuple[int, int]]()
        rows = outcome.replies.rows if any(record.replaced_secrets for record in records) else []
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
                fact = checks.placeholder_in_reply(len(masked), masked[0])._replace(conversation=record.conversation)
                line = reply_lines.get((number, masked[0]), _line(outcome, record))
                findings += in_files([finding(fact, outcome.session, log.display_path, line)], log)
        outcome = outcome.with_records(records).with_finding(*findings)
        if not places:
            return outcome
        return replace(outcome, replies=replace(outcome.replies, rows=[_reply(each, places) for each in rows]))

    def _unflag(self, value: dict[str, Any], masked: list[int], record: Record) -> tuple[dict[str, int], int]:
        """Have replies say that they are not trained on: how many are and why not the others, and those of a sample."""
        flag = self._options.flag
        said = value.get("messages", value.get("conversations"))
        if flag == "none" or not isinstance(said, list):
            return record.flags, record.trained
        unwanted, wanted = marks.FLAGS[flag]
        trained = [said[at] for at in masked if said[at].get(flag) == wanted]
        for turn in trained:
            turn[flag] = unwanted
        counts = Counter(record.flags) + Counter({REDACTED: len(trained)})
        counts[""] -= len(trained)
        flags = {why: count for why, count in sorted(counts.items()) if count}
        return flags, record.trained - len(trained) if record.sample else record.trained


def _divide_counts(counts: _Counts, records: list[Pieces]) -> list[_Counts]:
    """What was found in each of several records, whose pieces were searched one behind the other."""
    starts = [*accumulate((len(each.values) for each in records), initial=0)]
    divided: list[_Counts] = [Counter() for _ in records]
    for (at, value), count in counts.items():
        number = bisect_right(starts, at) - 1
        if number < len(records):  # else it is beside all records
            divided[number][at - starts[number], value] = count
    return divided


def _line(outcome: Outcome, record: Record) -> int | None:
    chosen = record.entry or outcome.output.entry
    return chosen.line if chosen else None


def _findings_of(counts: _Counts, pieces: Pieces) -> Iterable[tuple[Violation, str]]:
    """A fact for each kind of secret in a record, and the first value of the kind."""
    for kind, count, first in kinds(counts):
        value = min(each.value for at, each in counts if at == first and each.kind == kind)
        yield checks.secret_found(kind, count, pieces.place(first)), value


def _facts(facts: Facts | None, line: bytes) -> Facts | None:
    if facts is None or not facts.prefix:
        return facts
    return facts._replace(prefix=prefix_of_line(line))


def _without_flags(value: dict[str, Any], flag: str) -> dict[str, Json]:
    name = "messages" if "messages" in value else "conversations"
    said = [{key: each for key, each in turn.items() if key != flag} for turn in value.get(name, [])]
    return {**value, name: said}


def _reply(reply: ReplyOutcome, masked: set[tuple[int, int]]) -> ReplyOutcome:
    """A reply that is not trained on where a placeholder stands in it for a secret."""
    others = tuple(each._replace(loss=0) if (each.record, each.message) in masked else each for each in reply.others)
    is_masked = (reply.record, reply.message) in masked
    if not is_masked and others == reply.others:
        return reply
    return replace(reply, loss=0 if is_masked else reply.loss, redacted=is_masked, others=others)


def _left_out(outcome: Outcome, log: Log, why: Violation) -> Outcome:
    """The outcome of a session of which nothing may be written."""
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
