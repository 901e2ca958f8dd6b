"""The conversations of agents' and clients' files as records, and what became of each of their replies."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

from msgspec import Struct
from msgspec.structs import replace

from chatsquash.checks.coverage import repeated_conversation
from chatsquash.core.accounting import Coverage, ReplyOutcome, total
from chatsquash.core.log import Log
from chatsquash.core.model import Mark, OriginReply, Tokens, Violation
from chatsquash.core.options import Options
from chatsquash.core.outcome import Family, Record, Rejection
from chatsquash.reading.documents import LogDocument
from chatsquash.session import parent_sessions
from chatsquash.session.conversations import (
    MakeLast,
    count_flags,
    find_repeated,
    needs_marks,
    place_record,
    sum_coverage,
)
from chatsquash.session.log_findings import SessionCoverage, loss_findings, options_keeping
from chatsquash.session.session import Session, Snapshot
from chatsquash.trees.account import Placement, loss_of, outcomes, place_in_file
from chatsquash.trees.documents import FilePath, is_written, paths_of
from chatsquash.trees.loss import Judge

_BEGUN = ("subagent", "side")
"""Kinds of conversations that another one began, which may stand in another file."""


class DocumentPart(Struct, frozen=True, dict=True):
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
        return self.is_written(self.place)

    def is_written(self, place: FilePath) -> bool:
        """Whether a conversation of the document is to become a record."""
        if self.options.conversations == "last" and self.log.part is None:
            return not place.is_copy
        return is_written(place, self.options)

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

    def placement(self, snapshot: Snapshot | None) -> Placement[FilePath] | None:
        """Where the replies of the conversation are, once it was cleaned."""
        if snapshot is None:
            return None
        replies = snapshot.entry.origin.replies if snapshot.entry.origin else ()
        return place_in_file(self.place, snapshot.entry.messages, replies)

    def marks(self, snapshot: Snapshot, placement: Placement[FilePath]) -> list[Mark]:
        """The marks of the conversation's assistant messages."""
        own = self.place.own if self.log.part is not None else self.place.replies
        origin = snapshot.entry.origin
        judge = Judge(skips_failed=self.options.loss_skip_failed, skips_side=self.options.loss_skip_side)
        counted = {reply.number for reply in own if not reply.is_copy}
        return judge.of_file(placement, origin.replies if origin else (), counted)

    def rows(
        self, placements: list[Placement[FilePath]], made: Record | Rejection | None, whys: dict[int, str]
    ) -> list[ReplyOutcome]:
        """What became of the replies of the conversations; ``whys`` says why some of them are in no record."""
        chain = self.place.session.chain if self.place.session else []
        written = chain if made is None or self.log.part is not None else self.place.chain()
        replaced = {id(path) for path in self.paths if path.kind == "compacted"} | set(map(id, written[1:]))
        return outcomes(
            [(reply, path) for path in self.paths for reply in path.own],
            {reply.number: path for path in self.paths for reply in path.own},
            placements,
            {id(path): self.names(path) for path in self.paths},
            lambda reply, path: whys.get(reply.number) or loss_of(path, replaced),
        )

    def coverage(self, rows: list[ReplyOutcome], made: Record | Rejection | None) -> Coverage:
        """The sums over replies and conversations."""
        counted = [each for each in self.paths if not each.is_copy]
        others = (each for each in counted if each is not self.place or made is None)
        return sum_coverage(rows, others, len(counted))

    def repeated_replies(self, placements: list[Placement[FilePath]]) -> set[int]:
        """The replies in the record that also count in another one: of another log, or of another conversation."""
        owners = {reply.number: self.place.owners[reply.number] for reply in self.place.replies}
        others = {id(path): path for path in owners.values() if path is not self.place} if self.log.is_part else {}
        written = {key for key, path in others.items() if self.is_written(path)}
        own = (reply for reply in self.place.replies if reply.is_copy or id(owners[reply.number]) in written)
        return {reply.number for reply in own for each in placements if reply.number in each.positions}

    def whys(self, snapshot: Snapshot | None, made: Record | Rejection | None) -> dict[int, str]:
        """Why a conversation that was to become a record is without some of its replies."""
        if made is None:
            return {}
        why = "side-request" if snapshot is None else "refused" if isinstance(made, Rejection) else "cut"
        return {reply.number: why for reply in self.place.replies}


def records(
    document: LogDocument, log: Log, options: Options, session: Session, make: MakeLast
) -> tuple[list[Record], Violation | None, SessionCoverage]:
    """The record of a conversation, if it is asked for, why there is none, and what it holds of the replies."""
    part = DocumentPart(document, log, options)
    snapshot = session.snapshot
    placement = part.placement(snapshot)
    asks = needs_marks(options) or len({reply.evidence.model for reply in part.place.replies}) > 1
    marks = part.marks(snapshot, placement) if snapshot and placement and asks else None
    made = make(snapshot, marks) if part.is_chosen else None
    placements = [_keep_written(place_record(placement, made, 0, {}))] if placement and made else []
    rows = part.rows(placements, made, part.whys(snapshot, made))
    covered = part.coverage(rows, made)
    kept = rows if options.trace_replies else []
    met = [*document.relatives, *(part.home_file.relatives if part.home_file else ())]
    if isinstance(made, Rejection):
        return [], made.why, SessionCoverage(covered, kept, [], relatives=met)
    line = snapshot.entry.line if snapshot else None
    lost = loss_findings(covered, line, options_to_keep=options_keeping(covered, 0, options))
    lost += find_repeated(len(part.repeated_replies(placements)), line, options)
    if made is None and part.place.is_copy and not covered.copied:
        lost.append((line, repeated_conversation()))
    result = SessionCoverage(covered, kept, lost, family=part.family(), relatives=met)
    if made is None:
        return [], None, result
    record = count_flags(made, options)
    if not options.writes_last:
        conversation, parent = part.names(part.place)
        record = replace(record, conversation=conversation, kind=part.place.kind, parent=parent)
    return [record], None, result


def tokens(document: LogDocument, log: Log) -> Tokens:
    """How many tokens the replies took, each counted where it was sampled."""
    return total(Tokens(each.prompt_tokens, each.completion_tokens) for each in _own(document, log))


def _own(document: LogDocument, log: Log) -> Iterator[OriginReply]:
    paths = paths_of(document) if log.part is None else [paths_of(document)[log.part]]
    return (reply.evidence for path in paths for reply in path.own if not reply.is_copy)


def _keep_written(placement: Placement[FilePath]) -> Placement[FilePath]:
    """A placement with only the replies that its record, if there is one, contains."""
    if placement.record is None:
        return placement
    positions = {
        number: each for number, each in placement.positions.items() if each.ordinal in placement.written_ordinals
    }
    return replace(placement, positions=positions)
