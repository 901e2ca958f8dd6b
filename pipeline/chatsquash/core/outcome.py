"""The outcome of a session: its records or why there are none, its findings, its account, replies and privacy."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from msgspec import Meta, Struct
from msgspec.structs import replace

from chatsquash.core.accounting import Account, Coverage, ReplyOutcome, Usage
from chatsquash.core.model import ConversationKind, Finding, Mark, RejectedLine, Tokens, Violation


class Facts(NamedTuple):
    """What a log says about the request that became a record."""

    prefix: str = ""
    """A digest of the system prompt and the first user message, hexadecimal."""
    session: str = ""
    """The session's id or name, and below the log's name: both without addresses where these are replaced."""
    source: str = ""
    model: str | None = None
    """As the response names it, else the request."""
    started_at: str | None = None
    """The first readable time of the session, ISO 8601, UTC."""
    entries: int = 0
    """Requests up to and including the one that became the record."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    """As the response counts them."""
    tools_supplied: bool | None = None
    """Whether the record has the definitions of ``--tools-file``; ``None`` without that option."""


class SelectedEntry(NamedTuple):
    """What a log says about the entry that became the record, or would have."""

    line: int | None
    started_at: str | None
    """The first readable time up to it, ISO 8601, UTC."""
    ended_at: str | None
    """The last one."""
    model: str | None
    """As the response names it, else the request."""
    entries: int | None
    """Requests up to and including it."""


class Place(NamedTuple):
    """The place of a record in the output."""

    file: str
    """Relative to the output folder, with ``/``."""
    row: int
    """From 1."""
    offset: int | None = None
    """The byte offset of its line, after decompression; ``None`` in Parquet."""

    def __str__(self) -> str:
        """The place as findings show it."""
        return f"{self.file}:{self.row}"


class LinePlace(NamedTuple):
    """The place of a record's line, including its line feed, in the journal of another process."""

    journal: str
    offset: int
    size: int


class Likeness(Struct, frozen=True, array_like=True):
    """The fingerprints by which records are compared; those that no option needs are empty."""

    same: bytes = b""
    """A digest that ignores flags, call ids and the order of keys."""
    begins: bytes = b""
    """The digests of its prefixes, concatenated, each one message longer than the one before."""
    sketch: bytes = b""
    """The sketch of its words, see ``records.sketch``."""
    prompt: bytes = b""
    """A digest of the first user message, without case, digits and white space; empty if there is none."""


LastUser = Literal["thanks", "complaint", "correction", "none", "unknown"]


class Ending(NamedTuple):
    """How a conversation ended, each value with its evidence; ``None`` if unknown."""

    exit: int | None = None
    """The exit code of the last command that ran tests or a build."""
    exit_evidence: str | None = None
    reward: float | None = None
    reward_evidence: str | None = None
    finish: str | None = None
    """Why the last reply ended."""
    finish_evidence: str | None = None
    truncated: bool | None = None
    """Whether the last reply was cut off."""
    truncated_evidence: str | None = None
    failed_results: int | None = None
    """How many tool results the log marks as errors."""
    failed_results_evidence: str | None = None
    last_user: LastUser = "unknown"
    """What the user said last of what the assistant did."""
    last_user_evidence: str | None = None


class Redaction(Struct, frozen=True, array_like=True):
    """A private value in a record, without the value itself."""

    kind: str
    rule: str
    fingerprint: str
    """As in its placeholder: keyed, so that guesses cannot be tested; empty if a run has no key."""
    count: int
    digest: str = ""
    """Its SHA-256, if the hashes of values are requested."""


_Number = Annotated[int, Meta(ge=0, lt=1 << 53)]


class Contents(Struct, frozen=True, array_like=True):
    """What a record contains as it is written, for the dataset card."""

    characters: _Number = 0
    """Those of its line."""
    defines_tools: bool = False
    calls: _Number = 0
    images: bool = False
    """Whether it contains images."""
    reasons: bool = False
    """Whether a message has reasoning."""
    redacted: bool = False
    """Whether a placeholder or a pseudonym replaced something in it."""
    trained: dict[str, _Number] = {}
    """By model the length of the messages that are trained on; ``""`` if the log does not name the model."""


class Record(Struct, frozen=True, array_like=True):
    """A record as it is written, and its metadata."""

    line: bytes
    """Its JSON, without a line feed; empty if it has a ``line_place``."""
    usage: Usage
    images: dict[str, bytes] = {}
    """Image files of the dataset folder, by the names that the record uses."""
    without_tools: str = ""
    """The format of its log, if files of that format contain no tools, which is why the record has none."""
    facts: Facts | None = None
    """If the options request them."""
    conversation: str = ""
    """The id of its conversation; empty for the specified record."""
    kind: ConversationKind = "main"
    parent: str | None = None
    """The id of the conversation that it comes from."""
    entry: SelectedEntry | None = None
    """What the log says about the entry that became it; ``None`` for the specified record."""
    size: int = 0
    """Bytes of the line of that entry; 0 for the specified record."""
    unflagged: bytes = b""
    """A digest of its line without flags, if it has flags: equal records may have different ones."""
    marks: list[Mark] = []
    """The marks of its assistant messages, until it is known which replies these are."""
    addresses: int = 0
    """E-mail addresses replaced in it."""
    flags: dict[str, int] = {}
    """How many of its messages are not trained on, by reason (empty: trained on); if flags are written."""
    sample: int = 0
    """Its number among the samples of its session, from 1; 0 if the session is not divided into samples."""
    samples: int = 0
    """How many its session has."""
    trained: int = 0
    """Replies that are trained on in it, if it is a sample."""
    inference_matches: int | None = None
    """Those of them that follow exactly what the template renders at inference; ``None`` without a template."""
    tokens: int | None = None
    """Its number of tokens, if they are counted."""
    ending: Ending = Ending()
    """How its conversation ended."""
    line_place: LinePlace | None = None
    """The place of its line, on its way from another process."""
    digest: bytes = b""
    """The XXH3 of its line, 128 bits."""
    secrets: int = 0
    """Secrets found in it, repeated ones each time."""
    replaced: int = 0
    """Those of them that placeholders replaced."""
    redactions: list[Redaction] = []
    """The private values found in it, except e-mail addresses."""
    alike: Likeness | None = None
    """``None`` if records are compared by their bytes only."""
    contents: Contents | None = None
    """``None`` for a record that is too large to be parsed again."""


class PreferencePair(NamedTuple):
    """Two replies to one request, of which one was preferred."""

    kind: str
    """The evidence of the preference."""
    line: bytes
    """Its JSON, without a line feed."""


class Rejection(Struct, frozen=True):
    """Why there is no record of a session."""

    why: Violation


class Meeting(NamedTuple):
    """Hashes by which the parts of a session in several files are matched; 0 for what a session does not have."""

    id: int
    begin: int
    """Of the first user message, and the last reply that its first request contains."""
    end: int
    """Of the first user message, and its last reply."""


EACH = "\0"
"""Separates two globs; in the second it stands for the names, without suffix, of what the first one matches."""


class Relative(NamedTuple):
    """Another file, or several, with information on a log."""

    pattern: bytes
    """A glob in the bytes of the file system, perhaps with a second one (``EACH``)."""
    state: bytes
    """A fingerprint that changes when the files do."""


class Family(NamedTuple):
    """What the conversations of an agent's session have in common, so that all of them are in one split."""

    session: str
    prefix: str
    """As in ``Facts``, of the first conversation of the session."""
    log: str
    """The name of its log, without the suffix."""
    day: str | None
    """As in ``Outcome``."""


class LogNames(Struct, frozen=True, array_like=True):
    """The names of a log in reports, if its paths contain private values."""

    display_path: str
    name: str
    other_files: list[str]
    """The names of its files if it has several, as in ``Log.beside``."""
    digest: str = ""
    """A keyed digest of its path."""


class SessionRecords(Struct, frozen=True, array_like=True):
    """The records of a session, and what decides where they are written."""

    records: list[Record] = []
    """Empty for a session that was skipped."""
    pairs: list[PreferencePair] = []
    """If the options request them."""
    entry: SelectedEntry | None = None
    """``None`` if no entry was left."""
    day: str | None = None
    """``YYYY-MM-DD``: the date in the path, else the UTC date of the first entry left."""
    family: Family | None = None
    """Of a conversation in an agent's or a client's file, if there are several splits."""


class SessionFindings(Struct, frozen=True, array_like=True):
    """What is wrong with a session."""

    left_out: str | None = None
    """The code of the finding for which it was skipped."""
    findings: list[Finding] = []
    rejected: list[RejectedLine] = []
    trace: str = ""
    """The role trace of the selected request and its reply, for a session with errors; else empty."""


class SessionAccount(Struct, frozen=True, array_like=True):
    """The log of a session, and what happened to each of its lines."""

    lines: int = 0
    """Lines seen, including blank ones."""
    size: int = 0
    """Bytes seen: of all lines, with their line feeds; decompressed."""
    counts: Account = Account()
    sizes: Account = Account()
    """The bytes of the lines that ``counts`` counts."""
    cleanup_counts: dict[str, int] = {}
    """How many messages of the record each cleaning rule changed or removed."""
    dropped: dict[str, int] = {}
    """How many complete entries each cleaning rule dropped."""
    digest: str = ""
    """XXH3 of the log, 128 bits, hexadecimal; of a compressed one as it is on the disk."""
    format: str | None = None
    """That of the log, or the agent that wrote it."""
    relatives: list[Relative] = []
    """The other files that it was made of."""
    lineage: bytes | None = None
    """Of an agent's file a fingerprint of the other logs of the run that repeat it, or that it repeats."""
    joined: bool = False
    """Whether its conversation is part of the session of a gateway that it was joined with."""

    def unwritten(self) -> SessionAccount:
        """The same if no record is written after all."""
        return replace(self, counts=self.counts.unwritten(), sizes=self.sizes.unwritten(), cleanup_counts={})


class SessionReplies(Struct, frozen=True, array_like=True):
    """The logged replies of a session."""

    coverage: Coverage = Coverage()
    rows: list[ReplyOutcome] = []
    """The outcome of each logged reply, if several records may contain it, or the options request it."""
    tokens: Tokens = Tokens()
    """Those of all exchanges of the session as they are logged, each response counted once."""
    meeting: Meeting | None = None
    """``None`` for a document."""


class SessionPrivacy(Struct, frozen=True, array_like=True):
    """What was replaced in a session, and what is written instead."""

    addresses: int = 0
    """E-mail addresses replaced."""
    unsearched_texts: int = 0
    """Texts of its records that are not searched: media, signatures and ids of the protocol."""
    unreadable_lines: list[bytes] = []
    """Its lines that could not be read, with placeholders; if they are kept."""
    log_names: LogNames | None = None
    """The name of its log in reports; ``None``: unchanged."""


class Outcome(Struct, frozen=True, array_like=True):
    """The outcome of one session; plain data, so that it can cross to another process."""

    session: str
    output: SessionRecords = SessionRecords()
    report: SessionFindings = SessionFindings()
    account: SessionAccount = SessionAccount()
    replies: SessionReplies = SessionReplies()
    privacy: SessionPrivacy = SessionPrivacy()

    @property
    def record(self) -> bytes | None:
        """The line of its record, without a line feed; ``None`` for a session that was skipped."""
        return self.output.records[0].line if self.output.records else None

    @property
    def records(self) -> list[Record]:
        """Its records; empty for a session that was skipped."""
        return self.output.records

    @property
    def findings(self) -> list[Finding]:
        """What is wrong with it."""
        return self.report.findings

    @property
    def left_out(self) -> str | None:
        """The code of the finding for which it was skipped."""
        return self.report.left_out

    def with_records(self, records: list[Record]) -> Outcome:
        """The same with other records."""
        return replace(self, output=replace(self.output, records=records))

    def with_finding(self, *more: Finding) -> Outcome:
        """The same with one finding more, or several."""
        return replace(self, report=replace(self.report, findings=[*self.report.findings, *more]))
