"""Make the samples of gateways' logs, with the outcome of every reply."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from msgspec import Struct
from msgspec.structs import replace

from chatsquash.checks.coverage import unknown_model
from chatsquash.core.accounting import ReplyOutcome
from chatsquash.core.marks import by_ordinal
from chatsquash.core.model import Mark, Message, Violation
from chatsquash.core.options import Options
from chatsquash.core.outcome import Record
from chatsquash.records.reading import RESULTS
from chatsquash.records.samples import CONTEXT
from chatsquash.session.conversations import entries_of, find_steps, with_session_prefix
from chatsquash.session.log_findings import (
    SessionCoverage,
    find_unrelated,
    loss_findings,
    options_keeping,
    with_side_requests,
)
from chatsquash.session.record_measures import of_records
from chatsquash.session.reply_counts import count_flags, count_in_sample, sum_coverage
from chatsquash.session.samples import Sample, SampleRequest, Sampling, snapshot_of
from chatsquash.session.session import LineFinding, Session
from chatsquash.trees.account import Placement, ReplyPosition, assistants, place_replies, reply_outcomes
from chatsquash.trees.kinds import (
    beginnings,
    conversation_ids,
    conversations,
    first_conversation,
    select_paths,
    unexplained,
)
from chatsquash.trees.loss import (
    LABEL,
    OTHER_MODEL,
    SIDE,
    judge_of,
    weights_of,
    with_labels,
)
from chatsquash.trees.replies import LogPath, Reply
from chatsquash.trees.trees import Trees

SampledSession = tuple[list[Record], Violation | None, list[LineFinding], SessionCoverage]
"""The records of a session or the reason for its rejection, findings, and the coverage of the session."""


NO_VERDICT, PROMPTS_ONLY = "no-verdict", "prompts-only"
"""Reasons why a reply has no sample in some shapes, keys of ``core.accounting.WHY``."""
NOT_FIRST, NOT_LAST = "not-first", "not-last"
"""Reasons why a reply has no sample with ``--samples first`` and ``last``, keys of ``core.accounting.WHY``."""
_POSITIONS = (NOT_FIRST, NOT_LAST)


class Selection(Struct, frozen=True):
    """The paths that become samples, and their replies."""

    trees: Trees
    paths: list[LogPath]
    """All paths of the session."""
    selected: list[tuple[LogPath, list[Reply]]]
    """The paths that become samples, with their replies in order."""
    ids: dict[int, str]
    """The ids of all conversations by the ``id()`` of their path."""
    exclusion_reasons: list[str]
    """The reason why each reply has no sample, by reply number; empty if it has one."""

    def is_unknown(self, number: int) -> bool:
        """Return whether a reply is excluded because its model is unknown."""
        return self.exclusion_reasons[number] == OTHER_MODEL and not self.trees.replies[number].model

    @property
    def lasts(self) -> set[int]:
        """The numbers of the last replies of the selected paths."""
        return {replies[-1].number for _, replies in self.selected}

    @property
    def firsts(self) -> set[int]:
        """The number of the first reply with a sample in each selected path."""
        usable = (
            [each.number for each in replies if not self.exclusion_reasons[each.number]] for _, replies in self.selected
        )
        return {numbers[0] for numbers in usable if numbers}

    def with_sample(self, numbers: Collection[int]) -> set[int]:
        """Return the numbers of those replies that have a sample."""
        return {number for number in numbers if not self.exclusion_reasons[number]}

    def require(self, numbers: Collection[int], reason: str) -> int:
        """Exclude all replies but these for a reason; return how many have no other reason."""
        excluded = [each.number for each in self.trees.replies if each.number not in numbers]
        newly = [number for number in excluded if not self.exclusion_reasons[number]]
        for number in newly:
            self.exclusion_reasons[number] = reason
        return len(self.reply_paths().keys() & set(newly))

    def reply_paths(self) -> dict[int, tuple[Reply, LogPath]]:
        """Return the replies by number, each with its own conversation if selected, else the first that contains it."""
        owners = {reply.number: path for path in self.paths for reply in path.own}
        are_selected = {id(path) for path, _ in self.selected}
        result: dict[int, tuple[Reply, LogPath]] = {}
        for path, replies in self.selected:
            for reply in replies:
                owner = owners.get(reply.number)
                own = owner if owner and id(owner) in are_selected else path
                result.setdefault(reply.number, (reply, own))
        return result


def of_log(session: Session, name: str, request: SampleRequest) -> SampledSession:
    """Make the samples of a gateway log."""
    selection = select_replies(session, name, request.options)
    replies = selection.reply_paths()
    sampling = Sampling(request, lambda longer, shorter: _continues(selection.trees.replies, longer, shorter))
    sampling.canon = selection.trees.requests.canon
    if request.options.shape != "kto":
        sampling.weights = weights_of(selection.trees.replies)
    _restrict(selection, sampling, session)
    sampled_numbers = selection.with_sample(replies)
    replies_to_read = (replies[number][0] for number in sampled_numbers | selection.lasts)
    for reply, entry in entries_of(replies_to_read, session, request.reread):
        conversation, snapshot = selection.ids[id(replies[reply.number][1])], snapshot_of(reply.path(), entry)
        if reply.number in sampled_numbers:
            sampling.add(reply.number, conversation, snapshot)
        else:
            sampling.end(conversation, snapshot)
    samples = sampling.finish()
    if logprobs := session.growth.logprobs:
        from chatsquash.session.samples import in_sample  # imported here because few runs need it

        for sample in samples:
            sample.draft = in_sample(sample, selection.trees.replies, logprobs, session.growth.tokens_of_replies)
    records = [
        in_conversation(lean(count_flags(record, request.options)), replies[sample.key][1], selection.ids)
        for sample, record in zip(samples, sampling.records(samples), strict=True)
    ]
    return of_samples(session, name, selection, sampling, [*zip(samples, records, strict=True)])


def of_samples(
    session: Session, name: str, selection: Selection, sampling: Sampling, samples: list[tuple[Sample, Record]]
) -> SampledSession:
    """Return the samples of a log with their records, the outcomes of all replies and the findings."""
    request, replies = sampling.request, selection.reply_paths()
    begins = first_conversation(selection.trees, selection.paths)
    records = [
        count_in_sample(record, [replies[key][0] for key in sampling.trained_keys(sample)], request.options)
        for sample, record in samples
    ]
    records = with_session_prefix(records, begins, session, request.options)
    rows = _rows(selection, replies, sampling, [*zip((sample for sample, _ in samples), records, strict=True)])
    rows = with_side_requests(rows, session.side_requests, name, selection.paths, selection.ids)
    seen = {id(path) for path, _ in selection.selected}
    others = (path for path in selection.paths if id(path) not in seen)
    coverage = sum_coverage(rows, others, len(selection.paths), len(session.side_requests))
    last = session.snapshot.entry.line if session.snapshot else None
    findings = sampling.notes([sample for sample, _ in samples])
    if unknown := sum(selection.is_unknown(number) for number in replies):
        findings.append((last, unknown_model(unknown)))
    why = sampling.rejections[0][0] if sampling.rejections else None
    if not records and why is None:
        why = sampling.no_sample(len(replies))
        findings += [] if sampling.unlabelled else [(last, why)]
    findings += loss_findings(
        coverage, last, None, options_keeping(coverage, len(session.side_requests), request.options)
    )
    findings += find_unrelated(session, len(beginnings(selection.trees, selection.paths)), coverage) if records else []
    unexplained_lines = unexplained(selection.trees, selection.paths, session.growth.unanswered)
    return records, why, findings, SessionCoverage(coverage, rows, [], unexplained_lines)


def select_replies(session: Session, name: str, options: Options) -> Selection:
    """Select the replies of a log that may be trained on."""
    trees = session.growth.branch()
    paths = conversations(trees)
    if options.writes_last:
        end = session.growth.last_reply(session.snapshot.entry.line) if session.snapshot else None
        selected = [(path, end.path()) for path in paths if end in path.own] if end else []
    else:
        selected = [(path, path.last.path()) for path in select_paths(paths, options)]
    find_steps(trees, paths, options)
    judge = judge_of(options)
    flaws = judge.reasons(trees)
    reasons = [why or judge.exclusion(reply) for why, reply in zip(flaws, trees.replies, strict=True)]
    for reply in (reply for path in paths if path.kind == "side" for reply in path.own if options.loss_skip_side):
        reasons[reply.number] = reasons[reply.number] or SIDE
    reasons = with_labels(reasons, trees.replies)
    return Selection(trees, paths, selected, conversation_ids(paths, name), reasons)


def _restrict(selection: Selection, sampling: Sampling, session: Session) -> None:
    """Exclude the replies that the options of samples do not allow, and set the labels of the others."""
    shape = sampling.request.options.shape
    if shape == "kto":
        from chatsquash.session import verdicts  # imported here because few runs need it

        sampling.labels = verdicts.of_log(session, sampling.request.reread, sampling.request.options)
        # A bad label is a label, and no reason against training.
        selection.exclusion_reasons[:] = ["" if why == LABEL else why for why in selection.exclusion_reasons]
        sampling.unlabelled = selection.require(sampling.labels, NO_VERDICT)
    elif shape == "prompt":
        # A prompt does not depend on the quality of the reply that was sampled.
        replies = selection.trees.replies
        selection.exclusion_reasons[:] = ["retry" if each.is_retried else "" for each in replies]
        selection.require({each.number for each in replies if _begins_turn(each)}, PROMPTS_ONLY)
    samples = sampling.request.options.samples
    if samples == "first":
        selection.require(selection.firsts, NOT_FIRST)
    elif samples == "last":
        selection.require(selection.lasts, NOT_LAST)


def _begins_turn(reply: Reply) -> bool:
    """Return whether a reply answers a message of the user, and not results."""
    return any(True for _ in reply.users()) and all(each["role"] not in RESULTS for each in reply.new_messages)


def _continues(replies: list[Reply], longer: int, shorter: int) -> bool:
    return any(reply.number == shorter for reply in replies[longer].back())


def lean(record: Record) -> Record:
    """Return a sample without the marks of its context, which are not needed any more."""
    return replace(record, marks=[mark for mark in record.marks if mark.model or not mark.why])


def in_conversation(record: Record, path: LogPath, ids: dict[int, str]) -> Record:
    """Return a record with the kind and the parent of its conversation."""
    parent = ids.get(id(path.parent)) if path.parent else None
    return replace(record, kind=path.kind, parent=parent)


def _rows(
    selection: Selection,
    replies: dict[int, tuple[Reply, LogPath]],
    sampling: Sampling,
    records: list[tuple[Sample, Record]],
) -> list[ReplyOutcome]:
    """Return every reply's outcome: in the sample that trains on it, or else in the first that has it as context."""
    filters = of_records(sampling.request.options)
    placements: list[Placement[LogPath]] = []
    is_prompts = sampling.request.options.shape == "prompt"
    remaining = set(replies) if is_prompts else replies.keys() - selection.with_sample(replies)
    for index, (sample, record) in enumerate(records):
        path = replies[sample.key][1]
        positions = {trained.key: ReplyPosition(trained.ordinal, False) for trained in sample.trained}
        messages = sample.messages
        if is_prompts:
            positions, messages = {}, messages[:-1]
        if remaining:
            candidates = remaining - {sample.key} if is_prompts else remaining
            before = [reply for reply in selection.trees.replies[sample.key].back() if reply.number in candidates]
            context = _context(path, before, messages, selection.trees)
            positions |= context
            remaining -= context.keys()
        placement = Placement(path, messages, assistants(messages), positions)
        is_filtered = any(why(record) for why in filters.values())
        marks = marks_at(positions, sampling.marks(sample))
        placements.append(
            replace(placement, why="filtered") if is_filtered else replace(placement, record=index, marks=marks)
        )
    for _, key, _ in sampling.rejections:
        reply, path = replies[key]
        placement = Placement(path, [reply.message], [0], {key: ReplyPosition(0, False)})
        placements.append(replace(placement, why="refused"))
    rows = reply_outcomes(selection.trees, selection.paths, placements, selection.ids)
    reasons = selection.exclusion_reasons
    usual = PROMPTS_ONLY if is_prompts else ""
    whys = {
        number: reasons[number] if reasons[number] in _POSITIONS else usual or reasons[number] for number in remaining
    }
    exclusion_reasons = {selection.trees.replies[number].line: why for number, why in whys.items() if why}
    rows = [
        replace(row, why=exclusion_reasons[row.line]) if row.line in exclusion_reasons and row.status == "lost" else row
        for row in rows
    ]
    return with_reasons(rows, {reply.nth: selection.exclusion_reasons[reply.number] for reply, _ in replies.values()})


def marks_at(positions: Mapping[int, ReplyPosition], marks: list[Mark]) -> dict[int, Mark]:
    """Return the marks at some positions; those of all messages of all samples would grow quadratically."""
    ordinals = {each.ordinal for each in positions.values()}
    return {ordinal: mark for ordinal, mark in by_ordinal(marks).items() if ordinal in ordinals}


def with_reasons(rows: list[ReplyOutcome], reasons: dict[int, str]) -> list[ReplyOutcome]:
    """Return outcomes in which replies in the context of samples have their own reasons for not being trained on."""
    return [
        replace(row, untrained=reasons.get(row.nth) or CONTEXT) if row.untrained == CONTEXT else row for row in rows
    ]


def _context(
    path: LogPath, replies: Iterable[Reply], messages: list[Message], trees: Trees
) -> dict[int, ReplyPosition]:
    before = sorted(replies, key=lambda reply: reply.number)
    return place_replies(path, before, messages, trees.requests.canon).positions if before else {}
