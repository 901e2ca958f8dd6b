"""Compares a conversation with the result of writing it in a format and reading it back, to list the losses."""

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
from chatsquash.formats.definitions import once_per_definition
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.formats.writing import leading_prompts, with_tool_names
from chatsquash.translate import pairing

_INDEX = re.compile(r"\[(\+?)\d+\]")
_OPTIONAL = ("name", "mime", "apart", "provider")
"""Fields that a format may add if they were empty."""
_NOT_COMPARED = ("native", "made_up", "content")
_WRAPPERS = ("more", "message", "function", "custom", "functionCall", "functionResponse", "inlineData", "fileData")
"""Native members that only wrap other members, which are compared one by one."""
_PARAMETER_DEFAULTS: tuple[tuple[str, Json], ...] = (("type", "object"), ("properties", {}))
"""Members of parameters that a format may add, since they mean the same as their absence."""


class Losses(list[str]):
    """The paths of content that a format cannot express, in order, such as ``turns[2].blocks[0].signature``."""

    kept_for_chatsquash: list[str]
    """The paths of content that only chatsquash can restore, from a mark that it wrote."""

    def __init__(self, paths: Iterable[str] = (), kept_for_chatsquash: Iterable[str] = ()) -> None:
        super().__init__(paths)
        self.kept_for_chatsquash = list(kept_for_chatsquash)


def differences(before: Conversation, after: Conversation, like: Conversation | None = None) -> list[str]:
    """Return the paths at which a conversation lost or changed content, in order.

    Turns and blocks are matched first, so a missing one is a single path.  A turn inserted before ``turns[3]`` is
    ``turns[+3]``, a moved one is ``turns[3].place``.  Additions without new information are not differences: members
    that only the provider uses, and the name of a result that its call has.

    Args:
        before: The conversation as written.
        after: The conversation as read.
        like: Another reading of the same document.  If it has as many turns as ``after`` following the leading
            prompts, its turns decide which turns match.
    """
    branch = [] if before.branch == after.branch else ["branch"]
    turns_before, turns_after = turns_of(before), turns_of(after)
    if len(turns_before) == len(turns_after) and all(map(_are_equal, turns_before, turns_after)):
        turns: Iterable[str] = ()
    else:
        turns = _turn_differences(
            with_tool_names(turns_before)[0], with_tool_names(turns_after)[0], turns_of(like) if like else turns_after
        )
    return [
        *branch,
        *_native_differences("native", before.native, after.native),
        *turns,
        *tool_differences(before.tools, after.tools),
    ]


@lru_cache(1 << 12)
def kind(path: str) -> str:
    """Return a path without its indices, under which losses are counted."""
    return _INDEX.sub(r"[\1]", path)


# Equality


def _are_equal(one: Turn | Block, other: Turn | Block) -> bool:
    """Return whether two parts are equal in Python and in JSON, where ``1`` and ``true`` differ."""
    return one == other and (not _has_json_values(one) or _serialize(one) == _serialize(other))


def _has_json_values(part: Turn | Block) -> bool:
    """Return whether a part may contain JSON values other than strings."""
    kind = type(part)
    if kind is Text or part.native:
        return bool(part.native)
    inner = part.blocks if kind is Turn else part.content if kind is Result else ()  # type: ignore[union-attr]
    return kind is Other or kind is HostedResult or any(map(_has_json_values, inner))


def _serialize(value: Turn | Block) -> bytes:
    return jsonio.dumps(msgspec.to_builtins(value))


def _canonical(value: Json) -> bytes:
    return jsonio.dumps(value, sort_keys=True)


class _Calls:
    """Facts about the calls of a conversation, by their ids."""

    def __init__(self, turns: tuple[Turn, ...]) -> None:
        self._turns = turns

    @cached_property
    def names(self) -> dict[str, str]:
        """The names of their tools."""
        return with_tool_names(self._turns)[1]

    @cached_property
    def places(self) -> dict[str, int]:
        """Their positions among all calls."""
        calls = (block for turn in self._turns for block in turn.blocks if type(block) is Call)
        return {call.id: place for place, call in enumerate(calls)}


_CallIndexes = tuple[_Calls, _Calls]
"""The calls before and after."""


# Turns


def _turn_differences(before: tuple[Turn, ...], after: tuple[Turn, ...], like: Sequence[Turn]) -> Iterator[str]:
    """Yield the differences of turns; leading prompts are compared as one, however many turns they are."""
    calls = _Calls(before), _Calls(after)
    leading, leading_count = _leading(before, like)
    leading_after = leading_count - max(len(like) - len(after), 0)
    here = first = 0
    if 0 < leading_after < len(leading):
        here = first = leading[-1] + 1
        yield from _prompt_differences(before, leading, after[:leading_after], calls)
        yield from (f"turns[{at}]" for at in range(first) if at not in leading)
        after, like = after[leading_after:], like[leading_count:]
    remaining = before[first:]
    like = like if len(like) == len(after) else after
    for a, b, is_moved in pairing.pair_turns(remaining, like):
        if a is None:
            yield f"turns[+{here}]"
            continue
        path, here = f"turns[{first + a}]", first + a + 1
        if b is None:
            yield path
        else:
            if is_moved:
                yield f"{path}.place"
            if not _are_equal(remaining[a], after[b]):
                yield from _differences_of_turn(path, remaining[a], after[b], calls)


def _leading(before: Sequence[Turn], like: Sequence[Turn]) -> tuple[Sequence[int], int]:
    """Return the indices of the leading prompts, and how many leading turns contain them after reading.

    A prompt that follows dropped turns is a leading one too if its texts were read next.
    """
    prompts = leading_prompts(like)
    blocks_after = [block for turn in prompts for block in turn.blocks]
    leading = list(range(len(leading_prompts(before))))
    count = sum(len(before[at].blocks) for at in leading)
    end = len(before) - len(like) + len(prompts)
    for at in range(len(leading), end if 0 < count < len(blocks_after) else 0):
        if before[at].role in PROMPTS:
            blocks = before[at].blocks
            if not blocks or _texts(blocks) != _texts(blocks_after[count : count + len(blocks)]):
                break
            leading.append(at)
            count += len(blocks)
    for at, turn in enumerate(prompts):
        if count <= 0:
            return leading, at
        count -= len(turn.blocks)
    return leading, len(prompts)


def _texts(blocks: Iterable[Block]) -> list[Any]:
    return [getattr(block, "text", None) for block in blocks]


def _prompt_differences(
    before: Sequence[Turn], leading: Sequence[int], after: Sequence[Turn], calls: _CallIndexes
) -> Iterator[str]:
    """Yield the differences of system prompts that were joined into fewer turns."""
    for number, at in enumerate(leading):
        turn = before[at]
        if turn.role not in {each.role for each in after}:
            yield f"turns[{at}].role"
        if turn.instructions and not any(each.instructions for each in after):
            yield f"turns[{at}].instructions"
        yield from _native_differences(f"turns[{at}].native", turn.native, after[min(number, len(after) - 1)].native)
    paths = [f"turns[{at}].blocks[{place}]" for at in leading for place in range(len(before[at].blocks))]
    blocks = [block for at in leading for block in before[at].blocks]
    yield from _block_differences(
        "turns[0].blocks", blocks, [block for turn in after for block in turn.blocks], calls, paths
    )


def _differences_of_turn(path: str, before: Turn, after: Turn, calls: _CallIndexes) -> Iterator[str]:
    if before.role != after.role:
        yield f"{path}.role"
    if before.instructions and not after.instructions:
        yield f"{path}.instructions"
    yield from _block_differences(f"{path}.blocks", before.blocks, after.blocks, calls)
    yield from _native_differences(f"{path}.native", before.native, after.native)


# Blocks


def _block_differences(
    holder: str, before: Sequence[Block], after: Sequence[Block], calls: _CallIndexes, paths: Sequence[str] = ()
) -> Iterator[str]:
    """Yield the differences of matching blocks; ``paths`` names the blocks if they come from several turns."""
    paths = paths or [f"{holder}[{place}]" for place in range(len(before))]
    if (missing := _missing_places(before, after)) is not None:
        yield from (paths[at] for at in missing)
        return
    here = 0
    for a, b, is_moved in pairing.pair_blocks(before, after):
        if a is None:
            yield f"{holder}[+{here}]"
            continue
        here = a + 1
        if b is None or type(before[a]) is not type(after[b]):
            yield paths[a]
        else:
            if is_moved:
                yield f"{paths[a]}.place"
            if not _are_equal(before[a], after[b]):
                yield from _differences_of_block(paths[a], before[a], after[b], calls)


def _missing_places(before: Sequence[Block], after: Sequence[Block]) -> list[int] | None:
    """Return the indices of missing blocks if that is the only difference; ``None`` otherwise."""
    places = list[int]()
    for place, block in enumerate(before):
        at = place - len(places)
        if at == len(after) or not _are_equal(block, after[at]):
            places.append(place)
    return places if len(before) - len(places) == len(after) else None


def _differences_of_block(path: str, before: Block, after: Block, calls: _CallIndexes) -> Iterator[str]:
    for field in before.__struct_fields__:
        if field not in _NOT_COMPARED and _is_lost(field, before, after, calls):
            yield f"{path}.{field}"
    if isinstance(before, Result) and isinstance(after, Result):
        yield from _block_differences(f"{path}.content", before.content, after.content, calls)
    yield from _native_differences(f"{path}.native", before.native, after.native)


def _is_lost(field: str, before: Block, after: Block, calls: _CallIndexes) -> bool:
    """Return whether the meaning of a field has changed."""
    old, new = getattr(before, field), getattr(after, field)
    if field == "value":
        return _canonical(old) != _canonical(new)
    if old == new:
        return False
    if field == "arguments" and not getattr(
        before, "custom", False
    ):  # white space and order are not significant in JSON
        return _canonical(jsonio.value(old or "{}", [old])) != _canonical(jsonio.value(new or "{}", [new]))
    if field == "id" and getattr(before, "made_up", False):
        return type(before) is Result and calls[0].places.get(old) != calls[1].places.get(new)
    if field == "name" and isinstance(before, Result) and isinstance(after, Result):
        return (old or calls[0].names.get(before.id, "")) != (new or calls[1].names.get(after.id, ""))
    return bool(old) or field not in _OPTIONAL


def _native_differences(path: str, before: Native, after: Native) -> Iterator[str]:
    """Yield the provider-specific members that were lost or changed."""
    for provider, members in before.items():
        if provider != FORM:
            yield from _member_differences(f"{path}.{provider}", members, after.get(provider, {}))


def _member_differences(path: str, before: dict[str, Json], after: dict[str, Json]) -> Iterator[str]:
    for name, value in before.items():
        other = after.get(name, {} if name in _WRAPPERS else None)
        if name not in after and value in EMPTY:
            continue  # the provider requires the member even if it is empty
        if isinstance(value, dict) and isinstance(other, dict):
            yield from _member_differences(f"{path}.{name}", value, other)
        elif name not in after or _canonical(value) != _canonical(other):
            yield f"{path}.{name}"


# Tools


def tool_differences(before: list[Tool], after: list[Tool]) -> Iterator[str]:
    """Yield the differences of tool definitions."""
    for at, (old, new) in enumerate(zip_longest(before, after)):
        yield from [f"tools[{at}]{path}" for path in _differences_of_tool(old, new)]


@once_per_definition
def _differences_of_tool(before: Json, after: Json) -> list[str]:
    """Return the differences of a definition, as paths relative to it."""
    if before is None or after is None:
        return [] if before is after else [""]
    if _have_same_members(before, after) or jsonio.dumps(before) == jsonio.dumps(after):
        return []
    return list(_json_differences("", before, after))


def _have_same_members(one: Json, other: Json, depth: int = 2) -> bool:
    """Return whether two objects share their values, the quick check for unchanged definitions."""
    if one is other or (type(one) is str and one == other):
        return True
    if not depth or type(one) is not dict or type(other) is not dict or one.keys() != other.keys():
        return False
    return all(_have_same_members(value, other[name], depth - 1) for name, value in one.items())


def _json_differences(path: str, before: Json, after: Json) -> Iterator[str]:
    """Yield the differences of JSON values; null equals a missing member."""
    if isinstance(before, dict) and isinstance(after, dict):
        for key in [*before, *sorted(after.keys() - before.keys())]:
            if path.endswith(".parameters") and key not in before and (key, after[key]) in _PARAMETER_DEFAULTS:
                continue
            if isinstance(before.get(key), Private) or isinstance(after.get(key), Private):
                yield from _native_differences(f"{path}.native", private(before), private(after))
            else:
                yield from _json_differences(f"{path}.{key}", before.get(key), after.get(key))
    elif isinstance(before, list) and isinstance(after, list):
        for at, (old, new) in enumerate(zip_longest(before, after)):
            yield from _json_differences(f"{path}[{at}]", old, new)
    elif jsonio.dumps(before) != jsonio.dumps(after):
        yield path
