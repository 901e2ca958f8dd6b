"""Count the logged replies in the records of a session, by outcome, by model and by step fact."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from chatsquash.checks import coverage
from chatsquash.core.accounting import Coverage, ReplyOutcome, TrainedReplies
from chatsquash.core.lazy import LazyModule, lazy_compile
from chatsquash.core.memo import Last
from chatsquash.core.options import Options
from chatsquash.core.outcome import Record, Rejection
from chatsquash.session.record_measures import RecordFilter
from chatsquash.session.session import LineFinding
from chatsquash.trees.coverage import coverage as sum_outcomes

if TYPE_CHECKING:
    from chatsquash.core import marks
    from chatsquash.trees.account import Placement
    from chatsquash.trees.loss import Judge
    from chatsquash.trees.paths import AnyPath, GrowingRequest, LoggedReply, P
else:
    marks = LazyModule("chatsquash.core.marks")

_DATE = lazy_compile(r"[-@:](?:latest|\d{8}|\d{4}-\d{2}-\d{2})(?:-v\d+(?::\d+)?)?\Z")


_ADDS_CONTEXT = ("results", "all")
"""The values of ``--restore`` that add context which the model did not see."""


def needs_marks(options: Options) -> bool:
    """Return whether the options need marks, which record the replies in each message and whether it is trained on."""
    needs = options.loss != "none" or options.lists_replies or options.cuts or options.keep != "none"
    needs = needs or options.needs_steps
    return needs or options.samples != "session" or options.pairs != "none"


def _make_judge(options: Options) -> Judge:
    from chatsquash.trees.loss import judge_of  # imported here because few runs need it

    restores = not options.writes_last or options.restore in _ADDS_CONTEXT
    shows_reasoning = options.reasoning != "drop"
    restores = restores and not options.restored_loss
    return replace(judge_of(options), restores=restores, shows_reasoning=shows_reasoning)


judge_of_run = Last(_make_judge)
"""The judge for the options of the run."""


def count_in_record(
    record: Record,
    placement: Placement[P],
    replies: Mapping[int, LoggedReply] | Sequence[LoggedReply],
    options: Options,
) -> Record:
    """Return a record with the counts of the replies that it contains; ``replies`` are those of the session."""
    ordinals, is_flagged = placement.written_ordinals, options.flag != "none"
    contents = [
        (replies[number], position.ordinal)
        for number, position in placement.positions.items()
        if position.ordinal in ordinals
    ]
    trained = [reply for reply, ordinal in contents if not is_flagged or _is_trained(placement, ordinal)]
    record = replace(record, trained_replies=count_trained(trained))
    return count_steps(record, [reply for reply, _ in contents], options)


def count_in_sample(record: Record, trained: Collection[LoggedReply], options: Options) -> Record:
    """Return a sample with the counts of the replies that it trains on."""
    return count_steps(replace(record, trained_replies=count_trained(trained)), trained, options)


def count_trained(replies: Iterable[LoggedReply] | Iterable[GrowingRequest]) -> dict[str, TrainedReplies]:
    """Return the counts of replies by model."""
    counts: dict[str, list[int]] = {}
    for reply in replies:
        sums = counts.get(reply.model)
        if sums is None:
            sums = counts[reply.model] = [0, 0, 0]
        sums[0] += 1
        if reply.completion_tokens is not None:
            sums[1] += 1
            sums[2] += reply.completion_tokens
    models = sorted(counts) if len(counts) > 1 else counts
    return {model: TrainedReplies(*counts[model]) for model in models}


def count_steps(record: Record, replies: Iterable[LoggedReply], options: Options) -> Record:
    """Return a record with the number of replies with each step fact, if options need these facts."""
    if not options.counts_steps:
        return record
    from chatsquash.trees.steps import count_facts  # imported here because few runs need it

    return replace(record, steps=count_facts(replies))


def place_record(
    placement: Placement[P], result: Record | Rejection, index: int, filters: dict[str, RecordFilter]
) -> Placement[P]:
    """Return a placement with its record, or with the reason why it has no record."""
    if isinstance(result, Rejection):
        return replace(placement, why="refused")
    if any(why(result) for why in filters.values()):
        return replace(placement, why="filtered")
    return replace(placement, record=index, marks=marks.by_ordinal(result.marks) if result.marks else None)


def count_flags(record: Record, options: Options) -> Record:
    """Return a record with the counts of its flags; its marks must be final."""
    if options.flag == "none":
        return record
    flags: dict[str, int] = {}
    for mark in record.marks:
        flags[mark.why] = flags.get(mark.why, 0) + 1
    return replace(record, flags=dict(sorted(flags.items())))


def sum_coverage(rows: list[ReplyOutcome], others: Iterable[AnyPath], seen: int, side_requests: int = 0) -> Coverage:
    """Sum the outcomes of replies, and count the conversations of each kind that were not selected."""
    kinds: dict[str, int] = {"side": side_requests} if side_requests else {}
    for each in others:
        kinds[each.kind] = kinds.get(each.kind, 0) + 1
    return replace(sum_outcomes(rows), conversations=seen + side_requests, not_chosen=dict(sorted(kinds.items())))


def find_repeated(count: int, line: int | None, options: Options) -> list[LineFinding]:
    """Report replies that are in several records, unless flags select the record in which they are trained on."""
    is_flagged = options.flag != "none" or options.samples != "session"
    return [(line, coverage.replies_repeated(count))] if count and not is_flagged else []


def model_findings(records: Sequence[Record], line: int | None, options: Options) -> list[LineFinding]:
    """Report conversations that train on replies of several models, or replies excluded because of an unknown model.

    ``line`` is the line of the default record.
    """
    if options.loss_model:
        return _unknown_models(records, line)
    is_usual = len(records) == 1 and len(records[0].trained_replies) < 2
    return [] if is_usual or options.only_model else _mixed_models(records, line)


def _unknown_models(records: Iterable[Record], line: int | None) -> list[LineFinding]:
    from chatsquash.trees.loss import OTHER_MODEL  # imported here because few runs need it

    findings: list[LineFinding] = []
    for record in records:
        unknown = {at for mark in record.marks if mark.why == OTHER_MODEL and not mark.model for at in mark.at}
        if unknown:
            fact = coverage.unknown_model(len(unknown))
            findings.append((_line(record, line), replace(fact, conversation=record.conversation)))
    return findings


def _mixed_models(records: Sequence[Record], line: int | None) -> list[LineFinding]:
    conversations: dict[str, dict[str, int]] = {}
    lines: dict[str, int | None] = {}
    for record in records:
        models = conversations.setdefault(record.conversation, {})
        lines[record.conversation] = _line(record, line)
        for model, counts in record.trained_replies.items():
            if model:
                models[model] = models.get(model, 0) + counts.replies
    findings: list[LineFinding] = []
    for conversation, models in conversations.items():
        if len(models) > 1 and len({*map(_bare_name, models)}) > 1:
            findings.append((lines[conversation], replace(coverage.mixed_models(models), conversation=conversation)))
    return findings


def _line(record: Record, default: int | None) -> int | None:
    return record.entry.line if record.entry else default


def _bare_name(model: str) -> str:
    """Return the name of a model without its provider and date."""
    return _DATE.sub("", model.lower().rpartition("/")[2])


def _is_trained(placement: Placement[P], ordinal: int) -> bool:
    mark = placement.marks.get(ordinal) if placement.marks else None
    return mark is not None and not mark.why
