"""Histories whose entries name the entry before them: which paths lead through such a tree, and what the model saw."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from chatsquash.formats.evidence import Logged, Unread, origin, told, with_origin
from chatsquash.formats.values import Object
from chatsquash.model import Conversation, ConversationKind, Json, Tool

_ROOT = -1
_MOST = 20
"""How many times the entries of a file may stand in its paths together, at least ``_LEAST`` in all."""
_LEAST = 100_000


def linked(names: Sequence[str | None], parents: Sequence[str | None]) -> list[int]:
    """Of each entry the one before it, -1 where there is none; an entry that would close a loop begins anew.

    Of several entries with a name the first counts.
    """
    known: dict[str, int] = {}
    for place, name in enumerate(names):
        if name is not None:
            known.setdefault(name, place)
    found = [known.get(parent, _ROOT) if parent is not None else _ROOT for parent in parents]
    state = bytearray(len(found))  # 1: on the way, 2: known to end
    for start in range(len(found)):
        way, place = list[int](), start
        while place != _ROOT and not state[place]:
            state[place] = 1
            way.append(place)
            place = found[place]
        if place != _ROOT and state[place] == 1:
            found[way[-1]] = _ROOT
        for each in way:
            state[each] = 2
    return found


def paths(before: Sequence[int], leaf: int, sampled: Sequence[bool], unread: Unread) -> list[list[int]]:
    """The paths from a root to a leaf, first that to ``leaf``, then those to others, by the places of their leaves.

    A path is left out, and counted, that holds nothing of a model's which an earlier one has not.
    """
    inner = {place for place in before if place != _ROOT}
    leaves = [leaf, *(place for place in range(len(before)) if place not in inner and place != leaf)]
    found, met, left = list[list[int]](), set[int](), max(_LEAST, _MOST * len(before))
    for each in leaves:
        fresh = list(_up(each, before, met))
        if found and not any(sampled[place] for place in fresh):
            unread.one("branch without a reply")
            continue
        way = list(_up(each, before, set()))[::-1]
        left -= len(way)
        if found and left < 0:
            unread.one("branch beyond those that are read")
            continue
        met.update(fresh)
        found.append(way)
    return found


def _up(leaf: int, before: Sequence[int], met: set[int]) -> Iterator[int]:
    """A leaf and what stands before it, up to what is met."""
    place = leaf
    while place != _ROOT and place not in met:
        yield place
        place = before[place]


class Step(NamedTuple):
    """An entry of a history, as turns."""

    turns: tuple[Logged, ...] = ()
    is_sampled: bool = False
    """Whether a model gave it."""
    is_summary: bool = False
    """Whether it stands for what was said before it, from here on."""
    kept: int | None = None
    """Of a summary the first entry that stays, which stands before it."""


def conversations(
    form: Any, steps: Sequence[Step], ways: Sequence[Sequence[int]], session: Object, tools: Sequence[Tool] = ()
) -> list[Conversation]:
    """What the model saw along each path: last of the first one, then what summaries on that replaced, then branches.

    ``session`` are members of the origins of all.
    """
    found = list[Conversation]()
    for number, way in enumerate(ways):
        eras = list(_eras(steps, way))
        names = [f"{number + 1}.{era + 1}" if len(eras) > 1 else f"{number + 1}" for era in range(len(eras))]
        made = [
            _conversation(form, steps, era, {**session, **_place(names, at, number)}, tools)
            for at, era in enumerate(eras)
            if number == 0 or at == len(eras) - 1
        ]
        found += [each for each in reversed(made) if each.messages]
    if len(found) == 1:
        return [with_origin(found[0], id="", parent=None)]
    return found


def _place(names: list[str], at: int, number: int) -> Object:
    """The place of a conversation among those of a file."""
    kind: ConversationKind = "branch" if number else "compacted" if at else "main"
    parent = names[at - 1] if kind == "compacted" else "1" if number else None
    return {"id": names[at], "kind": kind, "parent": parent}


def _eras(steps: Sequence[Step], way: Sequence[int]) -> Iterator[list[int]]:
    """What the model saw of a path before each summary on it, and at its end; of very many only the last ones."""
    summaries = [place for place in way if steps[place].is_summary]
    first = len(summaries) - _MOST * 50
    seen, number = list[int](), 0
    for place in way:
        if not steps[place].is_summary:
            seen.append(place)
            continue
        number += 1
        if number <= first:
            seen = [place]
            continue
        if any(steps[each].is_sampled for each in seen):
            yield seen
        kept = steps[place].kept
        at = seen.index(kept) if kept is not None and kept in seen else len(seen)
        seen = [place, *seen[at:]]
    yield seen


def _conversation(
    form: Any, steps: Sequence[Step], places: list[int], known: Object, tools: Sequence[Tool]
) -> Conversation:
    held = told(form, list(chain.from_iterable(steps[place].turns for place in places)))
    if any(each.time for each in held.evidence):
        known = {name: value for name, value in known.items() if name not in ("started", "ended")}
    return Conversation(held.messages, list(tools), origin=origin(held, **known))


def counted(found: list[Conversation], unread: Unread) -> list[Conversation]:
    """Conversations of which the first one has what was not read."""
    return [with_origin(each, unread=unread.of(place)) for place, each in enumerate(found)]


def text(value: Json) -> str | None:
    """A text that is not empty; ``None`` for anything else."""
    return value if isinstance(value, str) and value else None
