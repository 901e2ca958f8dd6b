"""Every type that travels through chatsquash.

What is ours is a frozen dataclass, or a ``Struct`` where many are made; what came out of a log stays plain JSON values,
typed as ``TypedDict`` for readers and for mypy only.  This module imports nothing of ours.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field
from operator import add
from typing import Any, Literal, NamedTuple, TypedDict

from msgspec import Struct

Json = Any
"""A JSON value: dict, list, str, int, float, bool or None."""

Severity = Literal["error", "warning", "info"]

COMPRESSED = (".gz", ".bz2", ".xz", ".zst")
"""Suffixes of compressed files, which stand behind those of what is in them."""
OURS = ".chatsquash"
"""The folder that marks the folder around it as one that we write to."""


class Message(TypedDict, total=False):
    """One message as OpenAI chat completions have it; unknown keys travel along."""

    role: str
    content: Json
    name: str
    tool_calls: list[Json]
    tool_call_id: str
    function_call: Json


Tool = Json
"""A tool definition: in an ``Entry`` as logged, in a ``Conversation`` flattened to its function."""


class Kept(Struct, frozen=True, gc=False):
    """A run of the previous entry's messages: those from ``start`` up to, not including, ``stop``."""

    start: int
    stop: int


class Added(Struct, frozen=True, gc=False):
    """A run of messages that the previous entry does not have."""

    messages: tuple[Message, ...]


Edits = tuple[Kept | Added, ...]


class WrongType(NamedTuple):
    """A member that is there and counts as missing."""

    what: str
    """Its path, as in ``response.choices``."""
    seen: str
    """What stands there instead, in words."""


class Reply(Struct, frozen=True, gc=False):
    """What a response holds: the message of its first choice, how many choices, and why the first one stopped."""

    message: Message | None = None
    choices: int = 0
    finish_reason: str | None = None
    problem: str | None = None
    """Why there is no message, in words."""
    wrong: WrongType | None = None
    included: bool = False
    """Whether it stands among the messages already, as in a document."""
    cut: bool = False
    """Whether it was streamed and the stream ended early."""
    foreign: bool = False
    """Whether the response has nothing that its format knows."""
    model: str | None = None
    """The model that the response names."""
    body: Json = None
    """The response, where later requests may refer to it."""
    raw: bytes = b""
    """The response as logged, of which ``read.usage`` tells what few entries are asked for."""
    asked: bytes = b""
    """The model that the request names, as logged."""


class Found(NamedTuple):
    """What a rule found: a fact with the code and the severity of the rule, and the message it stands at."""

    severity: Severity
    text: str
    at: int | None = None
    """0-based index of the message in the record, if it is about one."""
    code: str = ""
    """The rule's name."""


class Repeated(NamedTuple):
    """What may be found at many lines: it is reported once for a session, at its first line, with a count."""

    code: str
    values: tuple[str, ...] = ()
    """What its rule takes before the count; facts with other values are others."""


class Entry(Struct, frozen=True, gc=False):  # a frozen dataclass takes ten times as long to make
    """One request and its response, as an edit of the entry before it."""

    line: int
    """1-based line number in its file."""
    at: int | None
    """When it was logged: nanoseconds since the epoch, UTC."""
    session_id: str | None
    messages: list[Message]
    """The whole request; elements are shared with the neighbours, the list is never changed."""
    edits: Edits
    """How ``messages`` come out of the previous entry's."""
    tools: list[Tool]
    """As logged; the same object while unchanged."""
    reply: Reply
    cleaned: dict[str, int] = {}
    """How many of its messages each cleaning rule changed or took out."""
    size: int = 0
    """Bytes of its line, with the line feed."""
    found: tuple[Found | Repeated, ...] = ()
    """What was found at its line, in order."""
    loaded: bool = False
    """Whether its format had to be loaded, so that messages may carry something privately."""

    @property
    def kept(self) -> int:
        """How many leading messages are the previous entry's."""
        if self.edits and isinstance(self.edits[0], Kept) and self.edits[0].start == 0:
            return self.edits[0].stop
        return 0


class Rejected(NamedTuple):
    """A line that could not be read."""

    line: int
    offset: int
    """Byte offset in the file."""
    length: int
    """Bytes, without the line feed."""
    code: str
    reason: str


class Skipped(Struct, frozen=True, gc=False):
    """A line without an entry that goes on, or what is found of a log as a whole."""

    line: int | None = None
    """1-based line number in its file; ``None``: it is about the whole log."""
    why: Literal["blank", "unreadable", "cleaned"] | None = None
    """``None``: nothing is wrong with it, and there is no entry in it."""
    size: int = 0
    """Bytes of the line, with the line feed."""
    lines: int = 1
    rejected: Rejected | None = None
    """Where and why, for a line that cannot be read."""
    rule: str = ""
    """The cleaning rule that dropped its entry."""
    found: tuple[Found | Repeated, ...] = ()


class Branch(NamedTuple):
    """The place of a conversation in a history that branches."""

    id: str
    name: str | None = None
    parent: str | None = None
    """The id of the branch that it comes from, which may have been deleted since; ``None`` for a first one."""
    point: int = 0
    """How many of the parent's messages it began with."""
    current: bool = False
    """Whether it was the one in use."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """What becomes a record: canonical messages and flattened tool definitions."""

    messages: list[Message]
    tools: list[Tool]
    branch: Branch | None = None
    """Its place among the branches of the history that it was read from, if that has several."""
    written: list[bytes] | None = None
    """The JSON of each message, where a stage wrote it on its way."""
    loaded: bool = False
    """Whether its messages may carry privately what their format has and OpenAI chat has no place for."""
    source: str | None = None
    """The format of the log that it was read from."""


Staged = tuple[Conversation, Iterable[Found]]
"""What a stage makes of a conversation, and what it found."""


class Finding(NamedTuple):
    """One fact about a session, as it stands in the reports."""

    code: str
    severity: Severity
    session: str
    file: str
    line: int | None
    """1-based line in the log."""
    message: int | None
    """0-based index in the record."""
    text: str


class Seen(NamedTuple):
    """What the first lines of a log tell."""

    format: str | None
    """``None`` where nothing known was seen."""
    envelope: str
    why: str
    """The evidence; what was seen instead; empty where the lines tell nothing."""
    conflict: bool = False
    """Whether the lines contradict themselves, so that nothing can be made of them."""


class Log(Struct, frozen=True):
    """One session log to convert."""

    path: str
    """What to open."""
    shown: str
    """The path as reports show it."""
    name: str
    """The path below the LOGS argument it came from, parts joined by ``/``."""
    size: int
    """Bytes."""
    spans: array[int] | None = None
    """Its lines, where the file holds other sessions, too: of each its number, its offset, its length in bytes, and
    that of its line feed."""
    part: int | None = None
    """Which conversation of a document it is, where there are several."""
    modified: int | None = None
    """When the file was last changed, as it was found, in nanoseconds since the epoch; ``None`` if nobody looked."""
    whole: int | None = None
    """Bytes of the file, where ``size`` is that of the session's own lines."""

    @property
    def file_size(self) -> int:
        """Bytes of the file, as it was found."""
        return self.size if self.whole is None else self.whole

    cut: str | None = None
    """Why the rest of a file was not read, of which this is the last session."""

    @property
    def stem(self) -> str:
        """The file's name without its suffix, and without that of its compression."""
        name = uncompressed(self.name.rpartition("/")[2])
        return name.rpartition(".")[0] or name


def uncompressed(name: str) -> str:
    """A file's name without the suffix of its compression."""
    stem, dot, suffix = name.rpartition(".")
    return stem if stem and f"{dot}{suffix.lower()}" in COMPRESSED else name


class ToolUse(NamedTuple):
    """How one session used one tool."""

    name: str
    calls: int
    failed: int
    """Calls with a result that failed."""
    unanswered: int
    """Calls without a result."""


class Usage(NamedTuple):
    """How one session used its tools."""

    calls: int
    tool_names: tuple[str, ...]
    client_turns: int
    assistant_turns: int
    assistant_turns_with_tools: int
    tools: tuple[ToolUse, ...]
    """Of the tools that it called."""


class Account(NamedTuple):
    """What became of each line of a session; every line is in exactly one of these."""

    selected: int = 0
    """The entry that became the record."""
    superseded: int = 0
    """Entries before it."""
    cut: int = 0
    """Entries behind it, which have fewer messages."""
    cleaned: int = 0
    """Entries that cleaning dropped whole."""
    left_out: int = 0
    """Entries of sessions that were left out."""
    unreadable: int = 0
    blank: int = 0

    def plus(self, other: Account) -> Account:
        """The sums of both."""
        return Account(*map(add, self, other))

    def unwritten(self) -> Account:
        """The same where no record is written after all."""
        gone = self.selected + self.superseded + self.cut
        return self._replace(selected=0, superseded=0, cut=0, left_out=self.left_out + gone)


class Facts(NamedTuple):
    """What a log says about the request that became a record; looked at for a dataset folder only."""

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


class Chosen(NamedTuple):
    """What a log says about the entry that became the record, or would have become it."""

    line: int | None
    started: str | None
    """The first readable time up to it, ISO 8601, UTC."""
    ended: str | None
    """The last one."""
    model: str | None
    """As the response names it, else the request."""
    entries: int | None
    """Requests up to and including it."""


class Place(NamedTuple):
    """Where a record stands."""

    file: str
    """Below the output folder, parts joined by ``/``."""
    row: int
    """From 1."""

    def __str__(self) -> str:
        """As findings name it."""
        return f"{self.file}:{self.row}"


class Record(Struct, frozen=True):
    """A record as it is written, and what is known of it."""

    line: bytes
    """Its JSON, without a line feed."""
    usage: Usage
    images: dict[str, bytes] = {}
    """What a dataset folder holds beside it, by the names that the record has for it."""
    without_tools: str = ""
    """The format of its log, where files of that hold no tools, which is why the record has none."""
    facts: Facts | None = None
    """Where the options ask for them."""


class Refused(Struct, frozen=True):
    """Why there is no record of a session."""

    why: Found


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one session; plain data, so that it can cross to another process."""

    session: str
    records: list[Record]
    """Empty for a session that was left out."""
    left_out: str | None
    """The code of the finding for which it was left out."""
    findings: list[Finding]
    rejected: list[Rejected] = field(default_factory=list)
    lines: int = 0
    """Lines seen, blank ones too."""
    account: Account = Account()
    cleaned: dict[str, int] = field(default_factory=dict)
    """How many messages of the record each cleaning rule changed or took out."""
    dropped: dict[str, int] = field(default_factory=dict)
    """How many entries each cleaning rule dropped whole."""
    addresses: int = 0
    """E-mail addresses replaced."""
    day: str | None = None
    """``YYYY-MM-DD``: the date in the path, else the UTC date of the first entry left."""
    trace: str = ""
    """The role trace of the selected request and its reply, for a session with errors; else empty."""
    digest: str = ""
    """XXH3 of the log, 128 bits, hexadecimal; of a compressed one as it stands on the disk."""
    size: int = 0
    """Bytes seen: of all lines, with their line feeds; those of a compressed log expanded."""
    sizes: Account = Account()
    """The bytes of the lines that ``account`` counts."""
    chosen: Chosen | None = None
    """``None`` where no entry was left."""

    @property
    def record(self) -> bytes | None:
        """The line of its record, without a line feed; ``None`` for a session that was left out."""
        return self.records[0].line if self.records else None
