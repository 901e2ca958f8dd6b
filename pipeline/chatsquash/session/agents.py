"""Convert the conversations in agent and client files to records, with the outcome of each reply.

These files define their own conversations. For gateway logs, whose conversations must be derived from the requests,
see ``conversations``.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

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
from chatsquash.session.log_findings import SessionCoverage, loss_findings, options_keeping
from chatsquash.session.reply_counts import (
    count_flags,
    count_in_record,
    find_repeated,
    needs_marks,
    place_record,
    sum_coverage,
)
from chatsquash.session.session import Session, Snapshot
from chatsquash.trees.account import Placement, loss_of, outcomes, place_in_file, with_evidence
from chatsquash.trees.documents import FilePath, is_written, paths_of

if TYPE_CHECKING:
    from chatsquash.session.conversations import MakeLast

_STARTED_KINDS = ("subagent", "side")
"""The kinds of conversations started by another conversation, which may be in another file."""


class DocumentPart(Struct, frozen=True, dict=True):
    """A log that is a document, or a single conversation of one."""

    document: LogDocument
    log: Log
    options: Options

    @property
    def place(self) -> FilePath:
        """The conversation that may become a record."""
        return paths_of(self.document)[self.log.part or 0]

    @property
    def paths(self) -> list[FilePath]:
        """The conversations reported together: all of them if the file is one session, else only this one."""
        return paths_of(self.document) if self.log.part is None else [self.place]

    @property
    def is_selected(self) -> bool:
        """Whether the conversation is selected for the output."""
        return self.is_written(self.place)

    def is_written(self, place: FilePath) -> bool:
        """Return whether a conversation of the document is selected for the output."""
        if self.options.conversations == "last" and self.log.part is None:
            return not place.is_copy
        return is_written(place, self.options)

    def names(self, place: FilePath) -> tuple[str, str | None]:
        """Return the id of a conversation and the id of its parent, which may be in another file."""
        own = parent_sessions.name(place, self.log)
        if place.parent:
            return own, parent_sessions.name(place.parent, self.log)
        home_file = self.home_file if place.kind in _STARTED_KINDS else None
        if home_file and home_file.inner:
            return own, home_file.inner
        home = home_file.home if home_file else None
        caller = home.caller(place) if home else None
        return own, home.names[caller] if home and caller is not None else None

    @cached_property
    def home_file(self) -> parent_sessions.ParentFile | None:
        """The file of the session that a sub-agent with a separate file belongs to."""
        options = self.options
        is_needed = options.divides or options.lists_replies or options.split
        first = self.place.session.first if self.place.session else self.place
        if not is_needed or first.kind not in _STARTED_KINDS or first.parent:
            return None
        return parent_sessions.find(self.document, first, self.log, self.options)

    def find_steps(self) -> None:
        """Set the step facts of the replies if options need them."""
        if self.options.needs_steps:
            from chatsquash.trees import steps  # imported here because few runs need it

            steps.find_in_file(self.paths)

    def family(self) -> Family | None:
        """Return the session that the conversation belongs to, or ``None`` if records are not split."""
        if self.options.split is None:
            return None
        first = self.place.session.first if self.place.session else self.place
        home = self.home_file.home if self.home_file else None
        caller = home.caller(first) if home else None
        if home and caller is not None:
            return home.families[caller]
        return parent_sessions.family_of(self.place, self.log, self.options)

    def placement(self, snapshot: Snapshot | None) -> Placement[FilePath] | None:
        """Return the positions of the conversation's replies after cleaning."""
        if snapshot is None:
            return None
        replies = snapshot.entry.origin.replies if snapshot.entry.origin else ()
        return place_in_file(self.place, snapshot.entry.messages, replies)

    def marks(self, snapshot: Snapshot, placement: Placement[FilePath]) -> list[Mark]:
        """Return the marks of the conversation's assistant messages."""
        from chatsquash.trees.loss import judge_of  # imported here because few runs need it

        own = self.place.own if self.log.part is not None else self.place.replies
        origin = snapshot.entry.origin
        own_numbers = {reply.number for reply in own if not reply.is_copy}
        return judge_of(self.options).of_file(placement, origin.replies if origin else (), own_numbers)

    def rows(
        self,
        placements: list[Placement[FilePath]],
        result: Record | Rejection | None,
        exclusion_reasons: dict[int, str],
    ) -> list[ReplyOutcome]:
        """Return the outcomes of the replies; ``exclusion_reasons`` maps reply numbers to reasons."""
        chain = self.place.session.chain if self.place.session else []
        written_paths = chain if result is None or self.log.part is not None else self.place.chain()
        replaced_paths = {id(path) for path in self.paths if path.kind == "compacted"} | set(map(id, written_paths[1:]))
        replies = [(reply, path) for path in self.paths for reply in path.own]
        rows = outcomes(
            replies,
            {reply.number: path for reply, path in replies},
            placements,
            {id(path): self.names(path) for path in self.paths},
            lambda reply, path: exclusion_reasons.get(reply.number) or loss_of(path, replaced_paths),
        )
        is_needed = self.options.lists_replies or self.options.samples != "session"
        return with_evidence(rows, (reply for reply, _ in replies)) if is_needed else rows

    def coverage(self, rows: list[ReplyOutcome], result: Record | Rejection | None) -> Coverage:
        """Sum the outcomes of replies and conversations."""
        counted_paths = [each for each in self.paths if not each.is_copy]
        others = (each for each in counted_paths if each is not self.place or result is None)
        return sum_coverage(rows, others, len(counted_paths))

    def repeated_replies(self, placements: list[Placement[FilePath]]) -> set[int]:
        """Return the numbers of the replies in the record that are also counted in another record."""
        place = self.place
        owners, written_paths = place.owners, set[int]()
        if self.log.is_part:
            paths = [owners[reply.number] for reply in place.replies]
            others = {id(path): path for path in paths if path is not place}
            written_paths = {key for key, path in others.items() if self.is_written(path)}
        own = [reply for reply in place.replies if reply.is_copy or id(owners[reply.number]) in written_paths]
        return {reply.number for reply in own for each in placements if reply.number in each.positions}

    def exclusion_reasons(self, snapshot: Snapshot | None, result: Record | Rejection | None) -> dict[int, str]:
        """Return the reason for each reply of a selected conversation that its record does not contain."""
        if result is None:
            return {}
        why = "side-request" if snapshot is None else "refused" if isinstance(result, Rejection) else "cut"
        return {reply.number: why for reply in self.place.replies}


def records(
    document: LogDocument, log: Log, options: Options, session: Session, make: MakeLast
) -> tuple[list[Record], Violation | None, SessionCoverage]:
    """Make the record of a conversation if it is selected.

    Returns:
        The record if the conversation is selected, the reason if it was rejected, and the coverage of its replies.
    """
    part = DocumentPart(document, log, options)
    part.find_steps()
    snapshot = session.snapshot
    placement = part.placement(snapshot)
    # The dataset card counts trained text per model, so a conversation with several models needs marks.
    needs_marks_here = needs_marks(options) or len({reply.evidence.model for reply in part.place.replies}) > 1
    marks = part.marks(snapshot, placement) if snapshot and placement and needs_marks_here else None
    record_or_rejection = make(snapshot, marks) if part.is_selected else None
    placements = (
        [_keep_written(place_record(placement, record_or_rejection, 0, {}))]
        if placement and record_or_rejection
        else []
    )
    rows = part.rows(placements, record_or_rejection, part.exclusion_reasons(snapshot, record_or_rejection))
    coverage = part.coverage(rows, record_or_rejection)
    reported_rows = rows if options.lists_replies else []
    related_files = [*document.relatives, *(part.home_file.relatives if part.home_file else ())]
    if isinstance(record_or_rejection, Rejection):
        return [], record_or_rejection.why, SessionCoverage(coverage, reported_rows, [], relatives=related_files)
    line = snapshot.entry.line if snapshot else None
    losses = loss_findings(coverage, line, options_to_keep=options_keeping(coverage, 0, options))
    losses += find_repeated(len(part.repeated_replies(placements)), line, options)
    if record_or_rejection is None and part.place.is_copy and not coverage.copied:
        losses.append((line, repeated_conversation()))
    result = SessionCoverage(coverage, reported_rows, losses, family=part.family(), relatives=related_files)
    if record_or_rejection is None:
        return [], None, result
    record = count_flags(record_or_rejection, options)
    if placements:
        replies_by_number = {reply.number: reply for reply in part.place.replies}
        record = count_in_record(record, placements[0], replies_by_number, options)
    if not options.writes_last:
        conversation, parent = part.names(part.place)
        record = replace(record, conversation=conversation, kind=part.place.kind, parent=parent)
    return [record], None, result


def tokens(document: LogDocument, log: Log) -> Tokens:
    """Sum the tokens used by the replies, excluding copied replies."""
    return total(Tokens(each.prompt_tokens, each.completion_tokens) for each in _own(document, log))


def _own(document: LogDocument, log: Log) -> Iterator[OriginReply]:
    paths = paths_of(document) if log.part is None else [paths_of(document)[log.part]]
    return (reply.evidence for path in paths for reply in path.own if not reply.is_copy)


def _keep_written(placement: Placement[FilePath]) -> Placement[FilePath]:
    """Return a placement with only the replies that its record contains."""
    if placement.record is None or placement.marks is None:
        return placement
    positions = {
        number: each for number, each in placement.positions.items() if each.ordinal in placement.written_ordinals
    }
    return replace(placement, positions=positions)
