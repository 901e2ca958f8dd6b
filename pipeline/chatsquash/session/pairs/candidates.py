"""Candidates for preference pairs: replies that were sampled again, abandoned, chosen among several, or corrected."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Generic, NamedTuple, TypeVar

from msgspec import Struct

from chatsquash.core import jsonio
from chatsquash.core.model import Entry
from chatsquash.reading.choices import of_raw
from chatsquash.session.agents import DocumentPart
from chatsquash.session.conversations import entries_of
from chatsquash.session.pairs import Candidate, LoggedAnswer, PairKind, RepairStep, counterfactual, results_in
from chatsquash.session.sample_records import snapshot_of
from chatsquash.session.samples import Reread, alone
from chatsquash.session.session import Session, Snapshot
from chatsquash.trees.documents import FilePath, paths_of
from chatsquash.trees.kinds import conversations
from chatsquash.trees.loss import Judge
from chatsquash.trees.paths import OF_PERSONS
from chatsquash.trees.replies import Reply
from chatsquash.trees.trees import Trees

T = TypeVar("T")
_CHOICES = ("choices", "candidates")
"""The members of responses that hold several replies."""


class _Alternative(Struct, Generic[T]):
    """A reply among those to one request."""

    reply: T
    said: int
    """What it is the same by among them."""
    ends: tuple[int, ...]
    """The last of what continues it: the greater, the later."""
    is_continued: bool


def _continued(group: Collection[_Alternative[T]]) -> _Alternative[T] | None:
    """The reply that was continued last; ``None`` if there is no other one."""
    continued = [each for each in group if each.is_continued]
    return max(continued, key=lambda each: each.ends) if continued and len(group) > 1 else None


def _rejected(
    group: Iterable[_Alternative[T]], chosen: _Alternative[T], begin: int | None
) -> Iterator[tuple[PairKind, T]]:
    """The replies that another one, which was logged at a time or place, was preferred to."""
    for other in group:
        if other.said == chosen.said:
            continue
        if not other.is_continued:
            yield "regenerated", other.reply
        elif begin is not None and other.ends[0] and other.ends < (begin,):  # which was gone back from
            yield "rewound", other.reply


class _ReplyPair(NamedTuple):
    """A pair of replies of which the requests are not at hand yet."""

    kind: PairKind
    chosen: Reply
    rejected: Reply


def log_candidates(session: Session, reread: Reread, *, counterfactuals: bool) -> Iterator[Candidate]:
    """Those of a session in a log of exchanges."""
    trees = session.growth.branch()
    paths = conversations(trees)
    kinds = {reply.number: path.kind for path in paths for reply in path.own}
    whys = Judge().reasons(trees)
    whole = [reply for reply in trees.replies if not whys[reply.number] and not reply.is_retried]
    sampled_again = [*_sampled_again([each for each in whole if kinds.get(each.number) in OF_PERSONS], trees.replies)]
    wanted = {reply.number: reply for each in sampled_again for reply in (each.chosen, each.rejected)}
    steps = [*_steps(whole)] if counterfactuals else []
    wanted |= {each.chosen.parent.number: each.chosen.parent for each in steps if each.chosen.parent}
    entries = {reply.number: entry for reply, entry in entries_of(wanted.values(), session, reread)}
    for each in sampled_again:
        if both := _one_request(each, entries):
            yield both
    several = {reply.line: reply for reply in whole if reply.line in session.growth.several}
    if several:
        for reply, entry in entries_of(several.values(), session, reread):
            yield from _choices(reply, entry, trees)
    for each in steps:
        if (asked := entries.get(each.rejected.number)) is not None:
            snapshot = snapshot_of(each.rejected.path(), asked)
            yield Candidate(each.kind, snapshot, _answered_by(each.chosen), _answered_by(each.rejected))


def _answered_by(reply: Reply) -> LoggedAnswer:
    return LoggedAnswer(reply.message, reply.line)


def _sampled_again(replies: list[Reply], every: list[Reply]) -> Iterator[_ReplyPair]:
    """Replies to one request of which one was gone on from last."""
    ends = {reply.number: reply.number for reply in every}
    """The last reply that goes on from each."""
    for reply in reversed(every):
        if reply.parent:
            ends[reply.parent.number] = max(ends[reply.parent.number], ends[reply.number])
    groups: dict[tuple[int, int], list[_Alternative[Reply]]] = {}
    for reply in replies:
        group = groups.setdefault((reply.request_chain, reply.parent.number if reply.parent else -1), [])
        group.append(_Alternative(reply, reply.content_number, (ends[reply.number],), reply.children > 0))
    for group in groups.values():
        if chosen := _continued(group):
            for kind, other in _rejected(group, chosen, chosen.reply.number):
                yield _ReplyPair(kind, chosen.reply, other)


def _one_request(each: _ReplyPair, entries: dict[int, Entry]) -> Candidate | None:
    """Two replies whose requests are equal, not only the same."""
    kept, other = entries.get(each.chosen.number), entries.get(each.rejected.number)
    if kept is None or other is None or kept.messages != other.messages or kept.tools != other.tools:
        return None
    return Candidate(
        each.kind, snapshot_of(each.chosen.path(), kept), _answered_by(each.chosen), _answered_by(each.rejected)
    )


def _steps(replies: list[Reply]) -> Iterator[_ReplyPair]:
    """Replies that correct a call of the one before them, or go on where it was denied."""
    later: dict[int, list[Reply]] = {}
    for reply in replies:
        if reply.parent:
            later.setdefault(reply.parent.number, []).append(reply)
    whole = {reply.number for reply in replies}
    for reply in replies:
        before = reply.parent
        if before is None or before.number not in whole or not before.message.get("tool_calls"):
            continue
        answers = [*results_in(message for each in later.get(reply.number, ()) for message in each.new_messages)]
        kind = counterfactual(RepairStep(before.message, [*results_in(reply.new_messages)], reply.message, answers))
        if kind:
            yield _ReplyPair(kind, reply, before)


def _choices(reply: Reply, entry: Entry, trees: Trees) -> Iterator[Candidate]:
    """The choices of a response, of which a later request holds one."""
    choices = [choice.message for choice in of_raw(entry.reply.raw)]
    canon = trees.requests.canon
    numbers = [canon.number(message) if message else None for message in choices]
    chosen_at = reply.choice if reply.children else _choice_continued(reply, numbers, trees.replies)
    if chosen_at is None or choices[chosen_at] is None:
        return
    snapshot = snapshot_of(reply.path(), entry)
    for at, message in enumerate(choices):
        if message is not None and numbers[at] != numbers[chosen_at]:
            chosen = LoggedAnswer(choices[chosen_at] or reply.message, reply.line, chosen_at + 1)
            yield Candidate("choice", snapshot, chosen, LoggedAnswer(message, reply.line, at + 1))


def _choice_continued(reply: Reply, numbers: Iterable[int | None], replies: list[Reply]) -> int | None:
    """Which of the choices a later request goes on from, that has no logged reply in its place."""
    known = {number: at for at, number in reversed([*enumerate(numbers)]) if number is not None}
    place = len(reply.new_numbers)
    for later in replies[reply.number + 1 :]:
        if (
            later.parent is reply.parent
            and later.new_numbers[:place] == reply.new_numbers
            and len(later.new_numbers) > place
        ):
            place_there = known.get(later.new_numbers[place])
            if place_there is not None:
                return place_there
    return None


class _Alternatives:
    """Those of a file; of each conversation it is looked at each message once."""

    def __init__(self, places: list[FilePath]) -> None:
        self._numbers: dict[bytes, int] = {}
        self._nodes: dict[tuple[int, int], int] = {}
        """The beginnings of conversations, each by the one before its last message, and what that says."""
        self._groups: dict[int, dict[int, _Alternative[LoggedAnswer]]] = {}
        self._paths: dict[int, list[int]] = {}
        """Of each conversation the beginnings, with none, one, two and so on of its messages."""
        for place in places:
            if place.kind in OF_PERSONS:
                self._take(place)

    def _take(self, place: FilePath) -> None:
        messages = place.conversation.messages
        path = self._paths[place.number] = [self._node(-1, place.conversation.tools)]
        for message in messages:
            path.append(self._node(path[-1], message))
        for reply in place.origin.replies:
            if reply.at is None:
                continue
            group = self._groups.setdefault(path[reply.at], {})
            node, answer = path[reply.at + 1], LoggedAnswer(messages[reply.at], reply.line)
            known = group.setdefault(node, _Alternative(answer, node, place.ends, False))
            known.ends = max(known.ends, place.ends)
            known.is_continued |= reply.at < len(messages) - 1

    def _node(self, before: int, value: object) -> int:
        number = self._numbers.setdefault(jsonio.dumps(value, sort_keys=True), len(self._numbers))
        return self._nodes.setdefault((before, number), len(self._nodes))

    def rejected(self, place: FilePath, at: int, time: int | None) -> Iterator[tuple[PairKind, LoggedAnswer]]:
        """The other replies to what a reply answers, if that is the one that was continued last."""
        path = self._paths[place.number]
        group = self._groups.get(path[at], {}).values()
        chosen = _continued(group)
        return _rejected(group, chosen, time) if chosen and chosen.said == path[at + 1] else iter(())


_last: tuple[list[FilePath], _Alternatives] | None = None
"""Those of the file that was looked at last, for its other conversations."""


def _alternatives(places: list[FilePath]) -> _Alternatives:
    """Those of the conversations of a file."""
    global _last  # noqa: PLW0603 - remembers one file
    if _last is None or _last[0] is not places:
        _last = places, _Alternatives(places)
    return _last[1]


def document_candidates(part: DocumentPart, snapshot: Snapshot, *, counterfactuals: bool) -> Iterator[Candidate]:
    """Those whose chosen reply is in the conversation, with the context that the file has of it."""
    place, messages = part.place, snapshot.entry.messages
    replies = {each.at: each for each in (snapshot.entry.origin.replies if snapshot.entry.origin else ())}
    placement = part.placement(snapshot)
    assert placement
    marks = dict(zip(placement.assistants, part.marks(snapshot, placement), strict=True))
    whole = sorted(at for at in replies if at is not None and at in marks and not marks[at].why)
    lines = {at: reply.line for at, reply in replies.items()}
    times = {reply.evidence.at: reply.evidence.time for reply in place.own}
    for at in whole if place.kind in OF_PERSONS else ():
        if at not in times:
            continue
        for kind, rejected in _alternatives(paths_of(part.document)).rejected(place, at, times[at]):
            yield Candidate(kind, alone(snapshot, messages[:at]), LoggedAnswer(messages[at], lines[at]), rejected)
    nexts = zip(whole, whole[1:], [*whole[2:], len(messages)], strict=False)
    for before, at, after in nexts if counterfactuals else ():
        between, behind = [*results_in(messages[before + 1 : at])], [*results_in(messages[at + 1 : after])]
        if kind_of_step := counterfactual(RepairStep(messages[before], between, messages[at], behind)):
            both = LoggedAnswer(messages[at], lines[at]), LoggedAnswer(messages[before], lines[before])
            yield Candidate(kind_of_step, alone(snapshot, messages[:before]), *both)
