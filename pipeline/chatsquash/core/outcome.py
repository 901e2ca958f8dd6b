"""The outcome of a session: its records or the reason for their absence, findings, accounting, replies and privacy."""

# No ``from __future__ import annotations``: tuples compile annotations that are texts, which takes 1 % of a small run.
from typing import Annotated, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from chatsquash.core.accounting import Account, Coverage, ReplyOutcome, TrainedReplies, Usage
from chatsquash.core.model import ConversationKind, Finding, Mark, RejectedLine, Tokens, Violation


class Facts(Struct, frozen=True, array_like=True):
    """Data from a log about the request that became a record."""

    prefix: str = ""
    """A digest of the system prompt and the first user message, hexadecimal."""
    session: str = ""
    """The id or name of the session, with e-mail addresses replaced on request."""
    source: str = ""
    """The name of the log, with e-mail addresses replaced on request."""
    model: str | None = None
    """The model in the response, or else in the request."""
    started_at: str | None = None
    """The first readable time of the session, as ISO 8601 in UTC."""
    entries: int = 0
    """The number of requests up to and including the one that became the record."""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    """Both counts as reported by the response."""
    tools_supplied: bool | None = None
    """Whether the record has the definitions of ``--tools-file``; ``None`` without that option."""


class SelectedEntry(Struct, frozen=True, array_like=True):
    """Data from a log about the entry that became the record, or would have become it."""

    line: int | None
    started_at: str | None
    """The first readable time up to the entry, as ISO 8601 in UTC."""
    ended_at: str | None
    """The last readable time up to the entry."""
    model: str | None
    """The model in the response, or else in the request."""
    entries: int | None
    """The number of requests up to and including the entry."""


class Place(Struct, frozen=True, array_like=True):
    """The place of a record in the output."""

    file: str
    """The path relative to the output folder, with ``/``."""
    row: int
    """The row, counted from 1."""
    offset: int | None = None
    """The byte offset of the line after decompression; ``None`` in Parquet."""

    def __str__(self) -> str:
        """Return the place as shown in findings."""
        return f"{self.file}:{self.row}"


class LinePlace(Struct, frozen=True, array_like=True):
    """The place of a record's line, including its line feed, in the journal of another process."""

    journal: str
    offset: int
    size: int


class Likeness(Struct, frozen=True, array_like=True):
    """Fingerprints for comparing records; those that no option requires are empty."""

    same: bytes = b""
    """A digest that ignores flags, call ids and the order of keys."""
    begins: bytes = b""
    """The concatenated digests of its prefixes, each one message longer than the previous one."""
    sketch: bytes = b""
    """The sketch of its words; see ``records.sketch``."""
    prompt: bytes = b""
    """A digest of the first user message, ignoring case, digits and white space; empty if there is no such message."""


LastUser = Literal["thanks", "complaint", "correction", "none", "unknown"]


class Ending(Struct, frozen=True, array_like=True):
    """How a conversation ended; each value has its evidence and is ``None`` if unknown."""

    exit: int | None = None
    """The exit code of the last command that ran tests or a build."""
    exit_evidence: str | None = None
    reward: float | None = None
    reward_evidence: str | None = None
    finish: str | None = None
    """The reason why the last reply ended."""
    finish_evidence: str | None = None
    truncated: bool | None = None
    """Whether the last reply was truncated."""
    truncated_evidence: str | None = None
    failed_results: int | None = None
    """The number of tool results that the log marks as errors."""
    failed_results_evidence: str | None = None
    scores: str | None = None
    """The scores of the conversation and of its last reply, as a JSON object with their values by name."""
    scores_evidence: str | None = None
    last_user: LastUser = "unknown"
    """The user's last comment on the assistant's work."""
    last_user_evidence: str | None = None


class Redaction(Struct, frozen=True, array_like=True):
    """A private value in a record, described without the value itself."""

    kind: str
    rule: str
    fingerprint: str
    """As in its placeholder. It is keyed, so that guesses cannot be tested; empty if a run has no key."""
    count: int
    digest: str = ""
    """The SHA-256 of the value, if hashes are requested."""


_Number = Annotated[int, Meta(ge=0, lt=1 << 53)]


class Contents(Struct, frozen=True, array_like=True):
    """The content of a record as written, for the dataset card."""

    characters: _Number = 0
    """The number of characters in its line."""
    defines_tools: bool = False
    calls: _Number = 0
    images: bool = False
    """Whether it contains images."""
    reasons: bool = False
    """Whether any message has reasoning."""
    redacted: bool = False
    """Whether any placeholder or pseudonym replaced something in it."""
    trained: dict[str, _Number] = {}
    """The length of the messages that are trained on, by model; the model is ``""`` if it is not logged."""


class Record(Struct, frozen=True, array_like=True):
    """A record as it is written, with its metadata."""

    content: bytes
    """The record as JSON, without a line feed; empty if it has a ``line_place``.

    In large sessions, an object with this length that reads it from a file when ``line`` converts it to bytes.
    """
    usage: Usage
    images: dict[str, bytes] = {}
    """The image files of the dataset folder, by the names that the record uses."""
    without_tools: str = ""
    """The format of the log, if the record has no tools because files in that format contain none."""
    facts: Facts | None = None
    """Data about the request, if the options require it."""
    conversation: str = ""
    """The id of its conversation; empty for the default record of a session."""
    kind: ConversationKind = "main"
    parent: str | None = None
    """The id of the parent conversation."""
    entry: SelectedEntry | None = None
    """The entry that became the record; ``None`` for the default record of a session."""
    size: int = 0
    """The size of that entry's line in bytes; 0 for the default record."""
    unflagged: bytes = b""
    """A digest of the line without its flags, because equal records may have different flags; empty if it has none."""
    marks: list[Mark] = []
    """The marks of its assistant messages, until they are matched with replies."""
    addresses: int = 0
    """The number of e-mail addresses replaced in it."""
    flags: dict[str, int] = {}
    """The number of messages by reason for not training on them (empty if trained on), if flags are written."""
    sample: int = 0
    """The number among the samples of the session, from 1; 0 if the session is not divided into samples."""
    samples: int = 0
    """The number of samples of its session."""
    trained: int = 0
    """The number of replies in it that are trained on, if it is a sample."""
    inference_matches: int | None = None
    """The number of these whose context is exactly what the template renders at inference; ``None`` if unknown."""
    tokens: int | None = None
    """The number of tokens, if they are counted."""
    ending: Ending = Ending()
    """How its conversation ended."""
    line_place: LinePlace | None = None
    """The place of its line while it is transferred from another process."""
    digest: bytes = b""
    """The 128-bit XXH3 of its line."""
    secrets: int = 0
    """The number of detected secrets, including repetitions."""
    replaced_secrets: int = 0
    """The number of these that were replaced by placeholders."""
    redactions: list[Redaction] = []
    """The detected private values, except e-mail addresses."""
    alike: Likeness | None = None
    """Fingerprints for comparison; ``None`` if only the bytes of records are compared."""
    trained_replies: dict[str, TrainedReplies] = {}
    """The logged replies that are trained on, by model; the model is ``""`` if it is not logged."""
    steps: dict[str, int] | None = None
    """The number of its logged replies, or in a sample of those trained on, with each step fact, if they are known."""
    contents: Contents | None = None
    """A description of its content; ``None`` if the record is too large to parse again."""
    models: list[str] = []
    """The model of each of its replies, empty if unknown; an empty list unless ``--traces`` needs them."""
    row: bytes = b""
    """The row of token ids that replaces its line at the end, for a sample of token ids."""
    is_rerendered: bool | None = None
    """Whether rendering its messages gives exactly its token ids; ``None`` if this was not compared."""
    front_truncated: int = 0
    """The number of messages after its system prompt that were removed because it exceeded the limit of tokens."""
    label: bool | None = None
    """Whether its completion is good; ``None`` if it has no label."""
    origins: bytes = b""
    """The origins of its messages, as in ``provenance.values``, if ``--provenance`` needs them."""

    @property
    def line(self) -> bytes:
        """The record as JSON, without a line feed."""
        return bytes(self.content)


class PreferencePair(Struct, frozen=True, array_like=True):
    """Two replies to the same request, one of which is preferred."""

    kind: str
    """The evidence of the preference."""
    line: bytes
    """The pair as JSON, without a line feed."""


class Rejection(Struct, frozen=True):
    """The reason why a session has no record."""

    why: Violation


class Meeting(Struct, frozen=True, array_like=True):
    """Hashes for matching the parts of a session in several files; 0 if a part is missing."""

    id: int
    begin: int
    """A hash of the first user message and the last reply in the first request."""
    end: int
    """A hash of the first user message and the last reply."""


EACH = "\0"
"""The separator of two globs; in the second, it is replaced by each name that the first matches, without suffix."""


class Relative(Struct, frozen=True, array_like=True):
    """One or more other files with information about a log."""

    pattern: bytes
    """A glob in the bytes of the file system, possibly with a second one (``EACH``)."""
    state: bytes
    """A fingerprint that changes when the files change."""


class Family(Struct, frozen=True, array_like=True):
    """The properties shared by all conversations of an agent's session, so that they are in the same split."""

    session: str
    prefix: str
    """As in ``Facts``, of the first conversation of the session."""
    log: str
    """The name of the log, without suffix."""
    day: str | None
    """As in ``Outcome``."""


class LogNames(Struct, frozen=True, array_like=True):
    """The names of a log in reports, without private values from its paths."""

    display_path: str
    name: str
    other_files: list[str]
    """The names of the other files, as in ``Log.other_files``."""
    digest: str = ""
    """A keyed digest of the path."""


class SessionRecords(Struct, frozen=True, array_like=True):
    """The records of a session, and the facts that determine where they are written."""

    records: list[Record] = []
    """The records; empty for a skipped session."""
    pairs: list[PreferencePair] = []
    """The preference pairs, if the options request them."""
    entry: SelectedEntry | None = None
    """The selected entry; ``None`` if no entry remains."""
    day: str | None = None
    """The date as ``YYYY-MM-DD``: from the path, or else the UTC date of the first remaining entry."""
    family: Family | None = None
    """Set only for a conversation in the file of an agent or a client if there are several splits."""


class SessionFindings(Struct, frozen=True, array_like=True):
    """The findings about a session."""

    left_out: str | None = None
    """The code of the finding because of which the session was skipped."""
    findings: list[Finding] = []
    rejected: list[RejectedLine] = []
    trace: str = ""
    """The role trace of the selected request and its reply, for a session with errors; otherwise empty."""


class ScoreAccount(Struct, frozen=True, array_like=True):
    """The scores that are logged apart from their replies, by digests of their ids."""

    rows: list[int] = []
    """Those in lines of the session."""
    unusable: int = 0
    """The number of other scores in its lines: free text, or values of a wrong type."""
    joined: list[int] = []
    """Those about its replies."""


class SessionAccount(Struct, frozen=True, array_like=True):
    """The log of a session, with the outcome of each line."""

    lines: int = 0
    """The number of lines read, including blank ones."""
    size: int = 0
    """The size in bytes of all lines read, including line feeds, after decompression."""
    counts: Account = Account()
    sizes: Account = Account()
    """The bytes of the lines that ``counts`` counts."""
    cleanup_counts: dict[str, int] = {}
    """The number of messages of the record that each cleaning rule changed or removed."""
    dropped: dict[str, int] = {}
    """The number of complete entries that each cleaning rule dropped."""
    digest: str = ""
    """The 128-bit XXH3 of the stored log file, in hexadecimal."""
    format: str | None = None
    """The format of the log, or the agent that wrote it."""
    relatives: list[Relative] = []
    """The other files from which data was read."""
    lineage: bytes | None = None
    """For an agent's file: a fingerprint of the other logs in the run that repeat it or that it repeats."""
    is_joined: bool = False
    """Whether its conversation was joined with the session of a gateway."""
    scores: ScoreAccount | None = None
    """``None`` without any such scores."""
    files: bytes = b""
    """The hashes of its files, as in ``provenance.values``, if ``--provenance`` needs them."""

    def unwritten(self) -> "SessionAccount":
        """Return the account if no record is written after all."""
        return replace(self, counts=self.counts.unwritten(), sizes=self.sizes.unwritten(), cleanup_counts={})


class SessionReplies(Struct, frozen=True, array_like=True):
    """The logged replies of a session."""

    coverage: Coverage = Coverage()
    rows: list[ReplyOutcome] = []
    """The outcome of each logged reply, if several records may contain it or the options request it."""
    tokens: Tokens = Tokens()
    """The logged token counts of all exchanges of the session; each response counts once."""
    meeting: Meeting | None = None
    """Hashes for matching; ``None`` for a document."""
    breaks: dict[str, int] = {}
    """The number of replies whose token ids do not continue an earlier reply, by reason."""


class SessionPrivacy(Struct, frozen=True, array_like=True):
    """The private values that were replaced in a session."""

    addresses: int = 0
    """The number of e-mail addresses that were replaced."""
    unsearched_texts: int = 0
    """The number of strings in its records that are not searched: media, signatures and protocol ids."""
    unreadable_lines: list[bytes] = []
    """The malformed lines with placeholders, if they are kept."""
    log_names: LogNames | None = None
    """The names of the log in reports; ``None`` if unchanged."""


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
        """The line of the first record, without a line feed, or ``None`` for a skipped session."""
        return self.output.records[0].line if self.output.records else None

    @property
    def records(self) -> list[Record]:
        """The records, or an empty list for a skipped session."""
        return self.output.records

    @property
    def findings(self) -> list[Finding]:
        """The findings about the session."""
        return self.report.findings

    @property
    def left_out(self) -> str | None:
        """The code of the finding because of which the session was skipped."""
        return self.report.left_out

    def with_records(self, records: list[Record]) -> "Outcome":
        """Return the outcome with different records."""
        return replace(self, output=replace(self.output, records=records))

    def with_finding(self, *more: Finding) -> "Outcome":
        """Return the outcome with additional findings."""
        return replace(self, report=replace(self.report, findings=[*self.report.findings, *more]))
