"""Locate the replies of each path in the records, and determine the outcome of every logged reply."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Generic, Literal

from msgspec import Struct
from msgspec.structs import replace

from chatsquash.core import chat
from chatsquash.core.accounting import ELSEWHERE, ReplyEvidence, ReplyOutcome, ReplyPlace
from chatsquash.core.model import Mark, Message, OriginReply
from chatsquash.core.text import plain_id
from chatsquash.trees.coverage import fate
from chatsquash.trees.paths import AnyPath, GrowingRequest, LoggedReply, P, R
from chatsquash.trees.translation import is_translated

if TYPE_CHECKING:
    from chatsquash.trees.canonical import Canon
    from chatsquash.trees.documents import FilePath
    from chatsquash.trees.replies import LogPath, Reply
    from chatsquash.trees.trees import Trees

WHY = {"branch": "branch", "subagent": "subagent", "side": "side-request"}
"""Reasons why replies of unselected conversations are lost, by conversation kind."""
_MAX_TIME = 1 << 62
"""The number of nanoseconds from which a time is dropped, because journals cannot contain longer integers."""


class ReplyPosition(Struct, frozen=True, gc=False):
    """The position of a reply among the messages of a record."""

    ordinal: int
    """Its index among the assistant messages."""
    is_rewritten: bool
    """Whether the message is worded differently from the logged reply."""


class Placement(Struct, Generic[P], frozen=True):
    """A selected path, the positions of its replies among the messages, and its record."""

    path: P
    messages: list[Message]
    """The messages of the record: those of a request, and the reply to it."""
    assistants: list[int]
    """The indices of the assistant messages."""
    positions: dict[int, ReplyPosition]
    """The positions of the replies, by reply number."""
    record: int | None = None
    """The index of its record in the session."""
    why: str | None = None
    """The reason it has no record: ``refused``, ``filtered`` or ``duplicate``."""
    marks: dict[int, Mark] | None = None
    """The first mark of each assistant message in the record, if marks were requested."""

    @property
    def all_ordinals(self) -> range:
        """The ordinals of all assistant messages."""
        return range(len(self.assistants))

    @property
    def has_all(self) -> bool:
        """Whether its record contains every assistant message."""
        return self.record is not None and (self.marks is None or len(self.marks) == len(self.all_ordinals))

    @property
    def written_ordinals(self) -> Container[int]:
        """The ordinals of the assistant messages that the record contains."""
        if self.record is None:
            return ()
        return self.all_ordinals if self.marks is None else self.marks

    def message(self, reply: int) -> Message:
        """Return the message at the position of a reply."""
        return self.messages[self.assistants[self.positions[reply].ordinal]]


def reply_outcomes(
    trees: Trees, paths: list[LogPath], placements: list[Placement[LogPath]], ids: dict[int, str]
) -> list[ReplyOutcome]:
    """Return the outcome of every reply, in line order; ``ids`` are conversation ids by the ``id()`` of the path."""
    owners = {reply.number: path for path in paths for reply in path.own}
    paths_by_request = {reply.request_chain: owners[reply.number] for reply in trees.replies if reply.number in owners}
    # The reply to a repeated request belongs to the conversation of the other reply.
    replies = [
        (reply, owners.get(reply.number) or paths_by_request.get(reply.request_chain)) for reply in trees.replies
    ]
    names = {id(path): (ids[id(path)], ids.get(id(path.parent)) if path.parent else None) for path in paths}
    earlier = _earlier_in_chain(paths, {id(each.path) for each in placements if each.why != "refused"})
    rows = outcomes(replies, owners, placements, names, lambda _, path: loss_of(path, earlier))
    rows = with_evidence(rows, trees.replies)
    for repeat in trees.repeats:
        row = rows[repeat.by.number]
        if repeat.is_same_response:
            rows.append(ReplyOutcome(repeat.line, "retry", "lost", "retry", row.conversation, row.parent))
        else:
            rows.append(ReplyOutcome(repeat.line, "branch", "lost", "duplicate", row.conversation, row.parent))
    return sorted(rows, key=lambda row: row.line)


def outcomes(
    replies: Iterable[tuple[R, P | None]],
    owners: dict[int, P],
    placements: list[Placement[P]],
    names: dict[int, tuple[str, str | None]],
    why: Callable[[R, P | None], str],
) -> list[ReplyOutcome]:
    """Return the outcomes of replies.

    Args:
        replies: The replies, each with the path it belongs to.
        owners: The path of each reply by its number.
        placements: The selected paths.
        names: The conversation ids of each path and its parent, keyed by the ``id()`` of the path.
        why: Returns the reason why a reply that is in none of the placements is lost.
    """
    bearing = counting_placements(placements, [each.written_ordinals for each in placements], owners)
    holders = _holders(placements)
    rows: list[ReplyOutcome] = []
    for reply, path in replies:
        number = reply.number
        each = placements[bearing[number]] if number in bearing else None
        message = each.message(number) if each and each.record is not None else None
        name, parent = names[id(path)] if path else ("", None)
        kind = "retry" if reply.is_retried else "copy" if reply.is_copy else path.kind if path else "branch"
        reasoning = fate(reply.message, message)
        if not each or each.record is None:
            repeat_reason = "retry" if reply.is_retried else ELSEWHERE if reply.is_copy else None
            reason = repeat_reason or (each.why if each else why(reply, path))
            row = ReplyOutcome(reply.line, kind, "lost", reason, name, parent, reasoning=reasoning)
        elif number not in holders:
            # The conversation has a record, but the message was removed from every record.
            row = ReplyOutcome(reply.line, kind, "lost", "cut", name, parent, reasoning=reasoning)
        else:
            (record, status, index, untrained), others = _places(reply, each, holders[number])
            place = record, index, int(untrained == "")
            row = ReplyOutcome(reply.line, kind, status, None, name, parent, *place, reasoning, others)
            if untrained:
                row = replace(row, untrained=untrained)
        if reply.labels or reply.scores or reply.facts:
            row = replace(row, labels=reply.labels, scores=reply.scores, facts=reply.facts)
        rows.append(row)
    return rows


def with_evidence(rows: list[ReplyOutcome], replies: Iterable[LoggedReply]) -> list[ReplyOutcome]:
    """Return the outcomes of replies with their ids and evidence."""
    pairs = zip(rows, replies, strict=True)
    return [
        replace(row, id=reply.logged_id, nth=reply.nth, evidence=_evidence(*reply.logged_at, reply.model))
        for row, reply in pairs
    ]


def _evidence(line: int | None, time: int | None, model: str) -> ReplyEvidence:
    is_safe = time is None or abs(time) < _MAX_TIME
    return ReplyEvidence(line, time if is_safe else None, model)


def growing_outcomes(
    requests: Iterable[GrowingRequest], messages: list[Message], name: str, marks: dict[int, Mark] | None
) -> list[ReplyOutcome]:
    """Return the outcomes of the replies of a session that only grew, if its record contains all, in line order.

    Args:
        requests: The requests, all with replies.
        messages: The messages of the record.
        name: The id of the conversation.
        marks: As in ``Placement``.
    """
    rows: list[ReplyOutcome] = []
    for ordinal, each in enumerate(requests):
        assert each.message is not None
        index, untrained = (marks[ordinal].place, marks[ordinal].why) if marks else (None, None)
        place = 0, index, int(untrained == ""), fate(each.message, messages[each.count])
        row = ReplyOutcome(
            each.line,
            "main",
            "carried",
            None,
            name,
            None,
            *place,
            id=plain_id(each.response),
            nth=each.line,
            untrained=untrained or "",
            evidence=_evidence(each.line, each.at, each.model),
        )
        rows.append(row)
    # Lines may be sorted by time.
    return sorted(rows, key=lambda row: row.line)


def loss_of(path: AnyPath | None, summarized: set[int]) -> str:
    """Return why the replies of a conversation without a record are lost.

    ``summarized`` contains the ``id()`` of each conversation that was replaced by a summary.
    """
    if path and id(path) in summarized:
        return "compacted"
    return WHY.get(path.kind if path else "branch", "short-tail")


_Spot = tuple[int, Literal["carried", "rewritten"], int | None, str | None]
"""The members of a ``ReplyPlace`` except ``reasons``, with the reason for not training in place of ``loss``.

The reason is empty if the reply is trained on, and ``None`` if the record has no marks.
"""


def _places(
    reply: LoggedReply, placement: Placement[P], holders: list[Placement[P]]
) -> tuple[_Spot, tuple[ReplyPlace, ...]]:
    """Return the location of a reply to report, and the others.

    ``holders`` are all placements whose records contain it; ``placement`` is the one in which it counts.
    """
    first = _spot(reply, placement)
    if len(holders) == 1 and holders[0] is placement:
        return first, ()
    # Not trained on in any record, so the first record that contains it is reported.
    if first[-1] != "" and placement.marks is not None and holders[0] is not placement:
        placement = holders[0]
        first = _spot(reply, placement)
    return first, tuple([_location(reply, each) for each in holders if each is not placement])


def _spot(reply: LoggedReply, placement: Placement[P]) -> _Spot:
    assert placement.record is not None
    position = placement.positions[reply.number]
    mark = placement.marks.get(position.ordinal) if placement.marks else None
    index, untrained = (mark.place, mark.why) if mark else (None, None)
    return placement.record, "rewritten" if position.is_rewritten else "carried", index, untrained


def _location(reply: LoggedReply, placement: Placement[P]) -> ReplyPlace:
    """Return the location of a reply in the record of a conversation."""
    reasons = fate(reply.message, placement.message(reply.number)) == "carried"
    record, status, index, untrained = _spot(reply, placement)
    return ReplyPlace(record, status, index, int(untrained == ""), reasons)


def _holders(placements: list[Placement[P]]) -> dict[int, list[Placement[P]]]:
    """Return the placements with a record that contain each reply."""
    holders: dict[int, list[Placement[P]]] = {}
    for each in placements:
        written_ordinals = each.written_ordinals
        for reply, position in each.positions.items():
            if position.ordinal in written_ordinals:
                holders.setdefault(reply, []).append(each)
    return holders


def _earlier_in_chain(paths: list[LogPath], written_ids: set[int]) -> set[int]:
    """Return the conversations that a later conversation of their chain replaces in the records."""
    result: set[int] = set()
    for path in paths:
        trunk = _trunk(path)
        if id(path) not in written_ids or trunk.kind != "compacted":
            continue
        before = trunk.parent
        while before and id(before) not in result:
            result.add(id(before))
            before = before.parent if before.kind == "compacted" else None
    return result - written_ids


def _trunk(path: LogPath) -> LogPath:
    """Return the trunk of a path's tree."""
    while path.parent and path.parent.last.tree == path.last.tree:
        path = path.parent
    return path


def place_replies(path: LogPath, replies: list[Reply], messages: list[Message], canon: Canon) -> Placement[LogPath]:
    """Locate the replies of a path among messages, in order.

    Each reply is placed at the next message with the same number. Replies without one are assigned to the assistant
    messages between their neighbors, last reply first.
    """
    places = assistants(messages)
    by_number: dict[int, list[int]] = {}
    for ordinal, index in enumerate(places):
        by_number.setdefault(canon.number(messages[index]), []).append(ordinal)
    positions: dict[int, ReplyPosition] = {}
    pending: list[Reply] = []
    last = -1
    for reply in replies:
        is_rewritten, match = False, _next(by_number, reply.content_number, last)
        if match is None:
            is_rewritten, match = reply.is_prefilled, _next(by_number, reply.other_content_number, last)
        if match is None:
            pending.append(reply)
            continue
        _fill(positions, pending, places, range(last + 1, match), messages)
        positions[reply.number] = ReplyPosition(match, is_rewritten)
        last = match
    _fill(positions, pending, places, range(last + 1, len(places)), messages)
    return Placement(path, messages, places, positions)


def _next(by_number: dict[int, list[int]], number: int, last: int) -> int | None:
    """Return the first ordinal after ``last`` at which a message has a number."""
    ordinals = by_number.get(number, ())
    if not ordinals or ordinals[0] > last:
        return ordinals[0] if ordinals else None
    index = bisect_right(ordinals, last)
    return ordinals[index] if index < len(ordinals) else None


def place_in_file(path: FilePath, messages: list[Message], replies: Sequence[OriginReply]) -> Placement[FilePath]:
    """Locate the replies of a file's conversation among its messages; ``replies`` contains their current indices."""
    places = assistants(messages)
    ordinals = {at: ordinal for ordinal, at in enumerate(places)}
    positions = {
        reply.number: ReplyPosition(
            ordinals[each.at], messages[each.at] is not reply.message and messages[each.at] != reply.message
        )
        for reply, each in zip(path.replies, replies, strict=True)
        if each.at is not None and each.at in ordinals
    }
    return Placement(path, messages, places, positions)


def assistants(messages: list[Message]) -> list[int]:
    """Return the indices of the assistant messages."""
    return [at for at, message in enumerate(messages) if message["role"] == "assistant"]


def _fill(
    positions: dict[int, ReplyPosition], pending: list[Reply], places: list[int], gap: range, messages: list[Message]
) -> None:
    """Assign replies without an equal message to the gap between matched ones, aligned with the end of the gap."""
    for reply, ordinal in zip(reversed(pending), reversed(gap), strict=False):
        message = messages[places[ordinal]]
        is_same = is_translated(reply.message, message, freely=reply.is_translated)
        positions[reply.number] = ReplyPosition(ordinal, not is_same)
    pending.clear()


def counting_placements(
    placements: list[Placement[P]], written_ordinals: list[Container[int]], owners: dict[int, P]
) -> dict[int, int]:
    """Return the index of the placement in which each reply counts.

    Placements whose record contains the reply are preferred, then those with its exact wording, then the reply's own
    path, then the first one.

    Args:
        placements: The selected paths.
        written_ordinals: The ordinals of the assistant messages that each record contains.
        owners: The path of each reply by its number.
    """
    if len(placements) == 1:
        return dict.fromkeys(placements[0].positions, 0)
    counting: dict[int, int] = {}
    ranks: dict[int, tuple[bool, bool, bool]] = {}
    for index, each in enumerate(placements):
        for reply, position in each.positions.items():
            is_written = position.ordinal in written_ordinals[index]
            rank = is_written, not position.is_rewritten, owners.get(reply) is each.path
            if reply not in ranks or rank > ranks[reply]:
                counting[reply], ranks[reply] = index, rank
    return counting


def shared_calls(conversations: list[Placement[LogPath]], trees: Trees) -> list[dict[int, int]]:
    """Return, for each conversation, the messages with calls that others also contain: a shared number by index."""
    if len(conversations) < 2:
        return [{} for _ in conversations]
    keyed = [dict(_keys(placement, trees)) for placement in conversations]
    times = Counter(key for keys in keyed for key in keys.values())
    numbers = {key: number for number, key in enumerate(key for key, count in times.items() if count > 1)}
    return [{at: numbers[key] for at, key in keys.items() if key in numbers} for keys in keyed]


def _keys(placement: Placement[LogPath], trees: Trees) -> Iterator[tuple[int, Hashable]]:
    """Yield a key for each message with calls: the number of its logged reply, or else its tree and content."""
    canon, tree = trees.requests.canon, placement.path.last.tree
    replies = {position.ordinal: number for number, position in placement.positions.items()}
    copies: dict[int, list[int]] = {}
    for reply in reversed(trees.links[tree].copies):
        copies.setdefault(reply.content_number, []).append(reply.number)
    times: Counter[int] = Counter()
    for ordinal, at in enumerate(placement.assistants):
        if not chat.call_count(placement.messages[at]):
            continue
        if ordinal in replies:
            yield at, replies[ordinal]
            continue
        number = canon.number(placement.messages[at])
        times[number] += 1
        yield at, copies[number].pop() if copies.get(number) else (tree, number, times[number])
