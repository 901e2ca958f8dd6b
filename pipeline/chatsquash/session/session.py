"""What the lines of a session's log come to: its snapshot, findings, the outcome of each line, and digests."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Iterator
from typing import BinaryIO, Protocol

from msgspec import Struct, field
from xxhash import xxh3_64_intdigest, xxh3_128

from chatsquash.checks import files, reading
from chatsquash.core import chat, jsonio
from chatsquash.core.accounting import Account
from chatsquash.core.log import Log
from chatsquash.core.model import Entry, Finding, Message, RejectedLine, RepeatedViolation, SkippedLine, Tool, Violation
from chatsquash.core.outcome import Meeting, Record, Relative
from chatsquash.reading.reader import Reading
from chatsquash.reading.sessions import SPAN
from chatsquash.session.stages.tools import Redefined
from chatsquash.sources.identity import Hashed
from chatsquash.trees.growth_tracking import GrowthTracker

Noted = tuple[int | None, Violation]
"""A line, and what was found there; ``None``: it is about the whole log."""
INVALID = ("session-id-mismatch", "timestamp-order")
"""Codes for which a session is left out, unless the user keeps it: then they are warnings."""
_RULES: dict[str, Callable[..., Violation]] = {
    "missing-session-id": reading.missing_session_id,
    "missing-timestamp": reading.missing_timestamp,
    "equal-timestamps": reading.equal_timestamps,
    "naive-timestamp": reading.naive_timestamp,
    "missing-history": reading.missing_history,
    "hosted-tools": reading.hosted_tools,
    "context-cleared": reading.context_cleared,
    "mixed-formats": reading.mixed_formats,
    "wrong-type": reading.wrong_type,
    "missing-parent": files.missing_parent,
    "client-text": files.client_text,
    "incomplete-reply": files.incomplete_reply,
    "truncated-by-logger": reading.truncated_by_logger,
    "no-exchange": reading.no_exchange,
}


class Snapshot(Struct, frozen=True):
    """The entry that becomes the record, and what stood around it."""

    entry: Entry
    tools: list[Tool]
    """The union over the entries up to it, flattened."""
    started: int | None
    """The first readable time of the entries up to it, as in ``Entry.at``."""
    ended: int | None
    """The last one."""
    superseded: int
    """Entries before it."""
    cut: int
    """Entries behind it."""
    superseded_size: int = 0
    """Bytes of the lines before it."""
    cut_size: int = 0
    """Bytes of those behind it."""
    redefined: Redefined | None = None
    """The tools that were defined otherwise on the way, where the options ask for them."""
    shared: dict[int, int] = {}
    """The messages with calls that stand in other records of the session, too, by index, with their numbers."""


class LineCounts(Struct):
    """The lines of a log, or their bytes with the line feeds."""

    all: int = 0
    blank: int = 0
    unreadable: int = 0
    cleaned: int = 0
    """Of entries that cleaning dropped whole."""

    def account(self, entries: tuple[int, int, int] | None) -> Account:
        """What became of them, given those of the selected entry, of the superseded and of the cut ones."""
        aside = self.cleaned + self.unreadable + self.blank
        selected, superseded, cut = entries or (0, 0, 0)
        left_out = 0 if entries else self.all - aside
        account = Account(selected, superseded, cut, self.cleaned, left_out, self.unreadable, self.blank)
        assert sum(account) == self.all, (account, self.all)
        return account


class _Sums(Struct):
    """What the lines of a log add up to."""

    id: str | None = None
    """The first id that an entry names."""
    loaded: bool = False
    """Whether any entry was loaded from a format that needs it."""
    lines: LineCounts = field(default_factory=LineCounts)
    sizes: LineCounts = field(default_factory=LineCounts)
    entries: list[tuple[int, int, int]] = field(default_factory=list)
    """Of all entries the line, the number of lines and their bytes, where somebody asks for them."""
    dropped: dict[str, int] = field(default_factory=dict)
    """How many entries each cleaning rule dropped whole."""
    rejected: list[RejectedLine] = field(default_factory=list)
    notes: list[Noted] = field(default_factory=list)
    repeated: dict[RepeatedViolation, tuple[int, int]] = field(default_factory=dict)
    """What is reported once: its first line, and how often it was found."""
    asides: list[int] = field(default_factory=list)
    """The lines of replies to requests that cleaning dropped."""
    followed: GrowthTracker = field(default_factory=GrowthTracker)
    """What each reply continues."""

    def note(self, line: int | None, findings: Iterable[Violation | RepeatedViolation]) -> None:
        """Take note of what is found at a line."""
        for each in findings:
            if isinstance(each, Violation):
                self.notes.append((line, each))
            else:
                first, times = self.repeated.get(each, (line or 0, 0))
                self.repeated[each] = (first, times + 1)


class Elsewhere(Protocol):
    """What other files tell of a session."""

    @property
    def relatives(self) -> list[Relative]:
        """These files."""

    def entries(self, lines: set[int]) -> Iterator[Entry]:
        """The entries of those of some lines that stand in them."""

    def with_failures(self, snapshot: Snapshot) -> Snapshot:
        """A snapshot whose results say which calls failed."""

    def with_exit_code(self, record: Record, snapshot: Snapshot) -> Record:
        """A record with what they tell of how its conversation ended."""


class Session(_Sums, frozen=True):  # type: ignore[misc]  # which a struct may be
    """What the lines of a log came to."""

    snapshot: Snapshot | None = None
    """``None``: no entry was left."""
    elsewhere: Elsewhere | None = None
    """What other files tell of it, where it is joined with some."""

    @property
    def invalid(self) -> Violation | None:
        """Why the session is left out as invalid."""
        return next(
            (finding for _, finding in self.notes if finding.severity == "error" and finding.code in INVALID), None
        )

    def accounts(self, *, written: bool) -> tuple[Account, Account]:
        """What became of the lines, and of their bytes."""
        if not self.snapshot or not written:
            return self.lines.account(None), self.sizes.account(None)
        snapshot = self.snapshot
        lines = snapshot.entry.lines, snapshot.superseded, snapshot.cut
        sizes = snapshot.entry.size, snapshot.superseded_size, snapshot.cut_size
        return self.lines.account(lines), self.sizes.account(sizes)

    def accounts_of(self, selected: set[int]) -> tuple[Account, Account]:
        """The same where the entries of these lines became a record each."""
        last = max(selected)
        lines, sizes = [0, 0, 0], [0, 0, 0]
        for line, count, size in self.entries:
            what = 0 if line in selected else 1 if line < last else 2
            lines[what] += count
            sizes[what] += size
        return self.lines.account((lines[0], lines[1], lines[2])), self.sizes.account((sizes[0], sizes[1], sizes[2]))

    def findings(self, later: Iterable[Noted], name: str, file: str) -> list[Finding]:
        """What was found of it, here and later, in the order of the lines as far as they are known."""
        repeated = [(first, _RULES[each.code](*each.values, times)) for each, (first, times) in self.repeated.items()]
        noted = sorted([*self.notes, *later, *repeated], key=lambda each: each[0] or 0)
        return [finding(found, name, file, line) for line, found in noted]


def finding(fact: Violation, session: str, file: str, line: int | None = None) -> Finding:
    """A fact as it stands in the reports."""
    return Finding(fact.code, fact.severity, session, file, line, fact.at, fact.text, fact.conversation)


class Tally(_Sums):
    """Adds up a log line by line."""

    lists_entries: bool = False
    """Whether somebody asks which lines are entries."""

    def entry(self, entry: Entry) -> None:
        """Count an entry."""
        self.lines.all += entry.lines
        self.sizes.all += entry.size
        if self.lists_entries:
            self.entries.append((entry.line, entry.lines, entry.size))
        if self.id is None:
            self.id = entry.session_id
        if entry.has_private:
            self.loaded = True
        if entry.findings:
            self.note(entry.line, entry.findings)
        if not entry.reply.included:
            self.followed.add(entry)

    def skip(self, line: SkippedLine) -> None:
        """Count a line without an entry, or note what is found of the whole log."""
        for counts, more in ((self.lines, line.lines), (self.sizes, line.size)):
            counts.all += more
            counts.blank += more if line.why == "blank" else 0
            counts.unreadable += more if line.why == "unreadable" else 0
            counts.cleaned += more if line.why == "cleaned" else 0
        if line.rule:
            self.dropped[line.rule] = self.dropped.get(line.rule, 0) + 1
        if line.replied and line.line:
            self.asides.append(line.line)
        if line.rejected:
            self.rejected.append(line.rejected)
        self.note(line.line, line.findings)

    def session(self, snapshot: Snapshot | None) -> Session:
        """What all lines came to."""
        sums = {name: getattr(self, name) for name in _Sums.__struct_fields__}
        return Session(**sums, snapshot=snapshot)


def tally(*, looks_closely: bool, lazily: bool, lists_entries: bool, keeps_logprobs: bool) -> Tally:
    """What a session is counted with; ``lists_entries`` is as in ``Tally``, the others are as in ``Followed``."""
    return Tally(lists_entries=lists_entries, followed=GrowthTracker(looks_closely, lazily, keeps_logprobs))


def is_whole(session: Session, file: BinaryIO, log: Log) -> bool:
    """Whether every byte of a file that is one session was counted, unless the rest of it was not read."""
    is_cut = any(finding.code == "cut-short" for _, finding in session.notes)
    return is_cut or log.is_part or session.sizes.all == file.tell()


def hash_of(file: BinaryIO, log: Log) -> str:
    """The hash of a session's lines in the order of its file, whichever order they are taken in."""
    digest = xxh3_128()
    spans = log.spans or array("Q")
    for at in sorted(range(0, len(spans), SPAN), key=spans.__getitem__):
        file.seek(spans[at + 1])
        digest.update(file.read(spans[at + 2]))
    return digest.hexdigest()


def digest_of(read: Reading, digest: Hashed) -> str:
    """The hash of a log; that of a document is found with its first conversation."""
    document = read.document
    if document is None:
        return digest.hexdigest()
    document.digest = document.digest or digest.hexdigest()
    return str(document.digest)


def meeting(session: Session) -> Meeting | None:
    """By what a session is told to be a part of a longer one."""
    first, last = session.followed.first, session.followed.last
    if first is None or last is None:
        return None
    user = next((message for message in last.messages if message["role"] == "user"), None)
    before = next((message for message in reversed(first.messages) if message["role"] == "assistant"), None)
    return meeting_of(session.id, user, before, last.reply.message)


def meeting_of(session_id: str | None, user: Message | None, before: Message | None, reply: Message | None) -> Meeting:
    """The same by what the user said first, the last reply that the first request holds, and the last one of all."""
    named = xxh3_64_intdigest(session_id.encode("utf-8", "surrogatepass")) if session_id else 0
    said = (chat.text(user) if user else None) or ""
    return Meeting(named, _said(said, before), _said(said, reply))


def _said(user: str, reply: Message | None) -> int:
    """A hash of a reply and of what a conversation began with; 0 for what many conversations have in common."""
    if reply is None:
        return 0
    text, calls = (chat.text(reply) or "").strip(), [chat.call_name(call) for call in chat.calls(reply)]
    if not calls:
        from chatsquash.trees.canonical import is_long  # which most sessions do not need

        if not is_long(f"{user} {text}"):
            return 0
    return xxh3_64_intdigest(jsonio.dumps([user.strip(), text, calls]))
