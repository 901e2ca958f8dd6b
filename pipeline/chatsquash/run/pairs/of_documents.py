"""The pairs of a conversation in an agent's or a client's file: what was sampled again, left behind, or corrected."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from chatsquash.model import Message
from chatsquash.read.lineage import Place
from chatsquash.run.agents import Part, marks_of, spoken
from chatsquash.run.pairs import Answered, Candidate, PairKind, Step, counterfactual, results_in
from chatsquash.run.samples import alone
from chatsquash.stages.session import Snapshot

_OF_PERSONS = ("main", "branch", "compacted")


def candidates(part: Part, snapshot: Snapshot, *, counterfactuals: bool) -> Iterator[Candidate]:
    """Those whose chosen reply is in the conversation, with the context that the file has of it."""
    place, messages = part.place, snapshot.entry.messages
    replies = {each.at: each for each in (snapshot.entry.origin.replies if snapshot.entry.origin else ())}
    marks = dict(zip(spoken(snapshot), marks_of(part, snapshot) or (), strict=False))
    whole = [at for at in replies if at is not None and at in marks and not marks[at].why]
    lines = {at: reply.line for at, reply in replies.items()}
    for at in whole if place.kind in _OF_PERSONS else ():
        for kind, other in _others(part, place, at):
            rejected = Answered(other[1], other[0])
            yield Candidate(kind, alone(snapshot, messages[:at]), Answered(messages[at], lines[at]), rejected)
    for before, at in pairwise(whole) if counterfactuals else ():
        after = next((each for each in whole if each > at), len(messages))
        between, behind = [*results_in(messages[before + 1 : at])], [*results_in(messages[at + 1 : after])]
        if told := counterfactual(Step(messages[before], between, messages[at], behind)):
            both = Answered(messages[at], lines[at]), Answered(messages[before], lines[before])
            yield Candidate(told, alone(snapshot, messages[:before]), *both)


def _others(part: Part, place: Place, at: int) -> Iterator[tuple[PairKind, tuple[int | None, Message]]]:
    """Replies in other conversations of the file that stand behind the same messages as one of this, which was kept."""
    said, tools = place.conversation.messages, place.conversation.tools
    number = next((each for each, reply in enumerate(place.origin.replies) if reply.at == at), None)
    if number is None or number not in place.own or at == len(said) - 1:
        return
    time = place.origin.replies[number].time
    for other in part.document.places:
        if other is place or other.kind not in _OF_PERSONS or other.conversation.tools != tools:
            continue
        messages = other.conversation.messages
        reply = next((each for each in other.origin.replies if each.at == at), None)
        if reply is None or messages[at] == said[at] or messages[:at] != said[:at]:
            continue
        if at == len(messages) - 1:
            yield "regenerated", (reply.line, messages[at])
        elif time is not None and other.ends[0] and other.ends[0] < time:
            yield "rewound", (reply.line, messages[at])
