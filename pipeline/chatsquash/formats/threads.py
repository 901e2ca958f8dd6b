"""Histories whose entries name the entry before them: which paths lead through such a tree, and what the model saw."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Container, Iterator, Sequence
from itertools import accumulate, chain
from typing import Any, NamedTuple

from chatsquash.core.model import Conversation, ConversationKind, Json, Tool
from chatsquash.formats.evidence import LoggedTurn, Unread, load_conversation, load_turns, of, origin, with_origin
from chatsquash.formats.values import Object

ROOT = -1
_MOST = 20
"""How many times the entries of a file may stand in its paths together, at least ``_LEAST`` in all."""
_LEAST = 25_000


def first_places(names: Sequence[str | None]) -> dict[str, int]:
    """Return the place of the first entry with each name."""
    known: dict[str, int] = {}
    for place, name in enumerate(names):
        if name is not None:
            known.setdefault(name, place)
    return known


def link_entries(names: Sequence[str | None], parents: Sequence[str | None]) -> list[int]:
    """Return the previous entry of each entry, -1 without one; an entry that would close a loop has none.

    Of several entries with a name the first counts.
    """
    known = first_places(names)
    before = [known.get(parent, ROOT) if parent is not None else ROOT for parent in parents]
    state = bytearray(len(before))  # 1: on the way, 2: known to end
    for start in range(len(before)):
        way, place = list[int](), start
        while place != ROOT and not state[place]:
            state[place] = 1
            way.append(place)
            place = before[place]
        if place != ROOT and state[place] == 1:
            before[way[-1]] = ROOT
        for each in way:
            state[each] = 2
    return before


def last_named(names: Sequence[str | None]) -> int:
    """Return the place of the last entry with a name, which ends the thread; without any, that of the last one."""
    return next((place for place in range(len(names) - 1, -1, -1) if names[place] is not None), len(names) - 1)


def paths(before: Sequence[int], leaf: int, sampled: Sequence[bool], unread: Unread) -> list[list[int]]:
    """Return the paths from a root to a leaf: the one to ``leaf``, then those to other leaves in order.

    A path is left out, and counted, that holds nothing of a model's which an earlier one has not.
    """
    inner = {place for place in before if place != ROOT}
    leaves = [leaf, *(place for place in range(len(before)) if place not in inner and place != leaf)]
    taken, met, room = list[list[int]](), set[int](), EntryBudget(len(before))
    for each in leaves:
        fresh = list(_up(each, before, met))
        if taken and not any(sampled[place] for place in fresh):
            unread.one("branch without a reply")
            continue
        way = list(_up(each, before, set()))[::-1]
        if not room.take(len(way)) and taken:
            unread.one(BRANCH_BEYOND)
            continue
        met.update(fresh)
        taken.append(way)
    return taken


def _up(leaf: int, before: Sequence[int], met: set[int]) -> Iterator[int]:
    """Yield a leaf and the entries before it, up to one already met."""
    place = leaf
    while place != ROOT and place not in met:
        yield place
        place = before[place]


class ThreadEntry(NamedTuple):
    """An entry of a thread, as turns."""

    turns: tuple[LoggedTurn, ...] = ()
    is_sampled: bool = False
    """Whether a model gave it."""
    is_summary: bool = False
    """Whether it stands for what was said before it, from here on."""
    kept: int | None = None
    """Of a summary the first entry that stays, which stands before it."""


BRANCH_BEYOND = "branch beyond those that are read"
"""The name under which branches are counted that repeat too much."""


class EntryBudget:
    """Limits how often the entries of a file may be repeated."""

    def __init__(self, entries: int) -> None:
        self._left = max(_LEAST, _MOST * entries)

    def take(self, entries: int) -> bool:
        """Whether so many more entries may be repeated."""
        self._left -= entries
        return self._left >= 0


def load_paths(
    form: Any,
    steps: Sequence[ThreadEntry],
    ways: Sequence[Sequence[int]],
    session: Object,
    tools: Sequence[Tool] = (),
) -> list[Conversation]:
    """Return what the model saw along each path: the first in reverse order of its summaries, then branches.

    ``session`` are members of the origins of all.  What very many summaries replaced is told of the last ones.
    """
    converted = list[Conversation]()
    history = _ThreadHistory(steps)
    for number, way in enumerate(ways):
        eras = history.conversations_of(number, way)
        made = [_conversation(form, steps, places, {**session, **known}, tools) for places, known in eras]
        converted += [each for each in reversed(made) if each.messages]
    if len(converted) == 1:
        converted = [with_origin(converted[0], id="", parent=None)]
    return with_unread(converted, history.unread)


def load_eras(
    form: Any, eras: Sequence[Sequence[LoggedTurn]], tools: list[Tool] | None = None, /, **session: Any
) -> list[Conversation]:
    """Return what the model saw at the end, then what it saw before each summary, last first."""
    converted = list[Conversation]()
    for number, turns in enumerate(eras):
        kind: ConversationKind = "compacted" if number else "main"
        place: Object = {"id": str(number + 1), "parent": str(number) if number else None} if len(eras) > 1 else {}
        converted.append(load_conversation(form, turns, tools, kind=kind, **session, **place))
    return [each for each in reversed(converted) if each.messages]


def _with_room(lengths: list[int], room: EntryBudget) -> set[int]:
    """Return the last era and the earlier ones that fit the budget."""
    last = len(lengths) - 1
    return {last, *(at for at in range(last - 1, -1, -1) if room.take(lengths[at]))}


class _ThreadHistory:
    """Divides the paths of a thread at their summaries, and names what comes out."""

    def __init__(self, steps: Sequence[ThreadEntry]) -> None:
        self.unread = Unread()
        self._steps = steps
        self._room = EntryBudget(len(steps))
        self._told = set[int]()
        """The entries of paths before the current one that a model gave."""
        self._names = dict[int | None, str]()
        """The conversations by the summary that each begins with."""

    def conversations_of(self, number: int, way: Sequence[int]) -> list[tuple[list[int], Object]]:
        """Return the entries of each conversation along a path, with its place; of branches those with new replies."""
        lengths = [len(era) for era in _eras(self._steps, way)]
        last = len(lengths) - 1
        with_room = _with_room(lengths, self._room) if number == 0 else {*range(last + 1)}
        made = list[tuple[list[int], Object]]()
        previous: str | None = None
        for at, era in enumerate(_eras(self._steps, way)):
            name = f"{number + 1}.{at + 1}" if last else f"{number + 1}"
            known = self._place(name, era.summary, previous, is_first=number == 0)
            previous = self._names[era.summary]
            if at not in with_room:
                self.unread.one("history before a summary, beyond those that are read")
                continue
            places = era.places()
            is_new = number == 0 or any(self._steps[each].is_sampled and each not in self._told for each in places)
            if is_new and (number == 0 or at == last or self._room.take(len(places))):
                made.append((places, known))
                previous = name
        self._told.update(place for place in way if self._steps[place].is_sampled)
        return made

    def _place(self, name: str, summary: int | None, previous: str | None, *, is_first: bool) -> Object:
        """Return the place of a conversation among those of a file; ``previous`` is the one before its summary."""
        trunk = self._names.setdefault(summary, name)
        if trunk != name:
            return {"id": name, "kind": "branch", "parent": trunk}
        if previous is None and not is_first:
            return {"id": name, "kind": "branch", "parent": "1"}
        kind: ConversationKind = "main" if previous is None else "compacted"
        return {"id": name, "kind": kind, "parent": previous}


class _Era:
    """What the model sees: summaries and a stretch of a path without any."""

    def __init__(self, steps: Sequence[ThreadEntry], way: Sequence[int]) -> None:
        self._said = [place for place in way if not steps[place].is_summary]
        self._at = {place: at for at, place in enumerate(self._said)}
        self._sampled = [0, *accumulate(int(steps[place].is_sampled) for place in self._said)]
        self._summaries = deque[int]()
        self._start = self._stop = 0

    def __len__(self) -> int:
        return len(self._summaries) + self._stop - self._start

    @property
    def summary(self) -> int | None:
        """The place of the last summary, if there is one."""
        return self._summaries[0] if self._summaries else None

    @property
    def has_reply(self) -> bool:
        """Whether a model produced any of it."""
        return self._sampled[self._stop] > self._sampled[self._start]

    def places(self) -> list[int]:
        """Return the places of the entries."""
        return [*self._summaries, *self._said[self._start : self._stop]]

    def grow(self) -> None:
        """Include the next entry."""
        self._stop += 1

    def give_way(self, summary: int, first_kept: int | None) -> None:
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


def _eras(steps: Sequence[ThreadEntry], way: Sequence[int]) -> Iterator[_Era]:
    """Yield what the model saw before each summary of a path and at its end (one object, which changes)."""
    seen = _Era(steps, way)
    for place in way:
        if not steps[place].is_summary:
            seen.grow()
            continue
        if seen.has_reply:
            yield seen
        seen.give_way(place, steps[place].kept)
    yield seen


def with_more(before: Sequence[int], steps: Sequence[ThreadEntry]) -> set[int]:
    """Return the entries that turns follow."""
    followed = set[int]()
    for place, step in enumerate(steps):
        if step.turns:
            followed.update(_up(before[place], before, followed))
    return followed


def without_entries(steps: Sequence[ThreadEntry], unsent: Container[int], unread: Unread) -> list[ThreadEntry]:
    """Drop the turns of truncated or failed replies that later requests do not contain, and count them."""
    left = list(steps)
    for place, step in enumerate(steps):
        if place in unsent and step.turns:
            left[place] = ThreadEntry()
            unread.one("reply that later requests do not contain")
    return left


def _conversation(
    form: Any, steps: Sequence[ThreadEntry], places: list[int], known: Object, tools: Sequence[Tool]
) -> Conversation:
    loaded = load_turns(form, list(chain.from_iterable(steps[place].turns for place in places)))
    if any(each.time for each in loaded.evidence):
        known = {name: value for name, value in known.items() if name not in ("started_at", "ended_at")}
    return Conversation(loaded.messages, list(tools), origin=origin(loaded, **known))


def of_each(
    values: Sequence[Json], lines: Sequence[int] | None, read: Callable[[Json, str, int], list[Conversation]]
) -> list[Conversation]:
    """Return the conversations of each element of a list, read by value, place and line."""
    return [
        each
        for number, value in enumerate(values)
        for each in read(value, f"conversation {number + 1}", lines[number] if lines else number + 1)
    ]


def with_unread(converted: list[Conversation], unread: Unread) -> list[Conversation]:
    """Add the counts of unread items to the first of some conversations."""
    return [with_origin(each, unread={**of(each).unread, **unread.of(place)}) for place, each in enumerate(converted)]


def text(value: Json) -> str | None:
    """Return a text that is not empty; ``None`` for anything else."""
    return value if isinstance(value, str) and value else None
