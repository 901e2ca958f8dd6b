"""What a format cannot hold of a conversation is found by writing it and reading it back."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from itertools import zip_longest
from typing import Any, NamedTuple, Self

import msgspec

from chatsquash import jsonio
from chatsquash.blocks import PROMPTS, Block, Call, HostedCall, HostedResult, Native, Other, Result, Turn
from chatsquash.chat import Private, private
from chatsquash.formats.writing import names, prompts
from chatsquash.model import Conversation, Json, Tool

_INDEX = re.compile(r"\[(\+?)\d+\]")
_BY_VALUE = ("arguments",)
"""Fields that spell JSON, in which white space and the order of members say nothing."""
_ADDED = ("name", "mime", "apart")
"""Fields that a format may add where there was nothing."""
_NOT_COMPARED = ("native", "made_up", "content")

_Counterparts = tuple[int | None, int | None]
"""The places of something before and after; ``None`` where it is not."""


class Losses(list[str]):
    """The paths of what a format does not hold, in order: ``turns[2].blocks[0].signature``."""

    kept_for_chatsquash: list[str]
    """The paths of what it has no place for and chatsquash alone reads again, where it wrote it."""

    def __init__(self, paths: Iterable[str] = (), kept: Iterable[str] = ()) -> None:
        super().__init__(paths)
        self.kept_for_chatsquash = list(kept)


def differences(before: Conversation, after: Conversation, like: Conversation | None = None) -> list[str]:
    """The paths at which a conversation lost or changed something, in order.

    Turns and blocks are compared with those that they became, so that one that is gone is one path; one that is new in
    front of ``turns[3]`` is ``turns[+3]``.  What a format only adds is no difference where it says nothing new: members
    that only its provider knows, and the name of a result that its call tells.  Where ``like`` has as many turns as
    ``after`` behind the prompts that lead, those tell which became which.
    """
    place = [] if before.branch == after.branch else ["branch"]
    told, read = before.turns, after.turns
    is_same = told == read and all(map(_are_same, told, read))
    turns = [] if is_same else _of_turns(told, read, like.turns if like else read)
    return [*place, *_of_native("native", before.native, after.native), *turns, *_of_tools(before.tools, after.tools)]


def _are_same(one: Turn | Block, other: Turn | Block) -> bool:
    """Whether two are equal, and the same JSON, which ``1`` and ``True`` are not."""
    return one == other and (not _holds_values(one) or _spelled(one) == _spelled(other))


def _holds_values(held: Turn | Block) -> bool:
    if isinstance(held, Turn):
        return bool(held.native) or any(map(_holds_values, held.blocks))
    return bool(held.native) or isinstance(held, Other | HostedResult | Result)


def kind(path: str) -> str:
    """A path without its indices, by which losses are counted."""
    return _INDEX.sub(r"[\1]", path)


# Turns


def _of_turns(before: Sequence[Turn], after: Sequence[Turn], like: Sequence[Turn]) -> Iterator[str]:
    """The differences of turns; prompts that lead are one, however many turns they are."""
    leading, merged = len(prompts(before)), max(len(like) - len(after), 0)
    seen = _holding(before[:leading], prompts(like)[:leading])
    read = seen - merged
    called = _Calls.of(before), _Calls.of(after)
    first = leading if 0 < read < leading else 0
    if first:
        yield from _of_prompts(before[:leading], after[:read], called)
        before, after, like = before[leading:], after[read:], like[seen:]
    like = like if len(like) == len(after) else after
    same = [turn.role for turn in before] == [turn.role for turn in like]
    here = first
    for left, right in _matched(before, like, () if same else (_spelled, _links, _speaker)):
        if left is None:
            yield f"turns[+{here}]"
            continue
        here = first + left + 1
        if right is None:
            yield f"turns[{here - 1}]"
        elif not _are_same(before[left], after[right]):
            yield from _of_turn(f"turns[{here - 1}]", before[left], after[right], called)


def _holding(told: Sequence[Turn], prompts: Sequence[Turn]) -> int:
    """How many of the prompts that were read hold those that were told; behind them others may lead by now."""
    left = sum(len(turn.blocks) for turn in told)
    for at, turn in enumerate(prompts):
        if left <= 0:
            return at
        left -= len(turn.blocks)
    return len(prompts)


class _Calls(NamedTuple):
    """The calls of a conversation by their ids."""

    names: dict[str, str]
    places: dict[str, int]
    """Their numbers among all calls."""

    @classmethod
    def of(cls, turns: Sequence[Turn]) -> Self:
        """Those of turns."""
        calls = [block for turn in turns for block in turn.blocks if type(block) is Call]
        return cls(names(turns), {call.id: place for place, call in enumerate(calls)})


_Called = tuple[_Calls, _Calls]
"""Before and after."""


def _of_prompts(before: Sequence[Turn], after: Sequence[Turn], called: _Called) -> Iterator[str]:
    """The differences of system prompts that are as many turns no more."""
    for at, turn in enumerate(before):
        if turn.role not in {each.role for each in after}:
            yield f"turns[{at}].role"
        if turn.instructions and not any(each.instructions for each in after):
            yield f"turns[{at}].instructions"
        yield from _of_native(f"turns[{at}].native", turn.native, after[min(at, len(after) - 1)].native)
    places = [f"turns[{at}].blocks[{place}]" for at, turn in enumerate(before) for place in range(len(turn.blocks))]
    paths = [*places, f"turns[{len(before) - 1}].blocks[0]"]
    blocks = [block for turn in before for block in turn.blocks]
    yield from _of_blocks(paths, blocks, [block for turn in after for block in turn.blocks], called)


def _of_turn(path: str, before: Turn, after: Turn, called: _Called) -> Iterator[str]:
    if before.role != after.role:
        yield f"{path}.role"
    if before.instructions and not after.instructions:
        yield f"{path}.instructions"
    paths = [f"{path}.blocks[{place}]" for place in range(len(before.blocks) + 1)]
    yield from _of_blocks(paths, before.blocks, after.blocks, called)
    yield from _of_native(f"{path}.native", before.native, after.native)


def _of_blocks(paths: list[str], before: Sequence[Block], after: Sequence[Block], called: _Called) -> Iterator[str]:
    """The differences of blocks, each beside the one that it became; there is a path more than there are blocks."""
    if (gone := _gone(before, after)) is not None:
        yield from (paths[at] for at in gone)
        return
    same = [type(block) for block in before] == [type(block) for block in after]
    last = paths[0].rpartition("[")[0]
    here = 0
    pairs = _matched(before, after, () if same else (_spelled, _identity, type))
    lost = [before[a] for a, b in pairs if a is not None and (b is None or type(before[a]) is not type(after[b]))]
    for left, right in pairs:
        if left is None:
            yield f"{last}[+{here}]"
            continue
        here = left + 1
        if right is None:
            yield paths[left]
        elif type(before[left]) is not type(after[right]) and after[right] in lost:  # which moved
            yield f"{last}[+{left}]"
            yield paths[left]
        elif not _are_same(before[left], after[right]):
            yield from _of_block(paths[left], before[left], after[right], called)


def _gone(before: Sequence[Block], after: Sequence[Block]) -> list[int] | None:
    """The places of blocks without which there are those after; ``None`` where others are different, too."""
    found, at = list[int](), 0
    for place, block in enumerate(before):
        if (
            at < len(after)
            and block == after[at]
            and (not _holds_values(block) or _spelled(block) == _spelled(after[at]))
        ):
            at += 1
        else:
            found.append(place)
    return found if at == len(after) else None


def _of_block(path: str, before: Block, after: Block, called: _Called) -> Iterator[str]:
    if type(before) is not type(after):
        yield path
        return
    for field in before.__struct_fields__:
        if field in _NOT_COMPARED:
            continue
        if _differs(before, after, field) and not _says_the_same(field, before, after, called):
            yield f"{path}.{field}"
    if isinstance(before, Result) and isinstance(after, Result):
        paths = [f"{path}.content[{place}]" for place in range(len(before.content) + 1)]
        yield from _of_blocks(paths, before.content, after.content, called)
    yield from _of_native(f"{path}.native", getattr(before, "native", {}), getattr(after, "native", {}))


def _differs(before: Block, after: Block, field: str) -> bool:
    old, new = getattr(before, field), getattr(after, field)
    return old != new or (field == "value" and _sorted(old) != _sorted(new))


def _says_the_same(field: str, before: Block, after: Block, called: _Called) -> bool:
    """Whether two values of a field that differ say the same."""
    old, new = getattr(before, field), getattr(after, field)
    if field == "name" and isinstance(before, Result) and isinstance(after, Result):
        return (old or called[0].names.get(before.id, "")) == (new or called[1].names.get(after.id, ""))
    if field == "id" and getattr(before, "made_up", False):
        return not isinstance(before, Result) or called[0].places.get(old) == called[1].places.get(new)
    if field in _BY_VALUE and not getattr(before, "custom", False):
        return _sorted(jsonio.value(old, [old])) == _sorted(jsonio.value(new, [new]))
    if field in _ADDED:
        return not old
    return not isinstance(old, str | bool | None) and _sorted(old) == _sorted(new)


def _sorted(value: Json) -> bytes:
    return jsonio.dumps(value, sort_keys=True)


def _of_native(path: str, before: Native, after: Native) -> Iterator[str]:
    """The members that only a provider knows and that did not come back."""
    for provider, members in before.items():
        other = after.get(provider, {})
        for name, value in members.items():
            if name not in other or _sorted(other[name]) != _sorted(value):
                yield f"{path}.{provider}.{name}"


# Which became which


def _matched(
    before: Sequence[Any], after: Sequence[Any], keys: tuple[Callable[[Any], Hashable], ...]
) -> list[_Counterparts]:
    """The pairs of two runs; what one key leaves is matched by the next, what all leave by its place."""
    if not (keys and before and after):
        return list(zip_longest(range(len(before)), range(len(after))))
    key, *others = keys
    found: list[_Counterparts] = []
    i = j = 0
    for left, right in [*_met(list(map(key, before)), list(map(key, after))), (len(before), len(after))]:
        inner = _matched(before[i:left], after[j:right], tuple(others))
        found += [(None if a is None else i + a, None if b is None else j + b) for a, b in inner]
        found += [(left, right)] if left < len(before) else []
        i, j = left + 1, right + 1
    return found


def _met(left: list[Hashable], right: list[Hashable]) -> Iterator[tuple[int, int]]:
    """The places where two runs say the same, in order; the next is the one that passes over the least of both."""
    places: dict[Hashable, list[int]] = {}
    for place, value in enumerate(right):
        places.setdefault(value, []).append(place)
    i = j = 0
    while (found := _nearest(left, places, i, j)) is not None:
        yield found
        i, j = found[0] + 1, found[1] + 1


def _nearest(left: list[Hashable], places: dict[Hashable, list[int]], i: int, j: int) -> tuple[int, int] | None:
    """The next of them from ``i`` and ``j`` on; what is looked at is passed over, so repetitions cost nothing."""
    found: tuple[int, int] | None = None
    for at in range(i, len(left)):
        if found and at - i >= found[0] - i + found[1] - j:
            break
        same = places.get(left[at], [])
        next_one = bisect_left(same, j)
        if next_one < len(same) and (not found or at + same[next_one] < sum(found)):
            found = at, same[next_one]
    return found


def _spelled(value: Turn | Block) -> Hashable:
    """All that a turn or a block says."""
    return jsonio.dumps(msgspec.to_builtins(value))


def _links(turn: Turn) -> Hashable:
    """What a turn is in a conversation: who speaks, which calls it makes, which ones it answers."""
    return _speaker(turn), tuple(block.id for block in turn.blocks if isinstance(block, Call | Result))


def _speaker(turn: Turn) -> Hashable:
    """Who speaks; developers say what the system says."""
    return "system" if turn.role in PROMPTS else turn.role


def _identity(block: Block) -> Hashable:
    return type(block), block.id if isinstance(block, Call | Result | HostedCall) else ""


# Tools


def _of_tools(before: list[Tool], after: list[Tool]) -> Iterator[str]:
    if jsonio.dumps(before) == jsonio.dumps(after):
        return
    for at, (left, right) in enumerate(zip_longest(before, after)):
        yield from _of_json(f"tools[{at}]", left, right)


def _of_json(path: str, before: Json, after: Json) -> Iterator[str]:
    """The differences of JSON values; a null says no more than what is not there."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *sorted(after.keys() - before.keys())]:
            if key == "type" and path.endswith(".parameters") and key not in before and after[key] == "object":
                continue  # which parameters always are
            if isinstance(before.get(key), Private) or isinstance(after.get(key), Private):
                yield from _of_native(f"{path}.native", private(before), private(after))
            else:
                yield from _of_json(f"{path}.{key}", before.get(key), after.get(key))
    elif isinstance(before, list) and isinstance(after, list):
        for at, (left, right) in enumerate(zip_longest(before, after)):
            yield from _of_json(f"{path}[{at}]", left, right)
    elif jsonio.dumps(before) != jsonio.dumps(after):
        yield path
