"""The replies of a conversation in an agent's or a client's file as samples.

No request is logged there, so the context of a reply is what the file has of the conversation before it.
"""

from __future__ import annotations

from msgspec.structs import replace

from chatsquash.checks import sampling as checks
from chatsquash.core.model import Found
from chatsquash.core.outcome import Record, Refused
from chatsquash.session.agents import Part, Placed, covered_by, marks_of, rows_of, spoken
from chatsquash.session.client_requests import ways
from chatsquash.session.conversations import counted
from chatsquash.session.coverage import Covered, lost_of
from chatsquash.session.samples import Asked, Sample, Sampling, alone
from chatsquash.session.session import Noted, Snapshot


def of_document(
    part: Part, snapshot: Snapshot | None, asked: Asked, why: Found | None
) -> tuple[list[Record], Found | None, list[Noted], Covered]:
    """The samples of a conversation, why there are none, what was found, and what they hold of the replies."""
    sampling = Sampling(asked, lambda longer, shorter: longer > shorter)
    whys: dict[int, str] = {}
    is_made = part.is_chosen and snapshot is not None and why is None
    conversation, parent = part.names(part.place)
    if is_made:
        assert snapshot is not None
        for at, mark in zip(spoken(snapshot), marks_of(part, snapshot) or (), strict=True):
            if mark.why:
                whys[at] = mark.why
            else:
                sampling.add(at, conversation, alone(snapshot, snapshot.entry.messages[: at + 1]))
    samples = sampling.finish()
    kind = part.place.kind
    records = [replace(counted(record, part.options), kind=kind, parent=parent) for record in sampling.records(samples)]
    noted = sampling.noted(samples)
    why = why or (sampling.refused[0][0] if sampling.refused else None)
    if is_made and not records and why is None:
        why = checks.no_sample(part.place.length)
        noted.append((None, why))
    made = records[0] if records else Refused(why) if part.is_chosen and why else None
    placed = _placed(snapshot, sampling, samples) if records and snapshot else None
    whys |= {key: "refused" for _, key, _ in sampling.refused}
    rows = [*rows_of(part, snapshot, made, placed, whys)]
    covered = covered_by(part, rows, made)
    line = snapshot.entry.line if snapshot else None
    noted += lost_of(covered, line, ways=ways(covered, 0, part.options)) if records else []
    met = [*part.document.relatives, *(part.found.relatives if part.found else ())]
    return records, why, noted, Covered(covered, rows, [], family=part.family(), relatives=met)


def _placed(snapshot: Snapshot, sampling: Sampling, samples: list[Sample]) -> Placed:
    """Where each message is trained on, else the first sample that has it as context."""
    found: Placed = {}
    for index, sample in enumerate(samples):
        marks = {at: mark for mark in reversed(sampling.marks(sample)) for at in mark.at}
        for ordinal, at in enumerate(spoken(snapshot)):
            if ordinal in marks and (at not in found or not marks[ordinal].why):
                found[at] = index, marks[ordinal]
    return found
