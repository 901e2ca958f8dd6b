"""Candidates for preference pairs: replies that were sampled again, abandoned, chosen among several, or corrected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from chatsquash.core import jsonio
from chatsquash.core.model import Entry, Message, OriginReply
from chatsquash.formats import named
from chatsquash.reading import replies as responses
from chatsquash.session.agents import Part
from chatsquash.session.conversations import entries_of
from chatsquash.session.pairs import Candidate, LoggedAnswer, PairKind, Step, counterfactual, results_in
from chatsquash.session.sampled import snapshot_of
from chatsquash.session.samples import Reread, alone
from chatsquash.session.session import Session, Snapshot
from chatsquash.trees.documents import FilePath, paths_of
from chatsquash.trees.kinds import conversations
from chatsquash.trees.loss import Judge
from chatsquash.trees.paths import OF_PERSONS
from chatsquash.trees.replies import Reply
from chatsquash.trees.trees import Trees

_CHOICES = ("choices", "candidates")
"""The members of responses that hold several replies."""


class _ReplyPair(Struct, frozen=True):
    """A pair of replies of which the requests are not at hand yet."""

    kind: PairKind
    chosen: Reply
    rejected: Reply


def log_candidates(session: Session, form: str, reread: Reread, *, counterfactuals: bool) -> Iterator[Candidate]:
    """Those of a session whose bodies are of a format."""
    trees = session.followed.branch()
    paths = conversations(trees)
    kinds = {reply.number: path.kind for path in paths for reply in path.own}
    whys = Judge().whys(trees)
    whole = [reply for reply in trees.replies if not whys[reply.number] and not reply.is_retried]
    sampled_again = [*_sampled_again([each for each in whole if kinds.get(each.number) in OF_PERSONS], trees.replies)]
    wanted = {reply.number: reply for each in sampled_again for reply in (each.chosen, each.rejected)}
    steps = [*_steps(whole)] if counterfactuals else []
    wanted |= {each.chosen.parent.number: each.chosen.parent for each in steps if each.chosen.parent}
    entries = {reply.number: entry for reply, entry in entries_of(wanted.values(), session, reread)}
    for each in sampled_again:
        if both := _one_request(each, entries):
            yield both
    several = {reply.line: reply for reply in whole if reply.line in session.followed.several}
    if several:
        for reply, entry in entries_of(several.values(), session, reread):
            yield from _choices(reply, entry, form, trees)
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
    groups: dict[tuple[int, int], list[Reply]] = {}
    for reply in replies:
        groups.setdefault((reply.asked, reply.parent.number if reply.parent else -1), []).append(reply)
    for group in groups.values():
        continued = [reply for reply in group if reply.children]
        if len(group) < 2 or not continued:
            continue
        kept = max(continued, key=lambda reply: ends[reply.number])
        for other in group:
            if other is kept or other.said == kept.said:
                continue
            if not other.children:
                yield _ReplyPair("regenerated", kept, other)
            elif ends[other.number] < kept.number:  # which was gone back from
                yield _ReplyPair("rewound", kept, other)


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
        answers = [*results_in(message for each in later.get(reply.number, ()) for message in each.behind)]
        kind = counterfactual(Step(before.message, [*results_in(reply.behind)], reply.message, answers))
        if kind:
            yield _ReplyPair(kind, reply, before)


def _choices(reply: Reply, entry: Entry, form: str, trees: Trees) -> Iterator[Candidate]:
    """The choices of a response, of which a later request holds one."""
    choices = _said(entry, form)
    canon = trees.requests.canon
    numbers = [canon.number(message) if message else None for message in choices]
    chosen_at = 0 if reply.children else _choice_continued(reply, numbers, trees.replies)
    if chosen_at is None or choices[chosen_at] is None:
        return
    snapshot = snapshot_of(reply.path(), entry)
    for at, message in enumerate(choices):
        if message is not None and numbers[at] != numbers[chosen_at]:
            chosen = LoggedAnswer(choices[chosen_at] or reply.message, reply.line, chosen_at + 1)
            yield Candidate("choice", snapshot, chosen, LoggedAnswer(message, reply.line, at + 1))


def _said(entry: Entry, form: str) -> list[Message | None]:
    """The message of each choice of a response; nothing where that is none with several."""
    try:
        body: Any = responses.unwrapped(jsonio.loads(entry.reply.raw))
    except (ValueError, RecursionError):
        return []
    member = next((name for name in _CHOICES if isinstance(body, dict) and isinstance(body.get(name), list)), None)
    if member is None:
        return []
    return [named(form).reply({**body, member: [choice]}).message for choice in body[member]]


def _choice_continued(reply: Reply, numbers: Iterable[int | None], replies: list[Reply]) -> int | None:
    """Which of the choices a later request goes on from, that has no logged reply in its place."""
    known = {number: at for at, number in reversed([*enumerate(numbers)]) if number is not None}
    place = len(reply.added)
    for later in replies[reply.number + 1 :]:
        if later.parent is reply.parent and later.added[:place] == reply.added and len(later.added) > place:
            place_there = known.get(later.added[place])
            if place_there is not None:
                return place_there
    return None


class Alternative(Struct):
    """A reply to some messages, in the first conversation that has it."""

    place: FilePath
    reply: OriginReply
    ends: tuple[int, int, int]
    """Of the last of the conversations that go on from it."""
    is_gone_on: bool


class Alternatives:
    """Those of a file; of each conversation it is looked at each message once."""

    def __init__(self, places: list[FilePath]) -> None:
        self._numbers: dict[bytes, int] = {}
        self._nodes: dict[tuple[int, int], int] = {}
        """The beginnings of conversations, each by the one before its last message, and what that says."""
        self._groups: dict[int, dict[int, Alternative]] = {}
        self._paths: dict[int, list[int]] = {}
        """Of each conversation the beginnings, with none, one, two and so on of its messages."""
        for place in places:
            if place.kind in OF_PERSONS:
                self._take(place)

    def _take(self, place: FilePath) -> None:
        said = place.conversation
        path = self._paths[place.number] = [self._node(-1, said.tools)]
        for message in said.messages:
            path.append(self._node(path[-1], message))
        for reply in place.origin.replies:
            if reply.at is None:
                continue
            group = self._groups.setdefault(path[reply.at], {})
            known = group.setdefault(path[reply.at + 1], Alternative(place, reply, place.ends, False))
            known.ends = max(known.ends, place.ends)
            known.is_gone_on |= reply.at < len(said.messages) - 1

    def _node(self, before: int, value: object) -> int:
        number = self._numbers.setdefault(jsonio.dumps(value, sort_keys=True), len(self._numbers))
        return self._nodes.setdefault((before, number), len(self._nodes))

    def of(self, place: FilePath, at: int) -> list[Alternative]:
        """The other replies to what a reply stands behind, if that is the one that was gone on from last."""
        path = self._paths[place.number]
        group = self._groups.get(path[at], {})
        gone_on = [node for node, each in group.items() if each.is_gone_on]
        if len(group) < 2 or not gone_on or max(gone_on, key=lambda node: group[node].ends) != path[at + 1]:
            return []
        return [each for node, each in group.items() if node != path[at + 1]]


_last: tuple[list[FilePath], Alternatives] | None = None
"""Those of the file that was looked at last, for its other conversations."""


def alternatives(places: list[FilePath]) -> Alternatives:
    """Those of the conversations of a file."""
    global _last  # noqa: PLW0603 - remembers one file
    if _last is None or _last[0] is not places:
        _last = places, Alternatives(places)
    return _last[1]


def document_candidates(part: Part, snapshot: Snapshot, *, counterfactuals: bool) -> Iterator[Candidate]:
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
        for kind, rejected in _others(part, at, times[at]) if at in times else ():
            yield Candidate(kind, alone(snapshot, messages[:at]), LoggedAnswer(messages[at], lines[at]), rejected)
    nexts = zip(whole, whole[1:], [*whole[2:], len(messages)], strict=False)
    for before, at, after in nexts if counterfactuals else ():
        between, behind = [*results_in(messages[before + 1 : at])], [*results_in(messages[at + 1 : after])]
        if kind_of_step := counterfactual(Step(messages[before], between, messages[at], behind)):
            both = LoggedAnswer(messages[at], lines[at]), LoggedAnswer(messages[before], lines[before])
            yield Candidate(kind_of_step, alone(snapshot, messages[:before]), *both)


def _others(part: Part, at: int, time: int | None) -> Iterator[tuple[PairKind, LoggedAnswer]]:
    """The replies of the file behind the same messages as one of this conversation, which was kept at a time."""
    for other in alternatives(paths_of(part.document)).of(part.place, at):
        said = LoggedAnswer(other.place.conversation.messages[at], other.reply.line)
        if not other.is_gone_on:
            yield "regenerated", said
        elif time is not None and other.ends[0] and other.ends[0] < time:
            yield "rewound", said
