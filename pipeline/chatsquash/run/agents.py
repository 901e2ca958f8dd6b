"""The conversations of agents' and clients' files as records, and what became of each of their replies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from chatsquash.log import Log
from chatsquash.model import Found, Message
from chatsquash.options import Options
from chatsquash.outcome import LoggedReply, Record, Refused
from chatsquash.read.documents import LogDocument
from chatsquash.read.lineage import Place
from chatsquash.run.covered import Covered, lost_of
from chatsquash.stages.session import Session
from chatsquash.tree.choose import digest
from chatsquash.tree.coverage import coverage, fate

_WHY = {
    "main": "short-tail",
    "compacted": "compacted",
    "branch": "branch",
    "subagent": "subagent",
    "side": "side-request",
}
"""Why replies of conversations that were not chosen are lost, by their kinds."""


class Part(NamedTuple):
    """A log that is a document, or a conversation of one."""

    document: LogDocument
    log: Log
    options: Options

    @property
    def place(self) -> Place:
        """The conversation that may become a record."""
        return self.document.places[self.log.part or 0]

    @property
    def told(self) -> list[Place]:
        """The conversations that are told of with it: of a file that is one session, all."""
        return self.document.places if self.log.part is None else [self.place]

    @property
    def is_chosen(self) -> bool:
        """Whether the conversation is to become a record."""
        place, options = self.place, self.options
        if options.conversations == "main":
            return bool(place.session and place is next(iter(place.session.chain), None))
        unwanted = {*(() if options.subagents else ("subagent",)), *(() if options.side else ("side",))}
        return place.kind not in unwanted

    def name(self, place: Place | None) -> str | None:
        """The id of a conversation: a digest of its session, of what it begins with and of its last reply."""
        if place is None:
            return None
        messages, replies = place.conversation.messages, place.origin.replies
        first = next((message for message in messages if message["role"] == "user"), None)
        last = messages[replies[-1].at] if replies and replies[-1].at is not None else None
        return digest(place.origin.session_id or self.log.name, first, last, place.origin.id or place.number)


def part(document: LogDocument | None, log: Log, options: Options) -> Part:
    """A document, or a conversation of one, as it was read."""
    assert document
    return Part(document, log, options)


class Made(NamedTuple):
    """What comes of a part."""

    records: list[Record]
    why: Found | None
    """Why there is none."""
    covered: Covered


def records(part: Part, session: Session, make: Callable[[], Record | Refused]) -> Made:
    """The record of a conversation, if it is asked for, why there is none, and what it holds of the replies."""
    made = make() if part.is_chosen else None
    rows = list(_rows(part, session, made))
    aside = Counter(each.kind for each in part.told if each is not part.place or made is None)
    covered = replace(coverage(rows), conversations=len(part.told), not_chosen=dict(sorted(aside.items())))
    kept = rows if part.options.trace_replies else []
    if isinstance(made, Refused):
        return Made([], made.why, Covered(covered, kept, []))
    line = session.snapshot.entry.line if session.snapshot else None
    found = Covered(covered, kept, lost_of(covered, line))
    return Made([_named(made, part)] if made else [], None, found)


def _named(record: Record, part: Part) -> Record:
    if part.options.conversations == "last":
        return record
    place = part.place
    return replace(record, conversation=part.name(place), kind=place.kind, parent=part.name(place.parent))


def _rows(part: Part, session: Session, made: Record | Refused | None) -> Iterator[LoggedReply]:
    """What became of the replies that belong to the conversations which are told of."""
    standing = _Standing(part, session, made)
    for place in part.told:
        name, parent = part.name(place) or "", part.name(place.parent)
        for number in place.own:
            row = LoggedReply(place.number + 1, place.kind, "lost", None, name, parent)
            yield standing.told(row, place, number)


class _Standing:
    """Where replies stand in the record of a conversation."""

    def __init__(self, part: Part, session: Session, made: Record | Refused | None) -> None:
        self._made = made
        self._is_cleaned = session.snapshot is None
        entry = session.snapshot.entry if session.snapshot else None
        left = entry.origin.replies if entry and entry.origin else part.place.origin.replies
        self._places = {key: reply.at for key, reply in zip(part.place.keys, left, strict=True)}
        self._messages: list[Message] = entry.messages if entry else []
        chain = part.place.session.chain if part.place.session else []
        written = chain if made is None or part.log.part is not None else part.place.chain()
        self._summed_up = {each.number for each in written[1:]}

    def told(self, row: LoggedReply, place: Place, number: int) -> LoggedReply:
        """A reply's row with what became of it."""
        key, reply = place.keys[number], place.origin.replies[number]
        said = place.conversation.messages[reply.at or 0]
        at = self._places.get(key)
        if key not in self._places or not isinstance(self._made, Record) or at is None:
            why = self._why(place) if key not in self._places or self._made is None else self._refused()
            return replace(row, why=why, reasoning=fate(said, None))
        message = self._messages[at]
        status = "carried" if message == said else "rewritten"
        whole = status == "carried" and reply.finish_reason != "length"
        return replace(row, status=status, record=0, message=at, loss=int(whole), reasoning=fate(said, message))

    def _refused(self) -> str:
        """Why a conversation that was asked for does not hold a reply of its own."""
        if self._is_cleaned:
            return "side-request"
        return "refused" if isinstance(self._made, Refused) else "filtered"

    def _why(self, place: Place) -> str:
        return "compacted" if place.number in self._summed_up else _WHY[place.kind]
