"""Records of sessions in which each logged reply becomes a sample, and the outcome of every reply."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from msgspec import Struct
from msgspec.structs import replace

from chatsquash.checks import sampling as checks
from chatsquash.core.accounting import ReplyOutcome
from chatsquash.core.marks import by_ordinal
from chatsquash.core.model import Entry, Message, Violation
from chatsquash.core.options import Options
from chatsquash.core.outcome import Record, Rejection
from chatsquash.session.agents import DocumentPart
from chatsquash.session.conversations import count_flags, entries_of, sum_coverage, with_session_prefix
from chatsquash.session.log_findings import (
    SessionCoverage,
    find_unrelated,
    loss_findings,
    options_keeping,
    with_side_requests,
)
from chatsquash.session.record_filters import of_records
from chatsquash.session.samples import Reread, Sample, SampleRequest, Sampling, alone, said
from chatsquash.session.select import ToolUnion
from chatsquash.session.session import LineFinding, Session, Snapshot
from chatsquash.trees.account import Placement, ReplyPosition, assistants, place_replies, reply_outcomes
from chatsquash.trees.documents import FilePath
from chatsquash.trees.kinds import (
    beginnings,
    conversation_ids,
    conversations,
    first_conversation,
    select_paths,
    unexplained,
)
from chatsquash.trees.loss import FAILED, SIDE, Judge
from chatsquash.trees.replies import LogPath, Reply
from chatsquash.trees.trees import Trees

SampledSession = tuple[list[Record], Violation | None, list[LineFinding], SessionCoverage]
"""As in ``session.converter``."""


class _Selection(Struct, frozen=True):
    """The paths that become samples, and their replies."""

    trees: Trees
    paths: list[LogPath]
    """All paths of the session."""
    selected: list[tuple[LogPath, list[Reply]]]
    """Those that become samples, with their replies in order."""
    ids: dict[int, str]
    """The names of all conversations by their ``id()``."""
    whys: list[str]
    """Why each reply of the session is not to be trained on, by number; empty for those that are."""
    last_only: bool
    """Whether only the last reply of each selected path has a sample."""

    @property
    def lasts(self) -> set[int]:
        """The numbers of the last replies of the selected paths."""
        return {replies[-1].number for _, replies in self.selected}

    def sampled(self, wanted: Collection[int]) -> set[int]:
        """The numbers of those of the replies that have a sample."""
        trained = {number for number in wanted if not self.whys[number]}
        return trained & self.lasts if self.last_only else trained

    def reply_paths(self) -> dict[int, tuple[Reply, LogPath]]:
        """The replies by their numbers, each with its conversation: its own where that was chosen, else the first."""
        owners = {reply.number: path for path in self.paths for reply in path.own}
        are_selected = {id(path) for path, _ in self.selected}
        wanted: dict[int, tuple[Reply, LogPath]] = {}
        for path, replies in self.selected:
            for reply in replies:
                owner = owners.get(reply.number)
                own = owner if owner and id(owner) in are_selected else path
                wanted.setdefault(reply.number, (reply, own))
        return wanted


def of_log(session: Session, name: str, asked: SampleRequest) -> SampledSession:
    """The samples of a session's log of this name, why there are none, what was found, and what they hold."""
    each = _select(session, name, asked.options, asked.reread)
    wanted = each.reply_paths()
    sampling = Sampling(asked, lambda longer, shorter: _goes_on(each.trees.replies, longer, shorter))
    sampling.canon = each.trees.requests.canon
    sampled = each.sampled(wanted)
    made_of = (wanted[number][0] for number in sampled | each.lasts)
    for reply, entry in entries_of(made_of, session, asked.reread):
        conversation, snapshot = each.ids[id(wanted[reply.number][1])], snapshot_of(reply.path(), entry)
        if reply.number in sampled:
            sampling.add(reply.number, conversation, snapshot)
        else:
            sampling.end(conversation, snapshot)
    samples = sampling.finish()
    if logged := session.growth.logprobs:
        from chatsquash.session.samples import in_sample  # which few runs ask for

        for sample in samples:
            sample.draft = in_sample(sample, each.trees.replies, logged)
    begins = first_conversation(each.trees, each.paths)
    records = [
        _of_conversation(count_flags(record, asked.options), wanted[sample.key][1], each.ids)
        for sample, record in zip(samples, sampling.records(samples), strict=True)
    ]
    records = with_session_prefix(records, begins, session, asked.options)
    rows = _rows(each, wanted, sampling, [*zip(samples, records, strict=True)])
    rows = with_side_requests(rows, session.side_requests, name, each.paths, each.ids)
    seen = {id(path) for path, _ in each.selected}
    others = (path for path in each.paths if id(path) not in seen)
    covered = sum_coverage(rows, others, len(each.paths), len(session.side_requests))
    last = session.snapshot.entry.line if session.snapshot else None
    noted = sampling.notes(samples)
    why = sampling.refused[0][0] if sampling.refused else None
    if not records and why is None:
        why = checks.no_sample(len(wanted))
        noted.append((last, why))
    noted += loss_findings(covered, last, None, options_keeping(covered, len(session.side_requests), asked.options))
    noted += find_unrelated(session, len(beginnings(each.trees, each.paths)), covered) if records else []
    alone = unexplained(each.trees, each.paths, session.growth.unanswered)
    return records, why, noted, SessionCoverage(covered, rows, [], alone)


def _select(session: Session, name: str, options: Options, reread: Reread) -> _Selection:
    trees = session.growth.branch()
    paths = conversations(trees)
    if options.writes_last:
        end = session.growth.last_reply(session.snapshot.entry.line) if session.snapshot else None
        selected = [(path, end.path()) for path in paths if end in path.own] if end else []
    else:
        selected = [(path, path.last.path()) for path in select_paths(paths, options)]
    judge = Judge(skips_failed=options.loss_skip_failed)
    each = _Selection(
        trees, paths, selected, conversation_ids(paths, name), judge.reasons(trees), options.samples == "last"
    )
    for number in _failed_calls(each, judge, session, reread) if options.loss_skip_failed else ():
        each.whys[number] = each.whys[number] or FAILED
    for reply in (reply for path in paths if path.kind == "side" for reply in path.own if options.loss_skip_side):
        each.whys[reply.number] = each.whys[reply.number] or SIDE
    return each


def _failed_calls(each: _Selection, judge: Judge, session: Session, reread: Reread) -> Iterator[int]:
    """The replies with a call that failed and was then corrected."""
    ends = {replies[-1].number: (path, replies) for path, replies in each.selected}
    for last, entry in entries_of((replies[-1] for _, replies in each.selected), session, reread):
        shown = place_replies(*ends[last.number], said(entry), each.trees.requests.canon)
        (marks,) = judge.of_trees(each.trees, each.paths, [shown], [shown.all_ordinals])
        yield from (number for number, stands in shown.positions.items() if marks[stands.ordinal].why == FAILED)


def _goes_on(replies: list[Reply], longer: int, shorter: int) -> bool:
    return any(reply.number == shorter for reply in replies[longer].back())


def snapshot_of(path: list[Reply], entry: Entry) -> Snapshot:
    """The snapshot of a reply: its own request, with the tools that this had."""
    tools = ToolUnion()
    for _ in tools.offer(entry.tools, entry.line):
        pass
    tools.settle()
    times = [reply.at for reply in path if reply.at is not None]
    return Snapshot(entry, tools.settled(), times[0] if times else None, entry.at, len(path) - 1, 0)


def _of_conversation(record: Record, path: LogPath, ids: dict[int, str]) -> Record:
    parent = ids.get(id(path.parent)) if path.parent else None
    return replace(record, kind=path.kind, parent=parent)


def _rows(
    each: _Selection,
    wanted: dict[int, tuple[Reply, LogPath]],
    sampling: Sampling,
    made: list[tuple[Sample, Record]],
) -> list[ReplyOutcome]:
    """What became of every reply: the sample in which it has loss, else the first one that holds it as context."""
    unwanted = of_records(sampling.asked.options)
    placements: list[Placement[LogPath]] = []
    aside = wanted.keys() - each.sampled(wanted)
    for index, (sample, record) in enumerate(made):
        path = wanted[sample.key][1]
        standing = {trained.key: ReplyPosition(trained.ordinal, False) for trained in sample.trained}
        if aside:
            before = [reply for reply in each.trees.replies[sample.key].back() if reply.number in aside]
            context = _context(path, before, sample.messages, each.trees)
            standing |= context
            aside -= context.keys()
        shown = Placement(path, sample.messages, assistants(sample.messages), standing)
        is_filtered = any(why(record) for why in unwanted.values())
        marks = by_ordinal(sampling.marks(sample))
        placements.append(replace(shown, why="filtered") if is_filtered else replace(shown, record=index, marks=marks))
    for _, key, _ in sampling.refused:
        reply, path = wanted[key]
        shown = Placement(path, [reply.message], [0], {key: ReplyPosition(0, False)})
        placements.append(replace(shown, why="refused"))
    rows = reply_outcomes(each.trees, each.paths, placements, each.ids)
    whys = {each.trees.replies[number].line: each.whys[number] for number in aside if each.whys[number]}
    return [replace(row, why=whys[row.line]) if row.line in whys and row.status == "lost" else row for row in rows]


def _context(
    path: LogPath, replies: Iterable[Reply], messages: list[Message], trees: Trees
) -> dict[int, ReplyPosition]:
    before = sorted(replies, key=lambda reply: reply.number)
    return place_replies(path, before, messages, trees.requests.canon).positions if before else {}


def of_document(
    part: DocumentPart, snapshot: Snapshot | None, asked: SampleRequest, why: Violation | None
) -> tuple[list[Record], Violation | None, list[LineFinding], SessionCoverage]:
    """The samples of a conversation, why there are none, what was found, and what they hold of the replies."""
    sampling = Sampling(asked, lambda longer, shorter: longer > shorter)
    placement = part.placement(snapshot)
    unmarked: dict[int, str] = {}
    is_made = part.is_chosen and snapshot is not None and why is None
    conversation, parent = part.names(part.place)
    if is_made:
        assert snapshot is not None
        assert placement is not None
        for at, mark in zip(placement.assistants, part.marks(snapshot, placement), strict=True):
            if mark.why:
                unmarked[at] = mark.why
            elif at == placement.assistants[-1] or part.options.samples != "last":
                sampling.add(at, conversation, alone(snapshot, snapshot.entry.messages[: at + 1]))
        sampling.end(conversation, snapshot)
    samples = sampling.finish()
    kind = part.place.kind
    records = [
        replace(count_flags(record, part.options), kind=kind, parent=parent) for record in sampling.records(samples)
    ]
    noted = sampling.notes(samples)
    why = why or (sampling.refused[0][0] if sampling.refused else None)
    if is_made and not records and why is None:
        why = checks.no_sample(part.place.length)
        noted.append((None, why))
    made = records[0] if records else Rejection(why) if part.is_chosen and why else None
    unmarked |= {key: "refused" for _, key, _ in sampling.refused}
    whys = part.whys(snapshot, made)
    if placement:
        at_of = {number: placement.assistants[each.ordinal] for number, each in placement.positions.items()}
        whys |= {number: unmarked[at] for number, at in at_of.items() if at in unmarked}
    rows = part.rows(_placements(placement, sampling, samples) if placement else [], made, whys)
    covered = part.coverage(rows, made)
    line = snapshot.entry.line if snapshot else None
    noted += loss_findings(covered, line, options_to_keep=options_keeping(covered, 0, part.options)) if records else []
    met = [*part.document.relatives, *(part.home_file.relatives if part.home_file else ())]
    return records, why, noted, SessionCoverage(covered, rows, [], family=part.family(), relatives=met)


def _placements(placement: Placement[FilePath], sampling: Sampling, samples: list[Sample]) -> list[Placement[FilePath]]:
    """The placement of each sample: replies are where they are trained on, else in the first sample that has them."""
    marks = [by_ordinal(sampling.marks(sample)) for sample in samples]
    places: dict[int, int] = {}
    for index, of_sample in enumerate(marks):
        for ordinal, mark in of_sample.items():
            if ordinal not in places or not mark.why:
                places[ordinal] = index
    standing: list[dict[int, ReplyPosition]] = [{} for _ in samples]
    for number, each in placement.positions.items():
        if each.ordinal in places:
            standing[places[each.ordinal]][number] = each
    return [
        replace(placement, record=index, marks=of_sample, positions=of_index)
        for index, (of_sample, of_index) in enumerate(zip(marks, standing, strict=True))
    ]
