"""The summary of a run, as a value, a JSON object and text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from msgspec import Struct, field
from msgspec.structs import asdict

from chatsquash.core.accounting import Account, TrainedReplies
from chatsquash.core.log import Log
from chatsquash.core.model import Severity
from chatsquash.core.options import Options
from chatsquash.core.outcome import Outcome, Record
from chatsquash.core.text import printable
from chatsquash.dataset.omissions import ReplyTotals, add_counts, list_omissions, option_for_more
from chatsquash.redaction.values import is_secret, words

if TYPE_CHECKING:
    from chatsquash.core.overview import Overview

_BY_ID: tuple[Severity, str] = ("info", "grouped-by-id")


class ModelTotals(Struct):
    """The messages and replies of a model that are trained on."""

    records: int = 0
    """Records with such messages."""
    length: int = 0
    """The length of these messages."""
    replies: TrainedReplies = TrainedReplies()

    def add_record(self, length: int) -> None:
        """Add a record with messages of some length."""
        self.records += 1
        self.length += length

    def add_replies(self, replies: TrainedReplies) -> None:
        """Add logged replies."""
        self.replies = self.replies.plus(replies)

    def counts(self, unit: str) -> dict[str, int]:
        """Return the numbers as in ``run.json``."""
        return {"records": self.records, **asdict(self.replies), unit: self.length}


class Summary(Struct):
    """The counts of a run.

    ``sessions == written + sum(left_out.values()) + sum(filtered.values()) + duplicates + joined``,
    ``lines == sum(account)`` and ``bytes == sum(sizes)``; ``replies`` has its own sums.
    """

    logs: int = 0
    """Files that were read."""
    sessions: int = 0
    """Session logs read."""
    written: int = 0
    """Sessions with a record."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Skipped sessions, by the code of the finding that is the reason."""
    filtered: Counter[str] = field(default_factory=Counter)
    """Sessions whose records were all filtered, by the first option that filtered one."""
    duplicates: int = 0
    """Sessions whose records duplicate those of others."""
    joined: int = 0
    """Agent conversations that ``--join`` joined with a gateway session."""
    lines: int = 0
    """Lines read."""
    size: int = 0
    """Bytes of the logs on disk."""
    account: Account = field(default_factory=Account)
    """The outcomes of lines."""
    bytes: int = 0
    """Bytes of the lines read, after decompression."""
    sizes: Account = field(default_factory=Account)
    """The bytes of lines by outcome."""
    cleaned: Counter[str] = field(default_factory=Counter)
    """Changes by cleaning in the records, by rule."""
    replies: ReplyTotals = field(default_factory=ReplyTotals)
    """The outcomes of logged replies and conversations."""
    flags: Counter[str] = field(default_factory=Counter)
    """Assistant messages in records by the reason why they are not trained on; ``""`` counts those trained on."""
    has_flags: bool = False
    """Whether records mark the messages trained on."""
    labels: dict[str, object] = field(default_factory=dict)
    """The rows of ``--loss-labels`` by outcome."""
    scores: dict[str, object] = field(default_factory=dict)
    """The scores that are logged apart from their replies, by outcome."""
    provenance: dict[str, object] = field(default_factory=dict)
    """The messages of records by what their provenance proves."""
    judges: bool = False
    """Whether samples are labelled as desirable or not."""
    desirable: Counter[bool] = field(default_factory=Counter)
    """Samples by this label."""
    certifies: bool = False
    """Whether samples were compared with the prompt that their template renders at inference."""
    trained: int = 0
    """Logged replies trained on in samples."""
    models: dict[str, ModelTotals] = field(default_factory=dict)
    """The messages and replies that are trained on, by model; the model is ``""`` if it is not logged."""
    unit: Literal["characters", "tokenizer_tokens"] = "characters"
    """The unit of the lengths in ``models``."""
    true: int = 0
    """Trained replies that follow exactly the prompt that the template renders at inference."""
    has_tokens: bool = False
    """Whether records are samples of token ids."""
    breaks: Counter[str] = field(default_factory=Counter)
    """Replies whose token ids do not continue the previous reply, by reason."""
    comparisons: int = 0
    """Samples of token ids that were compared with the rendering of their messages."""
    different: int = 0
    """Those of them whose rendering has other token ids."""
    has_samples: bool = False
    """Whether each record is a sample of a conversation."""
    makes_pairs: bool = False
    """Whether pairs of replies were requested."""
    pairs: Counter[str] = field(default_factory=Counter)
    """Pairs written, by kind."""
    addresses: int = 0
    """E-mail addresses replaced."""
    secrets: int = 0
    """Secrets detected in records, including repetitions."""
    replaced: int = 0
    """Secrets replaced by placeholders."""
    kinds: Counter[str] = field(default_factory=Counter)
    """Other values replaced in records, by kind."""
    never_searched: int = 0
    """Texts of records that are not searched for secrets: media, signatures and ids of the protocol."""
    with_secrets: int = 0
    """Records with secrets."""
    findings: Counter[tuple[Severity, str]] = field(default_factory=Counter)
    """Findings by severity and code, without those of filtered sessions."""
    filtered_findings: Counter[tuple[Severity, str]] = field(default_factory=Counter)
    """Findings of filtered sessions, which do not concern the dataset."""
    without_tools: Counter[str] = field(default_factory=Counter)
    """Records without tools, by format, for formats that do not log tools."""
    splits: dict[str, tuple[int, float]] = field(default_factory=dict)
    """The number of records and the requested share of each requested split."""
    moves: bool = False
    """Whether records may go to other splits when logs are added."""
    others: Counter[str] = field(default_factory=Counter)
    """Files next to the logs that were not read, by suffix or description."""
    passed_over: int = 0
    """Session logs excluded by options."""
    files: list[str] = field(default_factory=list)
    """Record files, as paths under the output folder."""
    more: str = ""
    """The option that also writes the other conversations of a session; empty if it was set."""
    output: str = ""
    seconds: float = 0.0
    reused: int = 0
    """Sessions whose outcome was reused from an earlier run."""
    other_options: list[str] = field(default_factory=list)
    """The options with other values in the earlier output that this one replaced."""
    unchanged: bool = False
    """Whether nothing changed since the last run; its summary is returned, and nothing was read or written."""

    def add(
        self,
        log: Log,
        outcome: Outcome,
        filtered: Sequence[str] = (),
        duplicates: int = 0,
        record_count: int | None = None,
    ) -> None:
        """Add a session.

        Args:
            log: The log of the session.
            outcome: The outcome after filters and duplicates.
            filtered: The option that filtered each filtered record.
            duplicates: Number of duplicate records.
            record_count: Number of records before filters and duplicates, or ``None`` if nothing was removed.
        """
        account, output, records = outcome.account, outcome.output, outcome.output.records
        self.sessions += 1
        self.size += log.size
        self._count(outcome, filtered, duplicates)
        self.replies.add(outcome, len(filtered) if record_count != 0 else 0, duplicates, record_count)
        self.lines += account.lines
        self.account = self.account.plus(account.counts)
        self.bytes += account.size
        self.sizes = self.sizes.plus(account.sizes)
        self.addresses += outcome.privacy.addresses
        for counts in account.cleanup_counts, account.dropped:
            if counts:
                add_counts(self.cleaned, counts)
        is_filtered = (filtered or account.is_joined) and not records
        findings = self.filtered_findings if is_filtered else self.findings
        for finding in outcome.report.findings:
            findings[finding.severity, finding.code] += 1
        if records:
            self.never_searched += outcome.privacy.unsearched_texts
        if outcome.replies.breaks:
            add_counts(self.breaks, outcome.replies.breaks)
        for pair in output.pairs if records else ():
            self.pairs[pair.kind] += 1
        for record in records:
            self._add_record(record)

    def _add_record(self, record: Record) -> None:
        """Add a record of a session."""
        if record.secrets:
            self.secrets += record.secrets
            self.replaced += record.replaced_secrets
            self.with_secrets += 1
        for each in record.redactions:
            self.kinds[each.kind] += 0 if is_secret(each.kind) else each.count
        if record.flags:
            add_counts(self.flags, record.flags)
        self.trained += record.trained
        for model, replies in record.trained_replies.items():
            self._totals(model).add_replies(replies)
        if record.contents:
            for model, length in record.contents.trained.items():
                self._totals(model).add_record(length)
        self.true += record.inference_matches or 0
        self.comparisons += record.is_rerendered is not None
        self.different += record.is_rerendered is False
        if record.label is not None:
            self.desirable[record.label] += 1
        if record.without_tools:
            self.without_tools[record.without_tools] += 1

    def _count(self, outcome: Outcome, filtered: Sequence[str], duplicates: int) -> None:
        """Count a session by its outcome."""
        if outcome.records:
            self.written += 1
        elif outcome.account.is_joined:
            self.joined += 1
        elif filtered:
            self.filtered[filtered[0]] += 1
        elif duplicates:
            self.duplicates += 1
        else:
            self.left_out[outcome.left_out or ""] += 1

    def close(self) -> None:
        """Assert that every session and every line is accounted for."""
        without_record = self.left_out.total() + self.filtered.total() + self.duplicates + self.joined
        assert self.sessions == self.written + without_record, self
        assert self.lines == sum(self.account), self
        assert self.bytes == sum(self.sizes), self
        self.replies.close()

    @property
    def complete(self) -> bool:
        """Whether every session was written, except for filtered ones, and every line was readable.

        The end of a truncated log cannot be checked.
        """
        return not list_omissions(self.counts())

    def counts(self) -> dict[str, object]:
        """Return the counts as JSON values, which depend only on the input and the options."""
        return {
            "logs": self.logs,
            "sessions": {
                "seen": self.sessions,
                "written": self.written,
                "left_out": dict(sorted(self.left_out.items())),
                "filtered": dict(sorted(self.filtered.items())),
                "duplicates": self.duplicates,
                "joined": self.joined,
            },
            "splits": {
                name: {"records": records, "share": round(self._share(records), 4), "asked": share}
                for name, (records, share) in self.splits.items()
            },
            "lines": {"seen": self.lines, **self.account._asdict()},
            "bytes": {"seen": self.bytes, **self.sizes._asdict()},
            **self.replies.counts(),
            "loss": {"trained": self.flags[""], "not_trained": self._not_trained()} if self.has_flags else {},
            **({"loss_labels": self.labels} if self.labels else {}),
            **({"scores": self.scores} if self.scores else {}),
            **({"provenance": self.provenance} if self.provenance else {}),
            "samples": self._samples(),
            "token_samples": self._token_samples() if self.has_tokens else {},
            "models": {model: self.models[model].counts(self.unit) for model in sorted(self.models)},
            "pairs": dict(sorted(self.pairs.items())),
            "cleaned": {rule: count for rule, count in sorted(self.cleaned.items()) if count},
            "addresses": self.addresses,
            "secrets": {
                "found": self.secrets,
                "records": self.with_secrets,
                "replaced": self.replaced,
                "passed_over": self.never_searched,
            },
            "private": {words(kind): count for kind, count in sorted(self.kinds.items()) if count},
            "findings": by_severity(self.findings),
            "filtered_findings": by_severity(self.filtered_findings),
            "other_files": dict(sorted(self.others.items())),
            "passed_over": self.passed_over,
        }

    @property
    def grouped_files(self) -> int:
        """Number of files whose lines were grouped by session id without an option."""
        return self.findings[_BY_ID] + self.filtered_findings[_BY_ID]

    def _samples(self) -> dict[str, int]:
        """Return the number of certified samples, or of samples by label, if the options request either."""
        if self.certifies:
            return {"trained": self.trained, "true": self.true}
        names = ("desirable", "undesirable")
        return {name: self.desirable[name == "desirable"] for name in names} if self.judges else {}

    def _share(self, records: int) -> float:
        """Return the share of a number of records."""
        return records / self.replies.written if self.replies.written else 0.0

    def _totals(self, model: str) -> ModelTotals:
        totals = self.models.get(model)
        if totals is None:
            totals = self.models.setdefault(printable(model), ModelTotals())
        return totals

    def _not_trained(self) -> dict[str, int]:
        return {why: count for why, count in sorted(self.flags.items()) if why}

    def _token_samples(self) -> dict[str, object]:
        counts = {"trained": self.trained, "breaks": dict(sorted(self.breaks.items()))}
        return {**counts, "rerendered": {"compared": self.comparisons, "different": self.different}}

    def as_json(self) -> dict[str, object]:
        """Return the complete summary as JSON values."""
        run = {"reused": self.reused, "unchanged": self.unchanged, "other_options": self.other_options}
        files = {"output": self.output, "files": self.files}
        return {**self.counts(), **files, **run, "seconds": round(self.seconds, 3)}

    def overview(self) -> Overview:
        """Return the overview of the run, as printed by the command."""
        from chatsquash.dataset.overview import run_overview

        return run_overview(self)

    def __str__(self) -> str:
        """Format the overview as text."""
        return self.overview().as_text(verbose=True)

    def _repr_html_(self) -> str:
        """Format the overview for notebooks."""
        return self.overview().as_html()


def summary_of(options: Options) -> Summary:
    """Return the empty summary of a run with these options."""
    return Summary(
        has_flags=options.flag != "none",
        unit="characters" if options.tokenizer is None else "tokenizer_tokens",
        certifies=options.samples == "auto",
        judges=options.sample_columns == "kto",
        makes_pairs=options.pairs != "none",
        more=option_for_more(options.conversations, options.sessions_by, join=options.join),
        has_samples=options.samples != "session",
        has_tokens=options.samples == "tokens",
        moves=options.clusters,
    )


def by_severity(findings: Counter[tuple[Severity, str]]) -> dict[str, dict[str, int]]:
    """Return the numbers of findings by severity and then by code."""
    severities: dict[str, dict[str, int]] = {}
    for (severity, code), count in sorted(findings.items(), key=_gravest_first):
        severities.setdefault(severity, {})[code] = count
    return severities


def _gravest_first(item: tuple[tuple[Severity, str], int]) -> tuple[int, str]:
    (severity, code), _ = item
    return ("error", "warning", "info").index(severity), code
