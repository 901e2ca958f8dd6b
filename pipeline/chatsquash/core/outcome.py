"""The outcome of a session: its records or the reason for their absence, findings, accounting, replies and privacy."""

from __future__ import annotations

from typing import Annotated, Literal, NamedTuple

from msgspec import Meta, Struct
from msgspec.structs import replace

from chatsquash.core.accounting import Account, Coverage, ReplyOutcome, Usage
from chatsquash.core.model import ConversationKind, Finding, Mark, RejectedLine, Tokens, Violation


class Facts(NamedTuple):
    """The facts from a log about the request that became a record."""

    prefix: str = ""
    """A digest of the system prompt and the first user message, hexadecimal."""
    session: str = ""
    """The id or name of the session; like ``source``, the log's name, with e-mail addresses replaced on request."""
    source: str = ""
    model: str | None = None
    """From the response, otherwise from the request."""
    started_at: str | None = None
    """The first readable time of the session, ISO 8601, UTC."""
    entries: int = 0
    """Requests up to and including the one that became the record."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    """Both as reported by the response."""
    tools_supplied: bool | None = None
    """Whether the record has the definitions of ``--tools-file``; ``None`` without that option."""


class SelectedEntry(NamedTuple):
    """The facts from a log about the entry that became the record, or would have become it."""

    line: int | None
    started_at: str | None
    """The first readable time up to the entry, ISO 8601, UTC."""
    ended_at: str | None
    """The last readable time up to the entry."""
    model: str | None
    """From the response, otherwise from the request."""
    entries: int | None
    """Requests up to and including the entry."""


class Place(NamedTuple):
    """The place of a record in the output."""

    file: str
    """Relative to the output folder, with ``/``."""
    row: int
    """From 1."""
    offset: int | None = None
    """The byte offset of its line, after decompression; ``None`` in Parquet."""

    def __str__(self) -> str:
        """Return the place as findings show it."""
        return f"{self.file}:{self.row}"


class LinePlace(NamedTuple):
    """The place of a record's line, including its line feed, in the journal of another process."""

    journal: str
    offset: int
    size: int


class Likeness(Struct, frozen=True, array_like=True):
    """Fingerprints for comparing records; those that no option needs are empty."""

    same: bytes = b""
    """A digest that ignores flags, call ids and the order of keys."""
    begins: bytes = b""
    """The digests of its prefixes, concatenated, each one message longer than the one before."""
    sketch: bytes = b""
    """The sketch of its words; see ``records.sketch``."""
    prompt: bytes = b""
    """A digest of the first user message, without case, digits and white space; empty without such a message."""


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
    """The last comment of the user on the work of the assistant."""
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
    """The content of a record as written, for the dataset card."""

    characters: _Number = 0
    """Characters of its line."""
    defines_tools: bool = False
    calls: _Number = 0
    images: bool = False
    """Whether it contains images."""
    reasons: bool = False
    """Whether a message has reasoning."""
    redacted: bool = False
    """Whether a placeholder or a pseudonym replaced something in it."""
    trained: dict[str, _Number] = {}
    """The length of the messages that are trained on, by model; the model is ``""`` if the log does not name it."""


class Record(Struct, frozen=True, array_like=True):
    """A record as it is written, and its metadata."""

    line: bytes
    """Its JSON, without a line feed; empty if it has a ``line_place``."""
    usage: Usage
    images: dict[str, bytes] = {}
    """Image files of the dataset folder, by the names that the record uses."""
    without_tools: str = ""
    """The format of its log, if the record has no tools because files of that format contain none."""
    facts: Facts | None = None
    """Present if the options request them."""
    conversation: str = ""
    """The id of its conversation; empty for the default record of a session."""
    kind: ConversationKind = "main"
    parent: str | None = None
    """The id of the parent conversation."""
    entry: SelectedEntry | None = None
    """The entry that became the record; ``None`` for the default record of a session."""
    size: int = 0
    """Bytes of the line of that entry; 0 for the default record."""
    unflagged: bytes = b""
    """A digest of its line without flags, if it has any, since equal records may have different flags."""
    marks: list[Mark] = []
    """The marks of its assistant messages, until they are matched with replies."""
    addresses: int = 0
    """E-mail addresses replaced in it."""
    flags: dict[str, int] = {}
    """The number of its messages by reason for not training on them (empty: trained on), if flags are written."""
    sample: int = 0
    """Its number among the samples of its session, from 1; 0 if the session is not divided into samples."""
    samples: int = 0
    """The number of samples of its session."""
    trained: int = 0
    """The number of replies in it that are trained on, if it is a sample."""
    inference_matches: int | None = None
    """The number of these with exactly the context that the template renders at inference; ``None`` if unknown."""
    tokens: int | None = None
    """The number of tokens, if they are counted."""
    ending: Ending = Ending()
    """How its conversation ended."""
    line_place: LinePlace | None = None
    """The place of its line, while it is transferred from another process."""
    digest: bytes = b""
    """The XXH3 of its line, 128 bits."""
    secrets: int = 0
    """The number of secrets found in it, including repetitions."""
    replaced_secrets: int = 0
    """The number of these that placeholders replaced."""
    redactions: list[Redaction] = []
    """The private values found in it, except e-mail addresses."""
    alike: Likeness | None = None
    """``None`` if records are compared by their bytes only."""
    contents: Contents | None = None
    """``None`` for a record that is too large to be parsed again."""


class PreferencePair(NamedTuple):
    """Two replies to one request, one of them preferred."""

    kind: str
    """The evidence of the preference."""
    line: bytes
    """Its JSON, without a line feed."""


class Rejection(Struct, frozen=True):
    """The reason for which a session has no record."""

    why: Violation


class Meeting(NamedTuple):
    """Hashes for matching the parts of a session in several files; 0 if a part is missing."""

    id: int
    begin: int
    """A hash of the first user message and the last reply in the first request."""
    end: int
    """A hash of the first user message and the last reply."""


EACH = "\0"
"""Separates two globs; within the second it is replaced by the names that the first one matches, without suffix."""


class Relative(NamedTuple):
    """One or more other files with information about a log."""

    pattern: bytes
    """A glob in the bytes of the file system, perhaps with a second one (``EACH``)."""
    state: bytes
    """A fingerprint that changes when the files do."""


class Family(NamedTuple):
    """The properties that all conversations of an agent's session share, so that they are in one split."""

    session: str
    prefix: str
    """As in ``Facts``, of the first conversation of the session."""
    log: str
    """The name of its log, without the suffix."""
    day: str | None
    """As in ``Outcome``."""


class LogNames(Struct, frozen=True, array_like=True):
    """The names of a log in reports, without the private values in its paths."""

    display_path: str
    name: str
    other_files: list[str]
    """The names of its other files, as in ``Log.other_files``."""
    digest: str = ""
    """A keyed digest of its path."""


class SessionRecords(Struct, frozen=True, array_like=True):
    """The records of a session, and the facts that determine where they are written."""

    records: list[Record] = []
    """Empty for a session that was skipped."""
    pairs: list[PreferencePair] = []
    """Present if the options request them."""
    entry: SelectedEntry | None = None
    """``None`` if no entry remains."""
    day: str | None = None
    """``YYYY-MM-DD``: the date in the path, otherwise the UTC date of the first remaining entry."""
    family: Family | None = None
    """Only for a conversation in the file of an agent or a client, and if there are several splits."""


class SessionFindings(Struct, frozen=True, array_like=True):
    """The findings about a session."""

    left_out: str | None = None
    """The code of the finding for which it was skipped."""
    findings: list[Finding] = []
    rejected: list[RejectedLine] = []
    trace: str = ""
    """The role trace of the selected request and its reply, for a session with errors; else empty."""


class SessionAccount(Struct, frozen=True, array_like=True):
    """The log of a session, with the outcome of each line."""

    lines: int = 0
    """Lines seen, including blank ones."""
    size: int = 0
    """Bytes of all lines seen, including line feeds, after decompression."""
    counts: Account = Account()
    sizes: Account = Account()
    """The bytes of the lines that ``counts`` counts."""
    cleanup_counts: dict[str, int] = {}
    """The number of messages of the record that each cleaning rule changed or removed."""
    dropped: dict[str, int] = {}
    """The number of complete entries that each cleaning rule dropped."""
    digest: str = ""
    """The XXH3 of the log file as stored (128 bits, hexadecimal)."""
    format: str | None = None
    """The format of the log, or the agent that wrote it."""
    relatives: list[Relative] = []
    """The other files from which it was read."""
    lineage: bytes | None = None
    """For an agent's file: a fingerprint of the other logs in the run that repeat it or that it repeats."""
    is_joined: bool = False
    """Whether its conversation was joined with the session of a gateway."""

    def unwritten(self) -> SessionAccount:
        """Return the account for when no record is written after all."""
        return replace(self, counts=self.counts.unwritten(), sizes=self.sizes.unwritten(), cleanup_counts={})


class SessionReplies(Struct, frozen=True, array_like=True):
    """The logged replies of a session."""

    coverage: Coverage = Coverage()
    rows: list[ReplyOutcome] = []
    """The outcome of each logged reply, if several records may contain it or the options request it."""
    tokens: Tokens = Tokens()
    """The logged token counts of all exchanges of the session, counting each response once."""
    meeting: Meeting | None = None
    """``None`` for a document."""


class SessionPrivacy(Struct, frozen=True, array_like=True):
    """The private values that were replaced in a session, and their replacements."""

    addresses: int = 0
    """The number of e-mail addresses that were replaced."""
    unsearched_texts: int = 0
    """The number of texts in its records that are not searched: media, signatures and protocol ids."""
    unreadable_lines: list[bytes] = []
    """Its malformed lines with placeholders, if they are kept."""
    log_names: LogNames | None = None
    """The names of its log in reports; ``None`` if unchanged."""


class Outcome(Struct, frozen=True, array_like=True):
    """The outcome of one session, as plain data that can be sent to another process."""

    session: str
    output: SessionRecords = SessionRecords()
    report: SessionFindings = SessionFindings()
    account: SessionAccount = SessionAccount()
    replies: SessionReplies = SessionReplies()
    privacy: SessionPrivacy = SessionPrivacy()

    @property
    def record(self) -> bytes | None:
        """The line of its first record, without a line feed; ``None`` for a session that was skipped."""
        return self.output.records[0].line if self.output.records else None

    @property
    def records(self) -> list[Record]:
        """The records; empty for a session that was skipped."""
        return self.output.records

    @property
    def findings(self) -> list[Finding]:
        """The findings about the session."""
        return self.report.findings

    @property
    def left_out(self) -> str | None:
        """The code of the finding for which it was skipped."""
        return self.report.left_out

    def with_records(self, records: list[Record]) -> Outcome:
        """Return the outcome with other records."""
        return replace(self, output=replace(self.output, records=records))

    def with_finding(self, *more: Finding) -> Outcome:
        """Return the outcome with additional findings."""
        return replace(self, report=replace(self.report, findings=[*self.report.findings, *more]))
