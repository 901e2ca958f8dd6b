"""The pairs of a conversation in an agent's or a client's file: what was sampled again, left behind, or corrected."""

from __future__ import annotations

from collections.abc import Iterator

from chatsquash.session.agents import Part, marks_of, spoken
from chatsquash.session.pairs import Answered, Candidate, PairKind, Step, counterfactual, results_in
from chatsquash.session.pairs.alternatives import OF_PERSONS, alternatives
from chatsquash.session.samples import alone
from chatsquash.session.session import Snapshot


def candidates(part: Part, snapshot: Snapshot, *, counterfactuals: bool) -> Iterator[Candidate]:
    """Those whose chosen reply is in the conversation, with the context that the file has of it."""
    place, messages = part.place, snapshot.entry.messages
    replies = {each.at: each for each in (snapshot.entry.origin.replies if snapshot.entry.origin else ())}
    marks = dict(zip(spoken(snapshot), marks_of(part, snapshot) or (), strict=False))
    whole = sorted(at for at in replies if at is not None and at in marks and not marks[at].why)
    lines = {at: reply.line for at, reply in replies.items()}
    times = {each.at: each.time for each in map(place.origin.replies.__getitem__, place.own)}
    for at in whole if place.kind in OF_PERSONS else ():
        for kind, rejected in _others(part, at, times[at]) if at in times else ():
            yield Candidate(kind, alone(snapshot, messages[:at]), Answered(messages[at], lines[at]), rejected)
    nexts = zip(whole, whole[1:], [*whole[2:], len(messages)], strict=False)
    for before, at, after in nexts if counterfactuals else ():
        between, behind = [*results_in(messages[before + 1 : at])], [*results_in(messages[at + 1 : after])]
        if told := counterfactual(Step(messages[before], between, messages[at], behind)):
            both = Answered(messages[at], lines[at]), Answered(messages[before], lines[before])
            yield Candidate(told, alone(snapshot, messages[:before]), *both)


def _others(part: Part, at: int, time: int | None) -> Iterator[tuple[PairKind, Answered]]:
    """The replies of the file behind the same messages as one of this conversation, which was kept at a time."""
    for other in alternatives(part.document.places).of(part.place, at):
        said = Answered(other.place.conversation.messages[at], other.reply.line)
        if not other.is_gone_on:
            yield "regenerated", said
        elif time is not None and other.ends[0] and other.ends[0] < time:
            yield "rewound", said
