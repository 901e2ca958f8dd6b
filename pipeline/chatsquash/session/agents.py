"""The conversations of agents' and clients' files as records, and what became of each of their replies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from functools import cached_property
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace
from xxhash import xxh3_64_intdigest

from chatsquash.core.log import Log
from chatsquash.core.logged import Coverage, ReplyOutcome
from chatsquash.core.model import Entry, Mark, Message, OriginReply, Tokens, Violation
from chatsquash.core.options import Options
from chatsquash.core.outcome import Family, Record, Rejection
from chatsquash.reading.documents import LogDocument
from chatsquash.reading.tokens import total
from chatsquash.session import parent_sessions
from chatsquash.session.conversations import MakeLast, asks_marks, count_flags
from chatsquash.session.coverage import SessionCoverage, lost_of, ways
from chatsquash.session.session import Session, Snapshot
from chatsquash.trees.account import WHY
from chatsquash.trees.coverage import coverage, fate
from chatsquash.trees.documents import FilePath, paths_of
from chatsquash.trees.loss import ELSEWHERE, REWRITTEN, Judge
from chatsquash.trees.selection import unwanted

_BEGUN = ("subagent", "side")
"""Kinds of conversations that another one began, which may stand in another file."""


class Part(Struct, frozen=True, dict=True):
    """A log that is a document, or a conversation of one."""

    document: LogDocument
    log: Log
    options: Options

    @property
    def place(self) -> FilePath:
        """The conversation that may become a record."""
        return paths_of(self.document)[self.log.part or 0]

    @property
    def paths(self) -> list[FilePath]:
        """The conversations that are told of with it: of a file that is one session, all."""
        return paths_of(self.document) if self.log.part is None else [self.place]

    @property
    def is_chosen(self) -> bool:
        """Whether the conversation is to become a record."""
        place, options = self.place, self.options
        if options.conversations == "main":
            return bool(place.session and place is next(iter(place.session.chain), None))
        return place.kind not in unwanted(options)

    def names(self, place: FilePath) -> tuple[str, str | None]:
        """The id of a conversation, and of that which it comes from, which may stand in another file."""
        own = parent_sessions.name(place, self.log)
        if place.parent:
            return own, parent_sessions.name(place.parent, self.log)
        home_file = self.home_file if place.kind in _BEGUN else None
        if home_file and home_file.inner:
            return own, home_file.inner
        home = home_file.home if home_file else None
        caller = home.caller(place) if home else None
        return own, home.names[caller] if home and caller is not None else None

    @cached_property
    def home_file(self) -> parent_sessions.ParentFile | None:
        """The file of the session that the conversation belongs to, if a sub-agent has a file of its own."""
        options = self.options
        is_asked = options.divides or options.trace_replies or options.split
        begun = self.place.session.first if self.place.session else self.place
        if not is_asked or begun.kind not in _BEGUN or begun.parent:
            return None
        return parent_sessions.find(self.document, begun, self.log, self.options)

    def family(self) -> Family | None:
        """The session of the conversation, where there are several splits."""
        if self.options.split is None:
            return None
        begun = self.place.session.first if self.place.session else self.place
        home = self.home_file.home if self.home_file else None
        caller = home.caller(begun) if home else None
        if home and caller is not None:
            return home.families[caller]
        return parent_sessions.family(self.place, self.log, self.options)


def records(
    document: LogDocument, log: Log, options: Options, session: Session, make: MakeLast
) -> tuple[list[Record], Violation | None, SessionCoverage]:
    """The record of a conversation, if it is asked for, why there is none, and what it holds of the replies."""
    part = Part(document, log, options)
    snapshot = session.snapshot
    made = make(snapshot, marks_of(part, snapshot)) if part.is_chosen else None
    marks = _placements(snapshot, made) if isinstance(made, Record) else None
    rows = list(rows_of(part, snapshot, made, marks))
    covered = covered_by(part, rows, made)
    kept = rows if options.trace_replies else []
    met = [*document.relatives, *(part.home_file.relatives if part.home_file else ())]
    if isinstance(made, Rejection):
        return [], made.why, SessionCoverage(covered, kept, [], relatives=met)
    lost = lost_of(covered, snapshot.entry.line if snapshot else None, ways=ways(covered, 0, options))
    result = SessionCoverage(covered, kept, lost, family=part.family(), relatives=met)
    if made is None:
        return [], None, result
    record = count_flags(made, options)
    if options.conversations != "last":
        conversation, parent = part.names(part.place)
        record = replace(record, conversation=conversation, kind=part.place.kind, parent=parent)
    return [record], None, result


def tokens(document: LogDocument, log: Log) -> Tokens:
    """How many tokens the replies took that are told of, each counted where it was sampled."""
    return total(Tokens(each.prompt_tokens, each.completion_tokens) for each in _own(document, log))


def sampled(document: LogDocument, log: Log) -> list[tuple[int, int | None, int | None]]:
    """What tells these replies from all others, as far as they have an id and a time, and their tokens."""
    return [
        (_digest(each.response_id, each.time), each.prompt_tokens, each.completion_tokens)
        for each in _own(document, log)
        if each.response_id is not None and each.time is not None
    ]


def _digest(response_id: str, time: int) -> int:
    return xxh3_64_intdigest(f"{response_id}\n{time}".encode("utf-8", "surrogatepass"))


def _own(document: LogDocument, log: Log) -> Iterator[OriginReply]:
    paths = paths_of(document) if log.part is None else [paths_of(document)[log.part]]
    return (place.origin.replies[number] for place in paths for number in place.own)


def covered_by(part: Part, rows: list[ReplyOutcome], made: Record | Rejection | None) -> Coverage:
    """The sums over replies and conversations."""
    aside = Counter(each.kind for each in part.paths if each is not part.place or made is None)
    return replace(coverage(rows), conversations=len(part.paths), not_chosen=dict(sorted(aside.items())))


def marks_of(part: Part, snapshot: Snapshot | None) -> list[Mark] | None:
    """The marks of the assistant messages of a conversation, where they are asked for."""
    if snapshot is None or not asks_marks(part.options):
        return None
    entry, place = snapshot.entry, part.place
    marks = Judge(skips_failed=part.options.loss_skip_failed).of_origin(entry.messages, entry.origin)
    whys: dict[int, str] = {}
    own = set(place.own if part.log.part is not None else range(place.length))
    for number, (before, left) in enumerate(zip(place.origin.replies, _replies(entry), strict=True)):
        if left.at is not None and before.at is not None and number not in own:
            whys[left.at] = ELSEWHERE
        elif left.at is not None and entry.messages[left.at] != place.conversation.messages[before.at or 0]:
            whys[left.at] = REWRITTEN
    return [
        mark._replace(why=mark.why or whys.get(at, ""))
        for at, mark in zip(assistant_indices(snapshot), marks, strict=True)
    ]


def _replies(entry: Entry) -> tuple[OriginReply, ...]:
    """The replies of a conversation, as it is once it was cleaned."""
    return entry.origin.replies if entry.origin else ()


Placed = dict[int, tuple[int, Mark]]
"""The record that each message of a conversation stands in, by the indices of both, with its mark there."""


def _placements(snapshot: Snapshot | None, made: Record) -> Placed | None:
    """Where messages stand in the one record of a conversation; ``None`` where nobody asks for marks: all do."""
    if snapshot is None or not made.marks:
        return None
    marks = {at: mark for mark in reversed(made.marks) for at in mark.at}
    return {at: (0, marks[ordinal]) for ordinal, at in enumerate(assistant_indices(snapshot)) if ordinal in marks}


def assistant_indices(snapshot: Snapshot) -> list[int]:
    """The indices of the assistant's messages."""
    return [at for at, message in enumerate(snapshot.entry.messages) if message["role"] == "assistant"]


def rows_of(
    part: Part,
    snapshot: Snapshot | None,
    made: Record | Rejection | None,
    placed: Placed | None,
    whys: dict[int, str] | None = None,
) -> Iterator[ReplyOutcome]:
    """What became of the replies that belong to the conversations which are told of.

    ``whys``: why messages stand in no record, by their indices, where that is known.
    """
    standing = _Standing(part, snapshot, made, placed, whys or {})
    for place in part.paths:
        name, parent = part.names(place)
        for number in place.own:
            row = ReplyOutcome(place.number + 1, place.kind, "lost", None, name, parent)
            yield standing.complete(row, place, number)


class _Standing:
    """Where replies stand in the record of a conversation."""

    def __init__(
        self,
        part: Part,
        snapshot: Snapshot | None,
        made: Record | Rejection | None,
        placed: Placed | None,
        whys: dict[int, str],
    ) -> None:
        self._made, self._placements, self._whys = made, placed, whys
        self._is_cleaned = snapshot is None
        self._messages: list[Message] = snapshot.entry.messages if snapshot else []
        left = _replies(snapshot.entry) if snapshot else part.place.origin.replies
        self._places = {key: reply.at for key, reply in zip(part.place.keys, left, strict=True)}
        chain = part.place.session.chain if part.place.session else []
        written = chain if made is None or part.log.part is not None else part.place.chain()
        self._summed_up = {each.number for each in written[1:]}

    def complete(self, row: ReplyOutcome, place: FilePath, number: int) -> ReplyOutcome:
        """A reply's row with what became of it."""
        key = place.keys[number]
        said = place.conversation.messages[place.origin.replies[number].at or 0]
        at = self._places.get(key)
        index, mark = (self._placements or {}).get(-1 if at is None else at, (0, None))
        if at is None or not isinstance(self._made, Record) or (self._placements is not None and mark is None):
            is_own = key in self._places and self._made is not None
            why = self._why_missing() if is_own else self._unchosen(place)
            why = self._whys.get(at, why) if at is not None else why
            return replace(row, why=why, reasoning=fate(said, None))
        message = self._messages[at]
        status: Literal["carried", "rewritten"] = "carried" if message is said or message == said else "rewritten"
        message = said if status == "carried" else message
        stands, loss = (mark.place, int(not mark.why)) if mark else (None, 0)
        return replace(row, status=status, record=index, message=stands, loss=loss, reasoning=fate(said, message))

    def _why_missing(self) -> str:
        """Why a conversation that was asked for does not hold a reply of its own."""
        if self._is_cleaned:
            return "side-request"
        if isinstance(self._made, Record):
            return "cut"
        return "refused" if isinstance(self._made, Rejection) else "filtered"

    def _unchosen(self, place: FilePath) -> str:
        is_compacted = place.kind == "compacted" or place.number in self._summed_up
        return "compacted" if is_compacted else WHY.get(place.kind, "short-tail")
