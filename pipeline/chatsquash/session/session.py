"""The result of reading a session's log: its snapshot, findings, the outcome of each line, and digests."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from operator import attrgetter
from typing import TYPE_CHECKING, BinaryIO, Protocol

from msgspec import Struct, field
from xxhash import xxh3_64_intdigest, xxh3_128

from chatsquash.checks import reading
from chatsquash.core import chat, jsonio
from chatsquash.core.accounting import Account
from chatsquash.core.log import Log
from chatsquash.core.model import Entry, Finding, Message, RejectedLine, RepeatedViolation, SkippedLine, Tool, Violation
from chatsquash.core.outcome import Meeting, Record, Relative
from chatsquash.reading.reader import Reading
from chatsquash.reading.sessions import SPAN
from chatsquash.session.stages.tools import RedefinedTools
from chatsquash.sources.identity import LogHash
from chatsquash.trees.growth_tracking import GrowthTracker, TreesAfter

if TYPE_CHECKING:
    from chatsquash.core.score_rows import ScoreRow

LineFinding = tuple[int | None, Violation]
"""A line and a violation found there; a line of ``None`` means the whole log."""
INVALID = ("session-id-mismatch", "timestamp-order")
"""Codes that exclude a session from the output; if the user keeps such sessions, they are reported as warnings."""


class Snapshot(Struct, frozen=True):
    """The entry that becomes the record, with its context in the log."""

    entry: Entry
    tools: list[Tool]
    """The union of the definitions in the entries up to this one, flattened."""
    started_at: int | None
    """The first readable time in the entries up to this one, as in ``Entry.at``."""
    ended_at: int | None
    """The last readable time in these entries."""
    superseded: int
    """The number of entries before this one."""
    cut: int
    """The number of entries after this one."""
    superseded_size: int = 0
    """The size of the lines before this entry in bytes."""
    cut_size: int = 0
    """The size of the lines after this entry in bytes."""
    redefined: RedefinedTools | None = None
    """The tools that earlier entries define differently, if call arguments are checked."""
    shared_calls: dict[int, int] = {}
    """The indices of messages with calls that are also in other records, with a number for each message."""


class LineCounts(Struct):
    """Counts of a log's lines, or of their bytes including line feeds."""

    all: int = 0
    blank: int = 0
    unreadable: int = 0
    dropped_entries: int = 0
    """The lines of entries that cleaning dropped completely."""

    def account(self, entries: tuple[int, int, int] | None) -> Account:
        """Assign every line to one outcome.

        Args:
            entries: The counts for the selected entry, the entries before it and those after it; ``None`` without a
                record.
        """
        other = self.dropped_entries + self.unreadable + self.blank
        selected, superseded, cut = entries or (0, 0, 0)
        left_out = 0 if entries else self.all - other
        account = Account(selected, superseded, cut, self.dropped_entries, left_out, self.unreadable, self.blank)
        assert sum(account) == self.all, (account, self.all)
        return account


class _Sums(Struct):
    """Totals over the lines of a log."""

    id: str | None = None
    """The first session id in an entry."""
    has_private: bool = False
    """Whether any entry comes from a format other than plain OpenAI chat."""
    lines: LineCounts = field(default_factory=LineCounts)
    sizes: LineCounts = field(default_factory=LineCounts)
    entries: list[tuple[int, int, int]] = field(default_factory=list)
    """The line, number of lines and bytes of every entry, if requested."""
    dropped: dict[str, int] = field(default_factory=dict)
    """The number of entries that each cleaning rule dropped completely."""
    rejected: list[RejectedLine] = field(default_factory=list)
    notes: list[LineFinding] = field(default_factory=list)
    repeats: dict[RepeatedViolation, tuple[int, int]] = field(default_factory=dict)
    """Violations that are reported once, with their first line and their number of occurrences."""
    side_requests: list[int] = field(default_factory=list)
    """The lines of side requests that cleaning dropped although they have a reply."""
    scores: list[ScoreRow] = field(default_factory=list)
    """The scores of other lines in lines without an exchange."""
    growth: GrowthTracker = field(default_factory=GrowthTracker)
    """Tracks which earlier reply each request continues."""

    def note(self, line: int | None, findings: Iterable[Violation | RepeatedViolation]) -> None:
        """Record the findings at a line."""
        for each in findings:
            if isinstance(each, Violation):
                self.notes.append((line, each))
            else:
                first, times = self.repeats.get(each, (line or 0, 0))
                self.repeats[each] = (first, times + 1)


_sums = attrgetter(*_Sums.__struct_fields__)


class OtherFiles(Protocol):
    """Information about a session in other files, such as those of the agent."""

    @property
    def relatives(self) -> list[Relative]:
        """The files that were read."""

    def entries(self, lines: set[int]) -> Iterator[Entry]:
        """Yield the entries at the given lines that are in these files."""

    def with_failures(self, snapshot: Snapshot) -> Snapshot:
        """Return the snapshot with failed calls marked in their results."""

    def with_exit_code(self, record: Record, snapshot: Snapshot) -> Record:
        """Return the record with the exit code of its last command, if only these files contain it."""


class Session(_Sums, frozen=True):  # type: ignore[misc]  # msgspec structs may be frozen although their base is not
    """The totals of a log after its last line."""

    snapshot: Snapshot | None = None
    """The selected entry; ``None`` if no entry remained."""
    other_files: OtherFiles | None = None
    """The files that the session is joined with."""

    @property
    def invalid(self) -> Violation | None:
        """The violation that makes the session invalid."""
        for _, finding in self.notes:
            if finding.severity == "error" and finding.code in INVALID:
                return finding
        return None

    def accounts(self, *, has_record: bool) -> tuple[Account, Account]:
        """Account for all lines, and for their bytes."""
        if not self.snapshot or not has_record:
            return self.lines.account(None), self.sizes.account(None)
        snapshot = self.snapshot
        lines = snapshot.entry.lines, snapshot.superseded, snapshot.cut
        sizes = snapshot.entry.size, snapshot.superseded_size, snapshot.cut_size
        return self.lines.account(lines), self.sizes.account(sizes)

    def accounts_of(self, selected: set[int]) -> tuple[Account, Account]:
        """Account for all lines and bytes if the entries at the ``selected`` lines became one record each."""
        last = max(selected)
        lines, sizes = [0, 0, 0], [0, 0, 0]
        for line, count, size in self.entries:
            outcome = 0 if line in selected else 1 if line < last else 2
            lines[outcome] += count
            sizes[outcome] += size
        return self.lines.account((lines[0], lines[1], lines[2])), self.sizes.account((sizes[0], sizes[1], sizes[2]))

    def findings(self, later: Iterable[LineFinding], name: str, file: str) -> list[Finding]:
        """Return all findings, including ``later`` ones, in the order of their lines."""
        line_findings = [*self.notes, *later]
        for each, (first, times) in self.repeats.items():
            line_findings.append((first, reading.OF_LINES[each.code](*each.values, times)))
        line_findings.sort(key=_line_or_first)
        return [finding(violation, name, file, line) for line, violation in line_findings]


def _line_or_first(each: LineFinding) -> int:
    return each[0] or 0


def finding(fact: Violation, session: str, file: str, line: int | None = None) -> Finding:
    """Return a violation as reports contain it."""
    return Finding(fact.code, fact.severity, session, file, line, fact.at, fact.text, fact.conversation)


class Tally(_Sums):
    """Counts the lines and bytes of a log."""

    lists_entries: bool = False
    """Whether to list every entry."""

    def add(self, entry: Entry) -> None:
        """Count an entry."""
        self.lines.all += entry.lines
        self.sizes.all += entry.size
        if self.lists_entries:
            self.entries.append((entry.line, entry.lines, entry.size))
        if self.id is None:
            self.id = entry.session_id
        if entry.has_private:
            self.has_private = True
        if entry.findings:
            self.note(entry.line, entry.findings)
        if not entry.reply.included:
            self.growth.add(entry)

    def skip(self, line: SkippedLine) -> None:
        """Count a line without an entry, or record findings about the whole log."""
        for counts, more in ((self.lines, line.lines), (self.sizes, line.size)):
            counts.all += more
            counts.blank += more if line.why == "blank" else 0
            counts.unreadable += more if line.why == "unreadable" else 0
            counts.dropped_entries += more if line.why == "cleaned" else 0
        if line.rule:
            self.dropped[line.rule] = self.dropped.get(line.rule, 0) + 1
        if line.replied and line.line:
            self.side_requests.append(line.line)
        if line.rejected:
            self.rejected.append(line.rejected)
        if line.scores:
            self.scores.extend(line.scores)
        self.note(line.line, line.findings)

    def finish(self, snapshot: Snapshot | None) -> Session:
        """Return the session after the last line."""
        return Session(*_sums(self), snapshot)  # type: ignore[call-arg]  # mypy ignores the members of the base


def begin_tally(
    *, looks_closely: bool, trees_after: TreesAfter, lists_entries: bool, keeps_logprobs: bool, keeps_token_ids: bool
) -> Tally:
    """Create a tally: ``lists_entries`` is as in ``Tally``, the other arguments are as in ``GrowthTracker``."""
    growth = GrowthTracker(looks_closely, trees_after, keeps_logprobs)
    if keeps_token_ids:
        from chatsquash.trees.token_store import TokenStore  # few runs need it

        growth.tokens_of_replies = TokenStore()
    return Tally(lists_entries=lists_entries, growth=growth)


def is_fully_counted(session: Session, file: BinaryIO, log: Log) -> bool:
    """Return whether every byte of a file with one session was counted, unless reading stopped early."""
    is_complete = log.is_part or session.sizes.all == file.tell()
    return is_complete or any(finding.code == "cut-short" for _, finding in session.notes)


def hash_lines(file: BinaryIO, log: Log) -> str:
    """Hash a session's lines in file order, regardless of the order in which they are read."""
    digest = xxh3_128()
    spans = log.spans or array("Q")
    for at in sorted(range(0, len(spans), SPAN), key=spans.__getitem__):
        file.seek(spans[at + 1])
        digest.update(file.read(spans[at + 2]))
    return digest.hexdigest()


def digest_log(read: Reading, digest: LogHash) -> str:
    """Return the hash of a log, which is computed once for all conversations of a document."""
    document = read.document
    if document is None:
        return digest.hexdigest()
    document.digest = document.digest or digest.hexdigest()
    return str(document.digest)


def meeting(session: Session) -> Meeting | None:
    """Return the keys that show whether this session continues another one."""
    first, last = session.growth.first, session.growth.last
    if first is None or last is None:
        return None
    user = before = None
    for message in last.messages:
        if message["role"] == "user":
            user = message
            break
    for message in reversed(first.messages):
        if message["role"] == "assistant":
            before = message
            break
    return meeting_of(session.id, user, before, last.reply.message)


def meeting_of(session_id: str | None, user: Message | None, before: Message | None, reply: Message | None) -> Meeting:
    """Compute the keys from the id, the first user message, and the last replies of the first request and the log."""
    id_hash = xxh3_64_intdigest(session_id.encode("utf-8", "surrogatepass")) if session_id else 0
    user_text = (chat.text(user) if user else None) or ""
    return Meeting(id_hash, _reply_hash(user_text, before), _reply_hash(user_text, reply))


def _reply_hash(user: str, reply: Message | None) -> int:
    """Hash a reply together with the first user message; return 0 if many conversations may share both."""
    if reply is None:
        return 0
    text, calls = (chat.text(reply) or "").strip(), list(map(chat.call_name, chat.calls(reply)))
    if not calls:
        from chatsquash.trees.canonical import is_long  # imported here because most sessions do not need it

        # A short reply without calls does not identify a session.
        if not is_long(f"{user} {text}"):
            return 0
    return xxh3_64_intdigest(jsonio.dumps([user.strip(), text, calls]))
