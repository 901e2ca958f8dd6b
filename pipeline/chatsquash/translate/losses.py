"""What a format cannot hold of a conversation is found by writing it and reading it back."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property, lru_cache
from itertools import zip_longest
from typing import Any

import msgspec

from chatsquash.core import jsonio
from chatsquash.core.blocks import FORM, PROMPTS, Block, Call, HostedResult, Native, Other, Result, Text, Turn
from chatsquash.core.chat import Private, private
from chatsquash.core.model import Conversation, Json, Tool
from chatsquash.formats.calls import EMPTY
from chatsquash.formats.definition_cache import once_per_definition
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.formats.writing import leading_prompts, with_tool_names
from chatsquash.translate import pairing

_INDEX = re.compile(r"\[(\+?)\d+\]")
_ADDED = ("name", "mime", "apart", "provider")
"""Fields that a format may add where there was nothing."""
_NOT_COMPARED = ("native", "made_up", "content")
_HOLDERS = ("more", "message", "function", "custom", "functionCall", "functionResponse", "inlineData", "fileData")
"""Native members that only hold others, each of which is told by itself."""
_OF_PARAMETERS: tuple[tuple[str, Json], ...] = (("type", "object"), ("properties", {}))
"""Members that say of parameters what holds for all of them, or nothing."""


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
    front of ``turns[3]`` is ``turns[+3]``, one that stands elsewhere than it did is ``turns[3].place``.  What a
    format only adds is no difference where it says nothing new: members that only its provider knows, and the name of
    a result that its call tells.  Where ``like`` has as many turns as ``after`` behind the prompts that lead, those
    tell which became which.
    """
    place = [] if before.branch == after.branch else ["branch"]
    turns_before, read = turns_of(before), turns_of(after)
    if len(turns_before) == len(read) and all(map(_are_same, turns_before, read)):
        turns: Iterable[str] = ()
    else:
        turns = _of_turns(with_tool_names(turns_before)[0], with_tool_names(read)[0], turns_of(like) if like else read)
    return [*place, *_of_native("native", before.native, after.native), *turns, *of_tools(before.tools, after.tools)]


@lru_cache(1 << 12)
def kind(path: str) -> str:
    """A path without its indices, by which losses are counted."""
    return _INDEX.sub(r"[\1]", path)


# What is the same


def _are_same(one: Turn | Block, other: Turn | Block) -> bool:
    """Whether two are equal, and the same JSON, which ``1`` and ``True`` are not."""
    return one == other and (not _holds_values(one) or _spelled(one) == _spelled(other))


def _holds_values(part: Turn | Block) -> bool:
    """Whether something may hold other JSON than texts."""
    of = type(part)
    if of is Text or part.native:
        return bool(part.native)
    inner = part.blocks if of is Turn else part.content if of is Result else ()  # type: ignore[union-attr]
    return of is Other or of is HostedResult or any(map(_holds_values, inner))


def _spelled(value: Turn | Block) -> bytes:
    return jsonio.dumps(msgspec.to_builtins(value))


def _canonical(value: Json) -> bytes:
    return jsonio.dumps(value, sort_keys=True)


class _Calls:
    """The calls of a conversation by their ids."""

    def __init__(self, turns: tuple[Turn, ...]) -> None:
        self._turns = turns

    @cached_property
    def names(self) -> dict[str, str]:
        """Those of their tools."""
        return with_tool_names(self._turns)[1]

    @cached_property
    def places(self) -> dict[str, int]:
        """Their numbers among all calls."""
        calls = (block for turn in self._turns for block in turn.blocks if type(block) is Call)
        return {call.id: place for place, call in enumerate(calls)}


_Called = tuple[_Calls, _Calls]
"""Before and after."""


# Turns


def _of_turns(before: tuple[Turn, ...], after: tuple[Turn, ...], like: Sequence[Turn]) -> Iterator[str]:
    """The differences of turns; prompts that lead are one, however many turns they are."""
    called = _Calls(before), _Calls(after)
    led, seen = _leading(before, like)
    read = seen - max(len(like) - len(after), 0)
    here = first = 0
    if 0 < read < len(led):
        here = first = led[-1] + 1
        yield from _of_prompts(before, led, after[:read], called)
        yield from (f"turns[{at}]" for at in range(first) if at not in led)
        after, like = after[read:], like[seen:]
    left = before[first:]
    like = like if len(like) == len(after) else after
    for a, b, is_moved in pairing.of_turns(left, like):
        if a is None:
            yield f"turns[+{here}]"
            continue
        path, here = f"turns[{first + a}]", first + a + 1
        if b is None:
            yield path
        else:
            if is_moved:
                yield f"{path}.place"
            if not _are_same(left[a], after[b]):
                yield from _of_turn(path, left[a], after[b], called)


def _leading(before: Sequence[Turn], like: Sequence[Turn]) -> tuple[Sequence[int], int]:
    """The places of the prompts that lead, and how many of those that lead in what was read hold them.

    One behind turns that are not held leads, too, where it says what was read next.
    """
    shown = leading_prompts(like)
    read = [block for turn in shown for block in turn.blocks]
    led = list(range(len(leading_prompts(before))))
    count = sum(len(before[at].blocks) for at in led)
    behind = len(before) - len(like) + len(shown)
    for at in range(len(led), behind if 0 < count < len(read) else 0):
        if before[at].role in PROMPTS:
            blocks = before[at].blocks
            if not blocks or _texts(blocks) != _texts(read[count : count + len(blocks)]):
                break
            led.append(at)
            count += len(blocks)
    for at, turn in enumerate(shown):
        if count <= 0:
            return led, at
        count -= len(turn.blocks)
    return led, len(shown)


def _texts(blocks: Iterable[Block]) -> list[Any]:
    return [getattr(block, "text", None) for block in blocks]


def _of_prompts(before: Sequence[Turn], led: Sequence[int], after: Sequence[Turn], called: _Called) -> Iterator[str]:
    """The differences of system prompts that are as many turns no more."""
    for number, at in enumerate(led):
        turn = before[at]
        if turn.role not in {each.role for each in after}:
            yield f"turns[{at}].role"
        if turn.instructions and not any(each.instructions for each in after):
            yield f"turns[{at}].instructions"
        yield from _of_native(f"turns[{at}].native", turn.native, after[min(number, len(after) - 1)].native)
    paths = [f"turns[{at}].blocks[{place}]" for at in led for place in range(len(before[at].blocks))]
    blocks = [block for at in led for block in before[at].blocks]
    yield from _of_blocks("turns[0].blocks", blocks, [block for turn in after for block in turn.blocks], called, paths)


def _of_turn(path: str, before: Turn, after: Turn, called: _Called) -> Iterator[str]:
    if before.role != after.role:
        yield f"{path}.role"
    if before.instructions and not after.instructions:
        yield f"{path}.instructions"
    yield from _of_blocks(f"{path}.blocks", before.blocks, after.blocks, called)
    yield from _of_native(f"{path}.native", before.native, after.native)


# Blocks


def _of_blocks(
    holder: str, before: Sequence[Block], after: Sequence[Block], called: _Called, paths: Sequence[str] = ()
) -> Iterator[str]:
    """The differences of blocks, each beside the one that it became; ``paths`` are theirs, if not one holder's."""
    paths = paths or [f"{holder}[{place}]" for place in range(len(before))]
    if (gone := _missing_places(before, after)) is not None:
        yield from (paths[at] for at in gone)
        return
    here = 0
    for a, b, is_moved in pairing.of_blocks(before, after):
        if a is None:
            yield f"{holder}[+{here}]"
            continue
        here = a + 1
        if b is None or type(before[a]) is not type(after[b]):
            yield paths[a]
        else:
            if is_moved:
                yield f"{paths[a]}.place"
            if not _are_same(before[a], after[b]):
                yield from _of_block(paths[a], before[a], after[b], called)


def _missing_places(before: Sequence[Block], after: Sequence[Block]) -> list[int] | None:
    """The places of blocks without which there are those after; ``None`` where others are different, too."""
    places = list[int]()
    for place, block in enumerate(before):
        at = place - len(places)
        if at == len(after) or not _are_same(block, after[at]):
            places.append(place)
    return places if len(before) - len(places) == len(after) else None


def _of_block(path: str, before: Block, after: Block, called: _Called) -> Iterator[str]:
    for field in before.__struct_fields__:
        if field not in _NOT_COMPARED and _is_lost(field, before, after, called):
            yield f"{path}.{field}"
    if isinstance(before, Result) and isinstance(after, Result):
        yield from _of_blocks(f"{path}.content", before.content, after.content, called)
    yield from _of_native(f"{path}.native", before.native, after.native)


def _is_lost(field: str, before: Block, after: Block, called: _Called) -> bool:
    """Whether a field says something else."""
    old, new = getattr(before, field), getattr(after, field)
    if field == "value":
        return _canonical(old) != _canonical(new)
    if old == new:
        return False
    if field == "arguments" and not getattr(before, "custom", False):  # white space and order say nothing in JSON
        return _canonical(jsonio.value(old or "{}", [old])) != _canonical(jsonio.value(new or "{}", [new]))
    if field == "id" and getattr(before, "made_up", False):
        return type(before) is Result and called[0].places.get(old) != called[1].places.get(new)
    if field == "name" and isinstance(before, Result) and isinstance(after, Result):
        return (old or called[0].names.get(before.id, "")) != (new or called[1].names.get(after.id, ""))
    return bool(old) or field not in _ADDED


def _of_native(path: str, before: Native, after: Native) -> Iterator[str]:
    """The members that only a provider knows and that did not come back."""
    for provider, members in before.items():
        if provider != FORM:
            yield from _of_members(f"{path}.{provider}", members, after.get(provider, {}))


def _of_members(path: str, before: dict[str, Json], after: dict[str, Json]) -> Iterator[str]:
    for name, value in before.items():
        other = after.get(name, {} if name in _HOLDERS else None)
        if name not in after and value in EMPTY:
            continue  # required by its provider, though it says nothing
        if isinstance(value, dict) and isinstance(other, dict):
            yield from _of_members(f"{path}.{name}", value, other)
        elif name not in after or _canonical(value) != _canonical(other):
            yield f"{path}.{name}"


# Tools


def of_tools(before: list[Tool], after: list[Tool]) -> Iterator[str]:
    """The differences of definitions."""
    for at, (left, right) in enumerate(zip_longest(before, after)):
        yield from [f"tools[{at}]{path}" for path in _of_tool(left, right)]


@once_per_definition
def _of_tool(before: Json, after: Json) -> list[str]:
    """The differences of a definition, whose path is empty."""
    if before is None or after is None:
        return [] if before is after else [""]
    if _have_same_members(before, after) or jsonio.dumps(before) == jsonio.dumps(after):
        return []
    return list(_of_json("", before, after))


def _have_same_members(left: Json, right: Json, depth: int = 2) -> bool:
    """Whether two objects have the same texts and the same values, which writing and reading mostly hand through."""
    if left is right or (type(left) is str and left == right):
        return True
    if not depth or type(left) is not dict or type(right) is not dict or left.keys() != right.keys():
        return False
    return all(_have_same_members(value, right[name], depth - 1) for name, value in left.items())


def _of_json(path: str, before: Json, after: Json) -> Iterator[str]:
    """The differences of JSON values; a null says no more than what is not there."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *sorted(after.keys() - before.keys())]:
            if path.endswith(".parameters") and key not in before and (key, after[key]) in _OF_PARAMETERS:
                continue
            if isinstance(before.get(key), Private) or isinstance(after.get(key), Private):
                yield from _of_native(f"{path}.native", private(before), private(after))
            else:
                yield from _of_json(f"{path}.{key}", before.get(key), after.get(key))
    elif isinstance(before, list) and isinstance(after, list):
        for at, (left, right) in enumerate(zip_longest(before, after)):
            yield from _of_json(f"{path}[{at}]", left, right)
    elif jsonio.dumps(before) != jsonio.dumps(after):
        yield path
