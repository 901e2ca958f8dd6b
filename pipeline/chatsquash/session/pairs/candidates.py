"""Find candidates for preference pairs: resampled, abandoned or corrected replies, and one of several choices."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from itertools import islice
from typing import Generic, NamedTuple, TypeVar

from msgspec import Struct

from chatsquash.core import jsonio
from chatsquash.core.model import Entry
from chatsquash.core.options import Options
from chatsquash.reading.choices import of_raw
from chatsquash.session.agents import DocumentPart
from chatsquash.session.conversations import entries_of, find_steps
from chatsquash.session.pairs import Candidate, LoggedAnswer, PairKind, RepairStep, counterfactual, results_in
from chatsquash.session.samples import Reread, snapshot_of, truncate_snapshot
from chatsquash.session.session import Session, Snapshot
from chatsquash.trees.documents import FilePath, paths_of
from chatsquash.trees.kinds import conversations
from chatsquash.trees.loss import LABEL, OTHER_MODEL, REASONS, TRUNCATED_REPLY, judge_of
from chatsquash.trees.paths import OF_USERS
from chatsquash.trees.replies import Reply
from chatsquash.trees.trees import Trees

T = TypeVar("T")
_CHOICES = ("choices", "candidates")
"""The fields of responses that contain several replies."""
_OF_OPTIONS = {"", LABEL, OTHER_MODEL, *REASONS.values()} - {TRUNCATED_REPLY}
"""The reasons for not training on a reply that may be the rejected one of a pair."""


class _Alternative(Struct, Generic[T]):
    """One of several replies to the same request."""

    reply: T
    content: int
    """A number that is equal for equal replies."""
    ends: tuple[int, ...]
    """The last reply that continues it, as a sort key: later replies are greater."""
    is_continued: bool


def _continued_last(group: Collection[_Alternative[T]]) -> _Alternative[T] | None:
    """Return the reply that was continued last, or ``None`` if there is only one reply."""
    continued = [each for each in group if each.is_continued]
    return max(continued, key=lambda each: each.ends) if continued and len(group) > 1 else None


def _rejected(
    group: Iterable[_Alternative[T]], preferred: _Alternative[T], begin: int | None
) -> Iterator[tuple[PairKind, T]]:
    """Yield the replies that were rejected in favor of another one; ``begin`` is its time or position in the log."""
    for other in group:
        if other.content == preferred.content:
            continue
        if not other.is_continued:
            yield "regenerated", other.reply
        elif begin is not None and other.ends[0] and other.ends < (begin,):  # the user returned to an earlier message
            yield "rewound", other.reply


class _ReplyPair(NamedTuple):
    """A pair of replies whose requests have not been read yet."""

    kind: PairKind
    preferred: Reply
    rejected: Reply


def log_candidates(session: Session, reread: Reread, options: Options) -> Iterator[Candidate]:
    """Yield the candidates of a session in a gateway log."""
    trees = session.growth.branch()
    paths = conversations(trees)
    find_steps(trees, paths, options)
    kinds = {reply.number: path.kind for path in paths for reply in path.own}
    judge = judge_of(options)
    exclusion_reasons = judge.reasons(trees)
    usable = [reply for reply in trees.replies if not exclusion_reasons[reply.number] and not reply.is_retried]

    def is_preferable(reply: Reply) -> bool:
        """Return whether the options allow training on a reply."""
        return reply.weight != 0 and not judge.exclusion(reply)

    users_replies = [each for each in usable if kinds.get(each.number) in OF_USERS]
    sampled_again = [each for each in _sampled_again(users_replies, trees.replies) if is_preferable(each.preferred)]
    replies_to_read = {reply.number: reply for each in sampled_again for reply in (each.preferred, each.rejected)}
    steps = [*_steps(usable)] if options.pairs == "counterfactual" else []
    steps = [each for each in steps if is_preferable(each.preferred)]
    replies_to_read |= {each.preferred.parent.number: each.preferred.parent for each in steps if each.preferred.parent}
    entries = {reply.number: entry for reply, entry in entries_of(replies_to_read.values(), session, reread)}
    for each in sampled_again:
        if candidate := _one_request(each, entries):
            yield candidate
    several = {reply.line: reply for reply in usable if reply.line in session.growth.several and is_preferable(reply)}
    if several:
        for reply, entry in entries_of(several.values(), session, reread):
            yield from _choices(reply, entry, trees)
    for each in steps:
        if (previous_entry := entries.get(each.rejected.number)) is not None:
            snapshot = snapshot_of(each.rejected.path(), previous_entry)
            yield Candidate(each.kind, snapshot, _answer(each.preferred), _answer(each.rejected))


def _answer(reply: Reply) -> LoggedAnswer:
    return LoggedAnswer(reply.message, reply.line)


def _sampled_again(replies: list[Reply], all_replies: list[Reply]) -> Iterator[_ReplyPair]:
    """Yield pairs of replies to the same request, one of which was continued last."""
    # The last reply that continues each reply.
    ends = {reply.number: reply.number for reply in all_replies}
    for reply in reversed(all_replies):
        if reply.parent:
            ends[reply.parent.number] = max(ends[reply.parent.number], ends[reply.number])
    groups: dict[tuple[int, int], list[_Alternative[Reply]]] = {}
    for reply in replies:
        group = groups.setdefault((reply.request_chain, reply.parent.number if reply.parent else -1), [])
        group.append(_Alternative(reply, reply.content_number, (ends[reply.number],), reply.children > 0))
    for group in groups.values():
        if preferred := _continued_last(group):
            for kind, other in _rejected(group, preferred, preferred.reply.number):
                yield _ReplyPair(kind, preferred.reply, other)


def _one_request(each: _ReplyPair, entries: dict[int, Entry]) -> Candidate | None:
    """Return a candidate if the requests of both replies are equal, not merely equivalent."""
    entry, other_entry = entries.get(each.preferred.number), entries.get(each.rejected.number)
    if (
        entry is None
        or other_entry is None
        or entry.messages != other_entry.messages
        or entry.tools != other_entry.tools
    ):
        return None
    return Candidate(
        each.kind, snapshot_of(each.preferred.path(), entry), _answer(each.preferred), _answer(each.rejected)
    )


def _steps(replies: list[Reply]) -> Iterator[_ReplyPair]:
    """Yield replies that correct a call of the previous reply or follow a denied one, each with that reply."""
    later: dict[int, list[Reply]] = {}
    for reply in replies:
        if reply.parent:
            later.setdefault(reply.parent.number, []).append(reply)
    numbers = {reply.number for reply in replies}
    for reply in replies:
        before = reply.parent
        if before is None or before.number not in numbers or not before.message.get("tool_calls"):
            continue
        answers = [*results_in(message for each in later.get(reply.number, ()) for message in each.new_messages)]
        kind = counterfactual(RepairStep(before.message, [*results_in(reply.new_messages)], reply.message, answers))
        if kind:
            yield _ReplyPair(kind, reply, before)


def _choices(reply: Reply, entry: Entry, trees: Trees) -> Iterator[Candidate]:
    """Yield the choices of a response if a later request contains one of them."""
    choices = [choice.message for choice in of_raw(entry.reply.raw)]
    canon = trees.requests.canon
    numbers = [canon.number(message) if message else None for message in choices]
    chosen_at = reply.choice if reply.children else _continued_choice(reply, numbers, trees.replies)
    if chosen_at is None or choices[chosen_at] is None:
        return
    snapshot = snapshot_of(reply.path(), entry)
    for at, message in enumerate(choices):
        if message is not None and numbers[at] != numbers[chosen_at]:
            preferred = LoggedAnswer(choices[chosen_at] or reply.message, reply.line, chosen_at + 1)
            yield Candidate("choice", snapshot, preferred, LoggedAnswer(message, reply.line, at + 1))


def _continued_choice(reply: Reply, numbers: Iterable[int | None], replies: list[Reply]) -> int | None:
    """Return the choice that a later request continues, if that request has no other logged reply."""
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
    """The alternative replies in a file; each message of a conversation is processed once."""

    def __init__(self, places: list[FilePath]) -> None:
        self._numbers: dict[bytes, int] = {}
        self._nodes: dict[tuple[int, int], int] = {}
        """The prefixes of conversations, each identified by the prefix before its last message and that message."""
        self._groups: dict[int, dict[int, _Alternative[LoggedAnswer]]] = {}
        self._paths: dict[int, list[int]] = {}
        """For each conversation its prefixes, from the empty one to all messages."""
        self._begins: dict[int, int | None] = {}
        """The time of each reply, by its prefix."""
        self._preferences: dict[int, dict[int, tuple[PairKind, bool]]] = {}
        """The replies of each group that belong to pairs, as far as they were requested."""
        for place in places:
            if place.kind in OF_USERS:
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
            self._begins.setdefault(node, reply.time)
            known.ends = max(known.ends, place.ends)
            known.is_continued |= reply.at < len(messages) - 1

    def _node(self, before: int, value: object) -> int:
        number = self._numbers.setdefault(jsonio.dumps(value, sort_keys=True), len(self._numbers))
        return self._nodes.setdefault((before, number), len(self._nodes))

    def preference(self, place: FilePath, at: int) -> tuple[PairKind, bool] | None:
        """Return the kind of a pair that a reply belongs to, and whether it is the preferred one."""
        path = self._paths.get(place.number, [])
        if at + 1 >= len(path):
            return None
        if path[at] not in self._preferences:
            self._preferences[path[at]] = dict(self._in_group(self._groups.get(path[at], {}).values()))
        return self._preferences[path[at]].get(path[at + 1])

    def _in_group(self, group: Collection[_Alternative[LoggedAnswer]]) -> Iterator[tuple[int, tuple[PairKind, bool]]]:
        """Yield the prefix of each reply in a pair, with the kind of the pair and whether it is preferred."""
        preferred = _continued_last(group)
        if preferred is None:
            return
        begin = self._begins.get(preferred.content)
        for each in group:
            for kind, _ in _rejected([each], preferred, begin):
                yield each.content, (kind, False)
        for kind, _ in islice(_rejected(group, preferred, begin), 1):
            yield preferred.content, (kind, True)

    def rejected(self, place: FilePath, at: int, time: int | None) -> Iterator[tuple[PairKind, LoggedAnswer]]:
        """Yield the other replies to the same request, if this reply is the one that was continued last."""
        path = self._paths[place.number]
        group = self._groups.get(path[at], {}).values()
        preferred = _continued_last(group)
        return _rejected(group, preferred, time) if preferred and preferred.content == path[at + 1] else iter(())


_last: tuple[list[FilePath], _Alternatives] | None = None
"""The alternatives of the last file, cached for its other conversations."""


def _alternatives(places: list[FilePath]) -> _Alternatives:
    """Return the alternatives of the conversations in a file."""
    global _last  # noqa: PLW0603 - remembers one file
    if _last is None or _last[0] is not places:
        _last = places, _Alternatives(places)
    return _last[1]


def resampled(session: Session, reread: Reread, options: Options) -> dict[int | None, tuple[PairKind, bool]]:
    """Return the kind of pair of each reply of a log that was sampled again, and whether it is preferred, by line."""
    preferences: dict[int | None, tuple[PairKind, bool]] = {}
    for each in log_candidates(session, reread, options):
        if each.kind != "choice":  # the other choices of a response are not replies of the log
            preferences.setdefault(each.preferred.line, (each.kind, True))
            preferences.setdefault(each.rejected.line, (each.kind, False))
    return preferences


def resampled_in_file(part: DocumentPart, length: int) -> Callable[[int], tuple[PairKind, bool] | None]:
    """Return the same for a conversation of a file with ``length`` messages, as a function of the position."""
    place = part.place
    # If messages were removed, positions in the record are not those in the file.
    if place.kind not in OF_USERS or len(place.conversation.messages) != length:
        return lambda _: None
    alternatives = _alternatives(paths_of(part.document))
    return lambda at: alternatives.preference(place, at)


def document_candidates(part: DocumentPart, snapshot: Snapshot) -> Iterator[Candidate]:
    """Yield the candidates whose preferred reply is in the conversation, with their context in the file."""
    place, messages = part.place, snapshot.entry.messages
    replies = {each.at: each for each in (snapshot.entry.origin.replies if snapshot.entry.origin else ())}
    placement = part.placement(snapshot)
    assert placement
    marks = dict(zip(placement.assistants, part.marks(snapshot, placement), strict=True))
    usable = sorted(at for at in replies if at is not None and at in marks and marks[at].why in _OF_OPTIONS)
    preferable = {at for at in usable if not marks[at].why}
    lines = {at: reply.line for at, reply in replies.items()}
    times = {reply.evidence.at: reply.evidence.time for reply in place.own}
    for at in usable if place.kind in OF_USERS else ():
        if at not in times or at not in preferable:
            continue
        for kind, rejected in _alternatives(paths_of(part.document)).rejected(place, at, times[at]):
            yield Candidate(
                kind, truncate_snapshot(snapshot, messages[:at]), LoggedAnswer(messages[at], lines[at]), rejected
            )
    nexts = zip(usable, usable[1:], [*usable[2:], len(messages)], strict=False)
    for before, at, after in nexts if part.options.pairs == "counterfactual" else ():
        if at not in preferable:
            continue
        between, after_reply = [*results_in(messages[before + 1 : at])], [*results_in(messages[at + 1 : after])]
        if kind_of_step := counterfactual(RepairStep(messages[before], between, messages[at], after_reply)):
            answers = LoggedAnswer(messages[at], lines[at]), LoggedAnswer(messages[before], lines[before])
            yield Candidate(kind_of_step, truncate_snapshot(snapshot, messages[:before]), *answers)
