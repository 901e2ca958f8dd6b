"""Where the replies of each path are in the records, and the outcome of every logged reply."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Container, Hashable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Generic, NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from chatsquash.core import chat
from chatsquash.core.accounting import ELSEWHERE, ReplyOutcome, ReplyPlace
from chatsquash.core.model import Mark, Message, OriginReply
from chatsquash.trees.canonical import Canon
from chatsquash.trees.coverage import fate
from chatsquash.trees.paths import AnyPath, LoggedReply, P, R
from chatsquash.trees.replies import LogPath, Reply
from chatsquash.trees.translation import is_translated
from chatsquash.trees.trees import Trees

if TYPE_CHECKING:
    from chatsquash.trees.documents import FilePath

WHY = {"branch": "branch", "subagent": "subagent", "side": "side-request"}
"""Why replies of conversations that were not chosen are lost, by their kinds."""


class Standing(NamedTuple):
    """The message that is a reply."""

    ordinal: int
    """Its index among the assistant messages."""
    is_rewritten: bool
    """Whether its wording differs from the logged one."""


class Placement(Struct, Generic[P], frozen=True):
    """A path that was selected: where its replies are in the messages, and which record these became."""

    path: P
    messages: list[Message]
    """Those of the request that the record is made of, and its reply."""
    assistants: list[int]
    """The indices of the assistant messages."""
    standing: dict[int, Standing]
    """The replies, by number."""
    record: int | None = None
    """The index of its record among the session's."""
    why: str | None = None
    """Why it has none: ``refused``, ``filtered`` or ``duplicate``."""
    marks: dict[int, Mark] | None = None
    """The first mark of each assistant message in the record, if marks were requested."""

    @property
    def whole(self) -> range:
        """All assistant messages."""
        return range(len(self.assistants))

    @property
    def has_all(self) -> bool:
        """Whether its record contains every assistant message."""
        return self.record is not None and (self.marks is None or len(self.marks) == len(self.whole))

    @property
    def written_ordinals(self) -> Container[int]:
        """The assistant messages that the record contains."""
        if self.record is None:
            return ()
        return self.whole if self.marks is None else self.marks

    def message(self, reply: int) -> Message:
        """The message that is a reply."""
        return self.messages[self.assistants[self.standing[reply].ordinal]]


def account(
    trees: Trees, paths: list[LogPath], placements: list[Placement[LogPath]], ids: dict[int, str]
) -> list[ReplyOutcome]:
    """What became of every reply, in the order of the lines; ``ids`` are the names of the paths by their ``id()``."""
    owners = {reply.number: path for path in paths for reply in path.own}
    answered = {reply.asked: owners[reply.number] for reply in trees.replies if reply.number in owners}
    # A reply to a request that was sent again is of the conversation of the other reply.
    replies = [(reply, owners.get(reply.number) or answered.get(reply.asked)) for reply in trees.replies]
    names = {id(path): (ids[id(path)], ids.get(id(path.parent)) if path.parent else None) for path in paths}
    replaced = _earlier_in_chain(paths, {id(each.path) for each in placements if each.why != "refused"})
    rows = outcomes(replies, owners, placements, names, lambda _, path: loss_of(path, replaced))
    for again in trees.again:
        row = rows[again.by.number]
        if again.is_same_response:
            rows.append(ReplyOutcome(again.line, "retry", "lost", "retry", row.conversation, row.parent))
        else:
            rows.append(ReplyOutcome(again.line, "branch", "lost", "duplicate", row.conversation, row.parent))
    return sorted(rows, key=lambda row: row.line)


def outcomes(
    replies: Iterable[tuple[R, P | None]],
    owners: dict[int, P],
    placements: list[Placement[P]],
    names: dict[int, tuple[str, str | None]],
    why: Callable[[R, P | None], str],
) -> list[ReplyOutcome]:
    """What became of replies, each with the path that it is about.

    ``names`` are those of the paths and of their parents by their ``id()``; ``why`` says why a reply is lost that is in
    none of the placements.
    """
    bearing = bearers(placements, [each.written_ordinals for each in placements], owners)
    holders = _holders(placements)
    rows: list[ReplyOutcome] = []
    for reply, path in replies:
        each = placements[bearing[reply.number]] if reply.number in bearing else None
        message = each.message(reply.number) if each and each.record is not None else None
        name, parent = names[id(path)] if path else ("", None)
        row = ReplyOutcome(
            line=reply.line,
            kind="retry" if reply.is_retried else "copy" if reply.is_copy else path.kind if path else "branch",
            status="lost",
            why=None,
            conversation=name,
            parent=parent,
            reasoning=fate(reply.message, message),
        )
        if each and each.record is not None:
            rows.append(_with_places(row, reply, each, holders.get(reply.number)))
        else:
            twice = "retry" if reply.is_retried else ELSEWHERE if reply.is_copy else None
            lost = twice or (each.why if each else why(reply, path))
            rows.append(replace(row, why=lost))
    return rows


def loss_of(path: AnyPath | None, replaced: set[int]) -> str:
    """Why the replies of a conversation without a record are lost; ``replaced`` are those that a summary replaces."""
    if path and id(path) in replaced:
        return "compacted"
    return WHY.get(path.kind if path else "branch", "short-tail")


def _with_places(
    row: ReplyOutcome, reply: LoggedReply, placement: Placement[P], holders: list[Placement[P]] | None
) -> ReplyOutcome:
    """A reply's row with where it is in the records; ``holders`` are the placements whose records contain it."""
    if holders is None:
        return replace(row, why="cut")
    first = _stands(reply, placement)
    if not first.loss and placement.marks is not None:  # it is trained on nowhere
        placement = holders[0]
        first = _stands(reply, placement)
    others = tuple(_stands(reply, each) for each in holders if each is not placement)
    record, status, message, loss, _ = first
    return replace(row, status=status, record=record, message=message, loss=loss, others=others)


def _stands(reply: LoggedReply, placement: Placement[P]) -> ReplyPlace:
    """Where a reply stands in the record of a conversation."""
    assert placement.record is not None
    standing = placement.standing[reply.number]
    mark = (placement.marks or {}).get(standing.ordinal)
    index, loss = (mark.place, int(not mark.why)) if mark else (None, 0)
    reasons = fate(reply.message, placement.message(reply.number)) == "carried"
    return ReplyPlace(placement.record, "rewritten" if standing.is_rewritten else "carried", index, loss, reasons)


def _holders(placements: list[Placement[P]]) -> dict[int, list[Placement[P]]]:
    """The conversations with a record that hold each reply."""
    holders: dict[int, list[Placement[P]]] = {}
    for each in placements:
        for reply, standing in each.standing.items():
            if standing.ordinal in each.written_ordinals:
                holders.setdefault(reply, []).append(each)
    return holders


def _earlier_in_chain(paths: list[LogPath], written: set[int]) -> set[int]:
    """The conversations in whose place a later one of their chain is written."""
    replaced: set[int] = set()
    for path in paths:
        trunk = _trunk(path)
        if id(path) not in written or trunk.kind != "compacted":
            continue
        before = trunk.parent
        while before and id(before) not in replaced:
            replaced.add(id(before))
            before = before.parent if before.kind == "compacted" else None
    return replaced - written


def _trunk(path: LogPath) -> LogPath:
    """The trunk of a path's tree."""
    while path.parent and path.parent.last.tree == path.last.tree:
        path = path.parent
    return path


def place_replies(path: LogPath, replies: list[Reply], messages: list[Message], canon: Canon) -> Placement[LogPath]:
    """Find the replies of a path, in order, among messages.

    A reply stands where a message is the same by what counts; of those between two such places, each stands at the
    next message of an assistant, as long as there are some.
    """
    places = assistants(messages)
    by_number: dict[int, list[int]] = {}
    for ordinal, at in enumerate(places):
        by_number.setdefault(canon.number(messages[at]), []).append(ordinal)
    standing: dict[int, Standing] = {}
    waiting: list[Reply] = []
    last = -1
    for reply in replies:
        is_begun, fitting = False, _next(by_number, reply.said, last)
        if fitting is None:
            is_begun, fitting = reply.is_prefilled, _next(by_number, reply.other_said, last)
        if fitting is None:
            waiting.append(reply)
            continue
        _fill(standing, waiting, places, range(last + 1, fitting), messages)
        standing[reply.number] = Standing(fitting, is_begun)
        last = fitting
    _fill(standing, waiting, places, range(last + 1, len(places)), messages)
    return Placement(path, messages, places, standing)


def _next(by_number: dict[int, list[int]], number: int, last: int) -> int | None:
    """The first ordinal after one at which a message has a number."""
    ordinals = by_number.get(number, ())
    if not ordinals or ordinals[0] > last:
        return ordinals[0] if ordinals else None
    at = bisect_right(ordinals, last)
    return ordinals[at] if at < len(ordinals) else None


def place_in_file(path: FilePath, messages: list[Message], replies: Sequence[OriginReply]) -> Placement[FilePath]:
    """Find the replies of a file's conversation among its messages, where ``replies`` says that they are by now."""
    places = assistants(messages)
    ordinals = {at: ordinal for ordinal, at in enumerate(places)}
    standing = {
        reply.number: Standing(ordinals[each.at], messages[each.at] != reply.message)
        for reply, each in zip(path.replies, replies, strict=True)
        if each.at is not None and each.at in ordinals
    }
    return Placement(path, messages, places, standing)


def assistants(messages: list[Message]) -> list[int]:
    """The indices of the assistant messages."""
    return [at for at, message in enumerate(messages) if message["role"] == "assistant"]


def _fill(
    standing: dict[int, Standing], waiting: list[Reply], places: list[int], between: range, messages: list[Message]
) -> None:
    """Give the replies that were not found the places between two that were; the last ones are last."""
    for reply, ordinal in zip(reversed(waiting), reversed(between), strict=False):
        message = messages[places[ordinal]]
        is_same = is_translated(reply.message, message, freely=reply.is_translated)
        standing[reply.number] = Standing(ordinal, not is_same)
    waiting.clear()


def bearers(placements: list[Placement[P]], written: list[Container[int]], owners: dict[int, P]) -> dict[int, int]:
    """The conversation that each reply counts in, by its index.

    That is one whose record has the reply, in its own words, and is the reply's own, as far as there is such a one; of
    several the first.  ``written`` are the assistant's messages of each that its record has.
    """
    bearing: dict[int, int] = {}
    ranks: dict[int, tuple[bool, bool, bool]] = {}
    for index, each in enumerate(placements):
        for reply, standing in each.standing.items():
            is_written = standing.ordinal in written[index]
            rank = is_written, not standing.is_rewritten, owners.get(reply) is each.path
            if reply not in ranks or rank > ranks[reply]:
                bearing[reply], ranks[reply] = index, rank
    return bearing


def shared_calls(conversations: list[Placement[LogPath]], trees: Trees) -> list[dict[int, int]]:
    """Of each conversation the messages with calls that others hold, too, by index, each with a number of its own."""
    keyed = [dict(_keys(placement, trees)) for placement in conversations]
    times = Counter(key for keys in keyed for key in keys.values())
    numbers = {key: number for number, key in enumerate(key for key, count in times.items() if count > 1)}
    return [{at: numbers[key] for at, key in keys.items() if key in numbers} for keys in keyed]


def _keys(placement: Placement[LogPath], trees: Trees) -> Iterator[tuple[int, Hashable]]:
    """What tells each message with calls from others: the logged reply that it is, else its tree and what it says."""
    canon, tree = trees.requests.canon, placement.path.last.tree
    replies = {standing.ordinal: number for number, standing in placement.standing.items()}
    copied: dict[int, list[int]] = {}
    for reply in reversed(trees.links[tree].copied):
        copied.setdefault(reply.said, []).append(reply.number)
    times: Counter[int] = Counter()
    for ordinal, at in enumerate(placement.assistants):
        if not chat.call_count(placement.messages[at]):
            continue
        if ordinal in replies:
            yield at, replies[ordinal]
            continue
        number = canon.number(placement.messages[at])
        times[number] += 1
        yield at, copied[number].pop() if copied.get(number) else (tree, number, times[number])
