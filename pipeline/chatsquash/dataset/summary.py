"""What a run did, in one value, one JSON object and one page of text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from chatsquash.core.accounting import Account
from chatsquash.core.log import Log
from chatsquash.core.model import Severity
from chatsquash.core.options import Options
from chatsquash.core.outcome import Outcome
from chatsquash.core.overview import Overview
from chatsquash.dataset.omissions import ReplyTotals, lacks, option_for_more
from chatsquash.dataset.overview import run_overview
from chatsquash.redaction.placeholders import is_secret, words

_GROUPED: tuple[Severity, str] = ("info", "grouped-by-id")


@dataclass(slots=True)
class Summary:
    """Counts of a run.

    ``sessions == written + sum(left_out.values()) + sum(filtered.values()) + duplicates + joined``,
    ``lines == sum(account)`` and ``bytes == sum(sizes)``; ``replies`` has sums of its own.
    """

    logs: int = 0
    """Files that were read."""
    sessions: int = 0
    """Session logs seen."""
    written: int = 0
    """Sessions with a record."""
    left_out: Counter[str] = field(default_factory=Counter)
    """Sessions left out, by the code of the finding for which they were."""
    filtered: Counter[str] = field(default_factory=Counter)
    """Sessions of which no record was wanted, by the first option that said so."""
    duplicates: int = 0
    """Sessions whose record was that of another."""
    joined: int = 0
    """Agents' conversations that stand in the session of a gateway, with ``--join``."""
    lines: int = 0
    """Lines seen."""
    size: int = 0
    """Bytes of the logs as they stand on the disk."""
    account: Account = field(default_factory=Account)
    """What became of each line."""
    bytes: int = 0
    """Bytes of the lines seen; those of compressed logs expanded."""
    sizes: Account = field(default_factory=Account)
    """The bytes of the lines that ``account`` counts."""
    cleaned: Counter[str] = field(default_factory=Counter)
    """What cleaning changed in the records, by rule."""
    replies: ReplyTotals = field(default_factory=ReplyTotals)
    """What the records hold of the logged replies, and the conversations that were seen."""
    flags: Counter[str] = field(default_factory=Counter)
    """Assistant messages of the records that are not trained on, by why, and by ``""`` those that are."""
    has_flags: bool = False
    """Whether records say so."""
    certifies: bool = False
    """Whether samples were held to what their template gives at inference."""
    trained: int = 0
    """Logged replies that are trained on in samples."""
    true: int = 0
    """Those of them that stand behind what the template gives at inference."""
    has_samples: bool = False
    """Whether each record is a sample of a conversation."""
    makes_pairs: bool = False
    """Whether pairs of replies were asked for."""
    pairs: Counter[str] = field(default_factory=Counter)
    """Those that were written, by kind."""
    addresses: int = 0
    """E-mail addresses replaced."""
    secrets: int = 0
    """Secrets found in records, repeated ones each time."""
    replaced: int = 0
    """Those of them that placeholders stand for."""
    kinds: Counter[str] = field(default_factory=Counter)
    """What else was replaced in records, by kind."""
    never_searched: int = 0
    """Texts of records that nobody searches for secrets: media, signatures and ids of the protocol."""
    with_secrets: int = 0
    """Records in which they were found."""
    findings: Counter[tuple[Severity, str]] = field(default_factory=Counter)
    """Findings by severity and code, those of filtered sessions aside."""
    filtered_findings: Counter[tuple[Severity, str]] = field(default_factory=Counter)
    """Those of filtered sessions, which are none of the dataset's."""
    without_tools: Counter[str] = field(default_factory=Counter)
    """Records without tools, by the format whose files hold none."""
    splits: dict[str, tuple[int, float]] = field(default_factory=dict)
    """Of each split that was asked for its records, and the share of all that it was to have."""
    moves: bool = False
    """Whether records may go to other splits when logs are added."""
    others: Counter[str] = field(default_factory=Counter)
    """What lay beside the logs and was not read: files by suffix, or in words."""
    passed_over: int = 0
    """Session logs that the options left aside."""
    files: list[str] = field(default_factory=list)
    """Record files, as paths below the output folder."""
    more: str = ""
    """The option that writes the conversations of a session which its record leaves aside; empty if it was given."""
    output: str = ""
    seconds: float = 0.0
    reused: int = 0
    """Sessions whose outcome an earlier run had found."""
    other_options: list[str] = field(default_factory=list)
    """The options that an earlier output, which this one replaced, was made with other values of."""
    unchanged: bool = False
    """Nothing changed since the last run, which this is the summary of; nothing was read or written."""

    def add(
        self, log: Log, outcome: Outcome, filtered: Sequence[str] = (), duplicates: int = 0, made: int | None = None
    ) -> None:
        """Count one session more, of which so many records were made, and some filtered or those of others."""
        self.sessions += 1
        self.size += log.size
        self._count(outcome, filtered, duplicates)
        self.replies.add(outcome, len(filtered) if made != 0 else 0, duplicates, made)
        self.lines += outcome.account.lines
        self.account = self.account.plus(outcome.account.counts)
        self.bytes += outcome.account.size
        self.sizes = self.sizes.plus(outcome.account.sizes)
        self.addresses += outcome.privacy.addresses
        for rule, count in (*outcome.account.cleanup_counts.items(), *outcome.account.dropped.items()):
            self.cleaned[rule] += count
        findings = self.filtered_findings if filtered and not outcome.records else self.findings
        for finding in outcome.findings:
            findings[finding.severity, finding.code] += 1
        self.never_searched += outcome.privacy.unsearched_texts if outcome.records else 0
        self.pairs.update(pair.kind for pair in outcome.output.pairs if outcome.records)
        for record in outcome.records:
            self.secrets += record.secrets
            self.replaced += record.replaced_secrets
            for each in record.redactions:
                self.kinds[each.kind] += 0 if is_secret(each.kind) else each.count
            self.with_secrets += bool(record.secrets)
            if record.flags:
                self.flags.update(record.flags)
            self.trained += record.trained
            self.true += record.inference_matches or 0
            if record.without_tools:
                self.without_tools[record.without_tools] += 1

    def _count(self, outcome: Outcome, filtered: Sequence[str], duplicates: int) -> None:
        """Count a session by what became of it."""
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
        aside = self.left_out.total() + self.filtered.total() + self.duplicates + self.joined
        assert self.sessions == self.written + aside, self
        assert self.lines == sum(self.account), self
        assert self.bytes == sum(self.sizes), self
        self.replies.close()

    @property
    def complete(self) -> bool:
        """Whether every session was written, unless that was not wanted, and every line could be read.

        As far as anybody can tell: of a log that was cut short, nobody knows what is missing.
        """
        return not lacks(self.counts())

    def counts(self) -> dict[str, object]:
        """The counts as JSON values; they depend on the input and the options alone."""
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
            "samples": {"trained": self.trained, "true": self.true} if self.certifies else {},
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
    def grouped(self) -> int:
        """Files whose lines were grouped by session id without an option."""
        return self.findings[_GROUPED] + self.filtered_findings[_GROUPED]

    def _share(self, records: int) -> float:
        """The share of all records that these are."""
        return records / self.replies.written if self.replies.written else 0.0

    def _not_trained(self) -> dict[str, int]:
        return {why: count for why, count in sorted(self.flags.items()) if why}

    def as_json(self) -> dict[str, object]:
        """The whole summary as JSON values."""
        run = {"reused": self.reused, "unchanged": self.unchanged, "other_options": self.other_options}
        files = {"output": self.output, "files": self.files}
        return {**self.counts(), **files, **run, "seconds": round(self.seconds, 3)}

    def overview(self) -> Overview:
        """What people should know about the run."""
        return run_overview(self)

    def __str__(self) -> str:
        """The overview as text."""
        return self.overview().as_text(verbose=True)

    def _repr_html_(self) -> str:
        """The overview as notebooks show it."""
        return self.overview().as_html()


def summary_of(options: Options) -> Summary:
    """The summary of a run that nothing was counted of so far."""
    return Summary(
        has_flags=options.flag != "none",
        certifies=options.samples == "auto",
        makes_pairs=options.pairs != "none",
        more=option_for_more(options.conversations, options.sessions_by, join=options.join),
        has_samples=options.samples != "session",
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
