"""Make the samples of conversations in agents' files, with the outcome of every reply."""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from chatsquash.checks.coverage import unknown_model
from chatsquash.core.marks import by_ordinal
from chatsquash.core.model import Message, Violation
from chatsquash.core.options import Options
from chatsquash.core.outcome import Record, Rejection
from chatsquash.records.reading import RESULTS
from chatsquash.session.agents import DocumentPart
from chatsquash.session.log_findings import SessionCoverage, loss_findings, options_keeping
from chatsquash.session.reply_counts import count_flags, count_in_sample
from chatsquash.session.sample_records import (
    NO_VERDICT,
    NOT_FIRST,
    NOT_LAST,
    PROMPTS_ONLY,
    SampledSession,
    lean,
    marks_at,
    with_reasons,
)
from chatsquash.session.samples import Sample, SampleRequest, Sampling, truncate_snapshot
from chatsquash.session.session import LineFinding, Snapshot
from chatsquash.trees.account import Placement, ReplyPosition
from chatsquash.trees.documents import FilePath, FileReply
from chatsquash.trees.loss import ELSEWHERE, LABEL, MISSING, NOT_LOGGED, OTHER_MODEL


def of_document(
    part: DocumentPart, snapshot: Snapshot | None, request: SampleRequest, why: Violation | None
) -> tuple[list[Record], Violation | None, list[LineFinding], SessionCoverage]:
    """Make the samples of a conversation in an agent file."""
    sampling = Sampling(request, lambda longer, shorter: longer > shorter)
    part.find_steps()
    placement = part.placement(snapshot)
    unmarked: dict[int, str] = {}
    is_convertible = part.is_selected and snapshot is not None and why is None
    conversation, _ = part.names(part.place)
    if is_convertible:
        assert snapshot is not None
        assert placement is not None
        unmarked = _add_replies(part, snapshot, placement, sampling)
        sampling.end(conversation, snapshot)
    samples = sampling.finish()
    records = [lean(count_flags(record, part.options)) for record in sampling.records(samples)]
    sampled_part = SampledPart(sampling, [*zip(samples, records, strict=True)], unmarked)
    return document_outcome(part, snapshot, sampled_part, why)


class SampledPart(NamedTuple):
    """The samples of a conversation in a file."""

    sampling: Sampling
    """The rejections and findings."""
    samples: list[tuple[Sample, Record]] = []  # noqa: RUF012 - never changed
    unmarked: dict[int, str] = {}  # noqa: RUF012
    """The reasons why messages are not trained on, by their index in the conversation."""


def document_outcome(
    part: DocumentPart, snapshot: Snapshot | None, sampled_part: SampledPart, why: Violation | None
) -> SampledSession:
    """Return the samples of a file's conversation with the outcomes of its replies and the findings.

    ``why`` is the reason why the file is not converted, if any.
    """
    sampling, samples, unmarked = sampled_part
    is_convertible = part.is_selected and snapshot is not None and why is None
    placement, (_, parent) = part.placement(snapshot), part.names(part.place)
    kind, line = part.place.kind, snapshot.entry.line if snapshot else None
    replies_by_message = _replies_by_message(placement) if placement else {}
    records = [
        count_in_sample(
            replace(record, kind=kind, parent=parent),
            [replies_by_message[key] for key in sampling.trained_keys(sample)],
            part.options,
        )
        for sample, record in samples
    ]
    findings = sampling.notes([sample for sample, _ in samples]) + (
        [(line, unknown_model(sampling.unknown_models))] if sampling.unknown_models else []
    )
    why = why or (sampling.rejections[0][0] if sampling.rejections else None)
    if is_convertible and not records and why is None:
        why = sampling.no_sample(part.place.length)
        findings += [] if sampling.unlabelled else [(None, why)]
    result = records[0] if records else Rejection(why) if part.is_selected and why else None
    unmarked = unmarked | {key: "refused" for _, key, _ in sampling.rejections}
    exclusion_reasons = part.exclusion_reasons(snapshot, result)
    if placement:
        at_of = {number: placement.assistants[each.ordinal] for number, each in placement.positions.items()}
        exclusion_reasons |= {number: unmarked[at] for number, at in at_of.items() if at in unmarked}
    placements = _placements(placement, sampling, [sample for sample, _ in samples]) if placement else []
    rows = part.rows(placements, result, exclusion_reasons)
    rows = with_reasons(rows, {number + 1: why for number, why in exclusion_reasons.items()})
    coverage = part.coverage(rows, result)
    findings += (
        loss_findings(coverage, line, options_to_keep=options_keeping(coverage, 0, part.options)) if records else []
    )
    related_files = [*part.document.relatives, *(part.home_file.relatives if part.home_file else ())]
    return records, why, findings, SessionCoverage(coverage, rows, [], family=part.family(), relatives=related_files)


def _replies_by_message(placement: Placement[FilePath]) -> dict[int, FileReply]:
    """Return the replies of a conversation by the index of their message."""
    places = {number: placement.assistants[each.ordinal] for number, each in placement.positions.items()}
    return {places[reply.number]: reply for reply in placement.path.replies if reply.number in places}


def _add_replies(
    part: DocumentPart, snapshot: Snapshot, placement: Placement[FilePath], sampling: Sampling
) -> dict[int, str]:
    """Add the replies of a conversation in a file; return why others have no sample, by position."""
    messages, options = snapshot.entry.messages, part.options
    conversation, _ = part.names(part.place)
    marks = dict(zip(placement.assistants, part.marks(snapshot, placement), strict=True))
    reasons = {at: mark.why for at, mark in marks.items()}
    if options.shape == "kto":
        from chatsquash.session import verdicts  # imported here because few runs need it

        sampling.labels = verdicts.of_document(part, snapshot, placement)
        reasons = {at: "" if why == LABEL else why for at, why in reasons.items()}
        unlabelled = [at for at, why in reasons.items() if not why and at not in sampling.labels]
        reasons |= dict.fromkeys(unlabelled, NO_VERDICT)
        sampling.unlabelled = len(unlabelled)
    elif options.shape == "prompt":
        turns = zip([-1, *placement.assistants], placement.assistants, strict=False)
        reasons = {at: _no_prompt(reasons[at], messages[before + 1 : at]) for before, at in turns}
    else:
        sampling.weights = {at: mark.weight for at, mark in marks.items()}
    if options.shape != "prompt":
        sampling.unknown_models = sum(mark.why == OTHER_MODEL and not mark.model for mark in marks.values())
    reasons |= _at_other_positions([at for at, why in reasons.items() if not why], placement, options)
    for at in (at for at, why in reasons.items() if not why):
        sampling.add(at, conversation, truncate_snapshot(snapshot, messages[: at + 1]))
    usual = PROMPTS_ONLY if options.shape == "prompt" else ""
    return {at: why or usual for at, why in reasons.items() if why or usual}


def _at_other_positions(usable: list[int], placement: Placement[FilePath], options: Options) -> dict[int, str]:
    """Return why some of the usable replies have no sample: only the first or last one is requested."""
    if options.samples == "first":
        return dict.fromkeys(usable[1:], NOT_FIRST)
    if options.samples == "last":
        return dict.fromkeys((at for at in usable if at != placement.assistants[-1]), NOT_LAST)
    return {}


def _no_prompt(why: str, new_messages: list[Message]) -> str:
    """Return why a prompt does not end with these messages; ``why`` is why the reply after them is not trained on."""
    if why in (NOT_LOGGED, MISSING, ELSEWHERE):
        return why
    roles = {message["role"] for message in new_messages}
    return "" if "user" in roles and roles.isdisjoint(RESULTS) else PROMPTS_ONLY


def _placements(placement: Placement[FilePath], sampling: Sampling, samples: list[Sample]) -> list[Placement[FilePath]]:
    """Return a placement for each sample; a reply is in the sample that trains on it, or else in the first one."""
    places: dict[int, int] = {}
    for index, sample in enumerate(samples):
        for ordinal, mark in by_ordinal(sampling.marks(sample)).items():
            if ordinal not in places or not mark.why:
                places[ordinal] = index
    positions: list[dict[int, ReplyPosition]] = [{} for _ in samples]
    for number, each in placement.positions.items():
        if each.ordinal in places:
            positions[places[each.ordinal]][number] = each
    return [
        replace(placement, record=index, marks=marks_at(of_index, sampling.marks(sample)), positions=of_index)
        for index, (sample, of_index) in enumerate(zip(samples, positions, strict=True))
    ]
