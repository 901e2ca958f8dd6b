"""Histories whose entries refer to the previous entry: paths through the tree, and their parts between summaries."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from operator import gt
from typing import Any

from msgspec import Struct

from chatsquash.core.model import Conversation, ConversationKind, Json, Tool
from chatsquash.formats.evidence import (
    LoggedTurn,
    Unread,
    load_conversation,
    load_turns,
    origin,
    origin_of,
    with_origin,
)
from chatsquash.formats.values import Object

ROOT = -1
_MOST = 20
"""The maximum number of entries in all paths, as a multiple of the entries in the file."""
_LEAST = 25_000
"""The number of entries that is allowed for any file."""


def first_places(names: Sequence[str | None]) -> dict[str, int]:
    """Return the place of the first entry with each name."""
    return {name: place for place, name in reversed([*enumerate(names)]) if name is not None}


def link_entries(
    names: Sequence[str | None], parents: Sequence[str | None], places: dict[str, int] | None = None
) -> list[int]:
    """Return the index of each entry's parent, or -1; a link of each cycle is removed.

    If several entries share a name, children are linked to the first.  ``places`` is the result of ``first_places``.
    """
    known = first_places(names) if places is None else places
    before = [known.get(parent, ROOT) if parent is not None else ROOT for parent in parents]
    if all(map(gt, range(len(before)), before)):
        return before  # the usual case: no entry precedes its parent, so there is no cycle
    state = bytearray(len(before))  # 1: on the current chain, 2: known to reach a root
    for start in range(len(before)):
        chain_of_entries, place = list[int](), start
        while place != ROOT and not state[place]:
            state[place] = 1
            chain_of_entries.append(place)
            place = before[place]
        if place != ROOT and state[place] == 1:  # a cycle; its last new entry becomes a root
            before[chain_of_entries[-1]] = ROOT
        for each in chain_of_entries:
            state[each] = 2
    return before


def last_named(names: Sequence[str | None]) -> int:
    """Return the index of the last entry with a name, which ends the thread, or else of the last entry."""
    return next((place for place in range(len(names) - 1, -1, -1) if names[place] is not None), len(names) - 1)


def paths(before: Sequence[int], leaf: int, is_sampled: Sequence[bool], unread: Unread) -> list[list[int]]:
    """Return the paths from the roots to the leaves: the path to ``leaf`` first, then the others in file order.

    Paths that add no reply to the earlier paths are skipped and counted.

    Args:
        before: the parent of each entry, as returned by ``link_entries``
        leaf: the end of the first path
        is_sampled: for each entry, whether a model produced it
        unread: counts the skipped paths
    """
    inner = {place for place in before if place != ROOT}
    leaves = [leaf, *(place for place in range(len(before)) if place not in inner and place != leaf)]
    selected, visited, budget = list[list[int]](), set[int](), EntryBudget(len(before))
    for each in leaves:
        # Visited entries are part of an earlier path, so only the others can contain a new reply.
        fresh = list(_ancestors(each, before, visited))
        if selected and not any(is_sampled[place] for place in fresh):
            unread.count("branch without a reply")
            continue
        path = (list(_ancestors(each, before, set())) if visited else fresh)[::-1]
        if not budget.take(len(path)) and selected:
            unread.count(BRANCH_BEYOND)
            continue
        visited.update(fresh)
        selected.append(path)
    return selected


def _ancestors(leaf: int, before: Sequence[int], visited: set[int]) -> Iterator[int]:
    """Yield a leaf and its ancestors, up to an entry that was already visited."""
    place = leaf
    while place != ROOT and place not in visited:
        yield place
        place = before[place]


class ThreadEntry(Struct, frozen=True, gc=False):
    """An entry of a thread, converted to turns."""

    turns: tuple[LoggedTurn, ...] = ()
    is_sampled: bool = False
    """Whether a model produced it."""
    is_summary: bool = False
    """Whether it replaces the earlier entries in all later requests."""
    first_kept: int | None = None
    """For a summary, the first earlier entry that is kept."""


BRANCH_BEYOND = "branch over the limit"
"""The name under which skipped branches are counted."""


class EntryBudget:
    """A limit on how often the entries of a file may be repeated."""

    def __init__(self, entries: int) -> None:
        self._remaining = max(_LEAST, _MOST * entries)

    def take(self, entries: int) -> bool:
        """Deduct entries from the budget, and return whether it was sufficient."""
        self._remaining -= entries
        return self._remaining >= 0


def load_paths(
    form: Any,
    steps: Sequence[ThreadEntry],
    paths_to_load: Sequence[Sequence[int]],
    session: Object,
    tools: Sequence[Tool] = (),
) -> list[Conversation]:
    """Return the conversations along each path: the end of the first path, its earlier parts, then branches.

    If there are very many summaries, the earliest parts are skipped.

    Args:
        form: the format of the turns
        steps: the entries of the thread
        paths_to_load: the places of the entries of each path
        session: members for the origin of every conversation
        tools: the tools of every conversation
    """
    converted = list[Conversation]()
    history = _ThreadHistory(steps)
    for number, path in enumerate(paths_to_load):
        eras = history.conversations_of(number, path)
        parts = [_conversation(form, steps, places, {**session, **known}, tools) for places, known in eras]
        converted += [each for each in reversed(parts) if each.messages]
    if len(converted) == 1:
        # Ids only distinguish the conversations of one file.
        converted = [with_origin(converted[0], id="", parent=None)]
    return with_unread(converted, history.unread)


def load_eras(
    form: Any, eras: Sequence[Sequence[LoggedTurn]], tools: list[Tool] | None = None, /, **session: Any
) -> list[Conversation]:
    """Return the conversation at the end, then those before each summary, last first."""
    converted = list[Conversation]()
    for number, turns in enumerate(eras):
        kind: ConversationKind = "compacted" if number else "main"
        place: Object = {"id": str(number + 1), "parent": str(number) if number else None} if len(eras) > 1 else {}
        converted.append(load_conversation(form, turns, tools, kind=kind, **session, **place))
    return [each for each in reversed(converted) if each.messages]


def _eras_in_budget(lengths: list[int], budget: EntryBudget) -> set[int]:
    """Return the last era and the earlier eras that fit into the budget."""
    last = len(lengths) - 1
    return {last, *(at for at in range(last - 1, -1, -1) if budget.take(lengths[at]))}


class _ThreadHistory:
    """The paths of a thread, split at their summaries into conversations with ids."""

    def __init__(self, steps: Sequence[ThreadEntry]) -> None:
        self.unread = Unread()
        self._steps = steps
        self._budget = EntryBudget(len(steps))
        self._earlier_replies = set[int]()
        """The entries of the paths before the last one that a model produced."""
        self._last: Sequence[int] = ()
        """The last path."""
        self._names = dict[int | None, str]()
        """The ids of conversations by their first summary."""

    def conversations_of(self, number: int, path: Sequence[int]) -> list[tuple[list[int], Object]]:
        """Return the entries and the links of each conversation along a path; branches must add a reply."""
        summaries = [at for at, place in enumerate(path) if self._steps[place].is_summary]
        lengths = [len(era) for era in _eras(self._steps, path, summaries)]
        last = len(lengths) - 1
        self._earlier_replies.update([place for place in self._last if self._steps[place].is_sampled])
        self._last = path
        in_budget = _eras_in_budget(lengths, self._budget) if number == 0 else {*range(last + 1)}
        selected = list[tuple[list[int], Object]]()
        previous: str | None = None
        for at, era in enumerate(_eras(self._steps, path, summaries)):
            name = f"{number + 1}.{at + 1}" if last else f"{number + 1}"
            known = self._place(name, era.summary, previous, is_first=number == 0)
            previous = self._names[era.summary]
            if at not in in_budget:
                self.unread.count("history before a summary, over the limit")
                continue
            places = era.places()
            is_new = number == 0 or any(
                self._steps[each].is_sampled and each not in self._earlier_replies for each in places
            )
            if is_new and (number == 0 or at == last or self._budget.take(len(places))):
                selected.append((places, known))
                previous = name
        return selected

    def _place(self, name: str, summary: int | None, previous: str | None, *, is_first: bool) -> Object:
        """Return the id, kind and parent of a conversation; ``previous`` is the conversation before its summary."""
        trunk = self._names.setdefault(summary, name)
        if trunk != name:
            return {"id": name, "kind": "branch", "parent": trunk}
        if previous is None and not is_first:
            return {"id": name, "kind": "branch", "parent": "1"}
        kind: ConversationKind = "main" if previous is None else "compacted"
        return {"id": name, "kind": kind, "parent": previous}


class _Era:
    """The visible part of a path: summaries, then consecutive entries."""

    def __init__(self, steps: Sequence[ThreadEntry], entries: Sequence[int]) -> None:
        self._steps = steps
        self._entries = entries
        self._summaries = deque[int]()
        self._start = self._stop = 0

    @cached_property
    def _at(self) -> dict[int, int]:
        """The index of each entry."""
        return {place: at for at, place in enumerate(self._entries)}

    @cached_property
    def _reply_counts(self) -> list[int]:
        """The number of replies before each entry, and before the end."""
        return [0, *accumulate(int(self._steps[place].is_sampled) for place in self._entries)]

    def __len__(self) -> int:
        return len(self._summaries) + self._stop - self._start

    @property
    def summary(self) -> int | None:
        """The place of the last summary, or ``None``."""
        return self._summaries[0] if self._summaries else None

    @property
    def has_reply(self) -> bool:
        """Whether a model produced any of its entries."""
        return self._reply_counts[self._stop] > self._reply_counts[self._start]

    def places(self) -> list[int]:
        """Return the places of the entries."""
        return [*self._summaries, *self._entries[self._start : self._stop]]

    def grow(self, entries: int) -> None:
        """Include the next entries."""
        self._stop += entries

    def replace_with_summary(self, summary: int, first_kept: int | None) -> None:
        """Replace everything before the first kept entry with a summary."""
        at = self._at.get(first_kept, -1) if first_kept is not None else -1
        if self._start <= at < self._stop:
            self._start = at
            self._summaries.clear()
        elif first_kept is not None and first_kept in self._summaries:
            while self._summaries[0] != first_kept:
                self._summaries.popleft()
        else:
            self._start = self._stop
            self._summaries.clear()
        self._summaries.appendleft(summary)


def _eras(steps: Sequence[ThreadEntry], path: Sequence[int], summaries: Sequence[int]) -> Iterator[_Era]:
    """Yield the visible entries before each summary of a path and at its end; the yielded object is reused."""
    era = _Era(steps, [place for place in path if not steps[place].is_summary] if summaries else path)
    start = 0
    for at in summaries:
        era.grow(at - start)
        start = at + 1
        if era.has_reply:
            yield era
        era.replace_with_summary(path[at], steps[path[at]].first_kept)
    era.grow(len(path) - start)
    yield era


def entries_with_turns_after(before: Sequence[int], steps: Sequence[ThreadEntry]) -> set[int]:
    """Return the entries with descendants that have turns."""
    result = set[int]()
    for place, step in enumerate(steps):
        if step.turns:
            result.update(_ancestors(before[place], before, result))
    return result


def without_entries(steps: Sequence[ThreadEntry], unsent: Collection[int], unread: Unread) -> list[ThreadEntry]:
    """Drop and count the turns of truncated or failed replies that later requests do not contain."""
    remaining = list(steps)
    for place, step in enumerate(steps if unsent else ()):
        if place in unsent and step.turns:
            remaining[place] = ThreadEntry()
            unread.count("reply that later requests do not contain")
    return remaining


def _conversation(
    form: Any, steps: Sequence[ThreadEntry], places: list[int], known: Object, tools: Sequence[Tool]
) -> Conversation:
    logged_messages = load_turns(form, [turn for place in places for turn in steps[place].turns])
    if any(each.time for each in logged_messages.evidence):
        # The times of messages are more precise than those of the session.
        known = {name: value for name, value in known.items() if name not in ("started_at", "ended_at")}
    return Conversation(logged_messages.messages, list(tools), origin=origin(logged_messages, **known))


def load_elements(
    values: Sequence[Json], lines: Sequence[int] | None, read: Callable[[Json, str, int], list[Conversation]]
) -> list[Conversation]:
    """Load each element of a list; ``read`` receives the value, its place for errors, and its line."""
    return [
        each
        for number, value in enumerate(values)
        for each in read(value, f"conversation {number + 1}", lines[number] if lines else number + 1)
    ]


def with_unread(converted: list[Conversation], unread: Unread) -> list[Conversation]:
    """Add the counts of unread content to the first conversation."""
    return [
        with_origin(each, unread={**origin_of(each).unread, **unread.counts_for(place)})
        for place, each in enumerate(converted)
    ]


def text(value: Json) -> str | None:
    """Return a non-empty string, or ``None`` for other values."""
    return value if type(value) is str and value else None
