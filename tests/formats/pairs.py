"""What is told as lost, held to what a target's own reader sees.

Both sides are lists of turns as ``msgspec.to_builtins`` spells them, without members that say nothing.  The paths that are
told say which turn and which block became which: ``in_step`` pairs them, and what is left has to be the same, but for
what is told, which has to be different.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from itertools import product, takewhile, zip_longest
from typing import Any

import msgspec

from chatsquash.core.chat import PRIVATE, private
from tests.formats import natives

Object = dict[str, Any]

DEFAULTS = {"arguments": "{}", "outcome": "success", "json": False, "apart": False, "custom": False}
NOT_COMPARED = ("type", "native", "content", "made_up", "blocks")
MAY_BE_ADDED = ("name", "mime", "apart", "provider")
PROMPTS = ("system", "developer")


def spelled(turns: Iterable[Any]) -> list[Object]:
    """Turns as readers give them."""
    found: list[Object] = json.loads(msgspec.json.encode(list(turns)))
    return found


def complaints(source: list[Object], seen: list[Object], told: Iterable[str]) -> list[str]:
    """What is wrong with paths that are told of a source, where a reader of what was written sees this."""
    return _Check(list(map(_bare, source)), list(map(_bare, seen)), list(told)).complaints()


def undefined(source: list[Any], seen: list[Any], told: Iterable[str]) -> list[str]:
    """What is wrong with paths that are told of definitions of tools."""
    paths = {path for path in told if path.startswith("tools") and ".native." not in path}
    differ = set(_differences("tools", _public(source), _public(seen)))
    wrong = [f"{path} differs, which is not told" for path in sorted(differ - paths)]
    wrong += [f"{path} is told, and the same" for path in sorted(paths - differ)]
    for at, known in enumerate(seen[: len(source)]):
        wrong += natives.complaints(f"tools[{at}].native", private(source[at]), known.get("native", {}), set(told))[0]
    return wrong


def _public(value: Any) -> Any:
    """Definitions without what is private."""
    if isinstance(value, list):
        return list(map(_public, value))
    return (
        {key: _public(each) for key, each in value.items() if key not in (PRIVATE, "native")}
        if isinstance(value, dict)
        else value
    )


def _differences(path: str, before: Any, after: Any) -> Iterator[str]:
    if isinstance(before, dict) and isinstance(after, dict):
        for key in before.keys() | after.keys():
            yield from _differences(f"{path}.{key}", before.get(key), after.get(key))
    elif isinstance(before, list) and isinstance(after, list):
        for at, (old, new) in enumerate(zip_longest(before, after)):
            yield from _differences(f"{path}[{at}]", old, new)
    elif not _same(before, after):
        yield path


class _Check:
    def __init__(self, source: list[Object], seen: list[Object], told: list[str]) -> None:
        self.source, self.seen = _named(source), _named(seen)
        self.told = set(told)
        self.added = Counter(path for path in told if "[+" in path)
        self.used = set[str]()
        self.ids = dict[str, str]()
        """What became of the ids of calls."""

    def complaints(self) -> list[str]:
        """What is wrong, if those prompts are taken for the leading ones of which least is: others may have moved up."""
        leading = _leading(self.seen)
        mine = {path for path in self.told if path.startswith(("turns", "blocks"))}
        found: list[list[str]] = []
        merged = [(led, after) for led in self.led() for after in (leading, *range(1, min(leading, len(led))))]
        for (led, after), which in product(merged, (0, -1)):
            self.used = set()
            wrong = list(self.turns(led, after, which))
            found.append(wrong + [f"{path} is told, and the same" for path in sorted(mine - self.used)])
            if not found[-1]:
                break
        return min(found, key=len)

    def led(self) -> list[list[int]]:
        """The places of the prompts that may lead: those in front, and those behind turns that are told as gone."""
        found = [list(range(_leading(self.source)))]
        for at in range(len(found[0]), len(self.source) if found[0] else 0):
            if self.source[at]["role"] in PROMPTS:
                found.append([*found[-1], at])
            elif f"turns[{at}]" not in self.told:
                break
        return found

    # Turns

    def turns(self, led: list[int], after: int, which: int) -> Iterator[str]:
        first = 0
        if 0 < after < len(led):
            yield from self.prompts(led, after)
            first = led[-1] + 1
            self.used |= {f"turns[{at}]" for at in range(first) if at not in led}
        gone = {at for at in range(first, len(self.source)) if f"turns[{at}]" in self.told}
        left = self.seen[after if first else 0 :]
        paths = [f"turns[{at}]" for at in range(first, len(self.source))]
        wrong, moved, left = self.moved(paths, self.source[first:], left, self.turn, which)
        yield from wrong
        for at in range(first, len(self.source) + 1):
            path = f"turns[+{at}]"
            new, left = left[: self.added[path]], left[self.added[path] :]
            self.used |= {path} if new else set()
            if at - first in moved:
                continue
            if at < len(self.source) and at in gone:
                self.used.add(f"turns[{at}]")
                if any(_same(self.source[at], each) for each in new):
                    yield f"turns[{at}] is told as gone, and is there"
            elif at < len(self.source) and left:
                yield from self.turn(f"turns[{at}]", self.source[at], left.pop(0))
            elif at < len(self.source):
                yield f"turns[{at}] is gone, which is not told"
        yield from (f"a turn is new, which is not told: {each}" for each in left)

    def moved(
        self, paths: list[str], before: list[Object], after: list[Object], compare: Callable[..., Any], which: int = 0
    ) -> tuple[list[str], set[int], list[Object]]:
        """What is wrong with what is told to stand elsewhere, its places, and what there is beside it."""
        wrong, left = list[str](), after.copy()
        places = {at for at, path in enumerate(paths) if f"{path}.place" in self.told}
        for at in sorted(places):
            wrong += self.field(f"{paths[at]}.place", list(map(_says, before)), list(map(_says, after)))
            same = [number for number, each in enumerate(left) if _says(each) == _says(before[at])]
            if same:
                wrong += compare(paths[at], before[at], left.pop(same[which]))
            else:
                wrong.append(f"{paths[at]} is told to stand elsewhere, and is not there")
        return wrong, places, left

    def prompts(self, led: list[int], after: int) -> Iterator[str]:
        """Prompts that are as many turns no more are one."""
        held, seen = [self.source[at] for at in led], self.seen[:after]
        roles = {each["role"] for each in seen}
        for number, (at, turn) in enumerate(zip(led, held, strict=True)):
            yield from self.field(f"turns[{at}].role", turn["role"] in roles, seen=True)
            if turn.get("instructions"):
                given = any(each.get("instructions") for each in seen)
                yield from self.field(f"turns[{at}].instructions", value=True, seen=given)
            yield from self.native(f"turns[{at}]", turn, seen[min(number, after - 1)])
        paths = [f"turns[{at}].blocks[{place}]" for at in led for place in range(len(_blocks(self.source[at])))]
        blocks = [[block for turn in turns for block in _blocks(turn)] for turns in (held, seen)]
        yield from self.blocks(paths, "turns[0].blocks", *blocks)

    def turn(self, path: str, before: Object, after: Object) -> Iterator[str]:
        yield from self.field(f"{path}.role", before["role"], after["role"])
        if before.get("instructions"):
            yield from self.field(f"{path}.instructions", value=True, seen=bool(after.get("instructions")))
        yield from self.native(path, before, after)
        paths = [f"{path}.blocks[{place}]" for place in range(len(_blocks(before)))]
        yield from self.blocks(paths, f"{path}.blocks", _blocks(before), _blocks(after))

    # Blocks

    def blocks(self, paths: list[str], last: str, before: list[Object], after: list[Object]) -> Iterator[str]:
        """What is wrong in the first pairing of blocks in which least is."""
        found: list[tuple[list[str], set[str]]] = []
        kept = self.used
        for which in (0, -1):  # of several that say the same
            self.used = set(kept)
            misplaced, places, left = self.moved(paths, before, after, self.pair, which)
            held = [None if at in places else block for at, block in enumerate(before)]
            used = self.used
            for pairs in self.in_step(paths, last, held, left):
                self.used = set(used)
                became = [new for _, old, new in pairs if old and new and new["type"] != old["type"]]
                gone = [old for path, old, _ in pairs if path in self.told and old]
                moved = [new for new in became if any(_same(new, old) for old in gone)]
                wrong = [f"{last}: {each} is told as gone, and is there" for each in moved]
                wrong += [*misplaced, *(each for pair in pairs for each in self.pair(*pair))]
                found.append((wrong, self.used))
                if not wrong:
                    return
        if not found:
            at, seen = f"{last.removesuffix('.blocks')}", [each["type"] for each in after]
            yield f"{at}: {[each['type'] for each in before]} became {seen}, which is not told"
            return
        wrong, self.used = min(found, key=lambda each: len(each[0]))
        yield from wrong

    def in_step(
        self, paths: list[str], last: str, before: list[Object | None], after: list[Object], at: int = 0
    ) -> Iterator[list[tuple[str, Object | None, Object | None]]]:
        """The ways in which blocks may be paired by what is told; one that is gone may have become one of another kind."""
        new = min(self.added[f"{last}[+{at}]"], len(after))
        lead: list[tuple[str, Object | None, Object | None]] = [(f"{last}[+{at}]", None, each) for each in after[:new]]
        after = after[new:]
        if at == len(paths):
            if not after:
                yield lead
            return
        path, block = paths[at], before[at]
        if block is None:
            for rest in self.in_step(paths, last, before, after, at + 1):
                yield [*lead, *rest]
        elif path in self.told:
            for rest in self.in_step(paths, last, before, after, at + 1):
                yield [*lead, (path, block, None), *rest]
            if after and after[0]["type"] != block["type"]:
                for rest in self.in_step(paths, last, before, after[1:], at + 1):
                    yield [*lead, (path, block, after[0]), *rest]
        elif after and after[0]["type"] == block["type"]:
            for rest in self.in_step(paths, last, before, after[1:], at + 1):
                yield [*lead, (path, block, after[0]), *rest]

    def pair(self, path: str, before: Object | None, after: Object | None) -> Iterator[str]:
        if before is None or after is None or before["type"] != after["type"]:
            self.used.add(path)
            return
        for field in sorted((before.keys() | after.keys()) - {*NOT_COMPARED}):
            old, new = _value(before, field), _value(after, field)
            if field == "id" and before["type"] == "call":
                self.ids[str(old)] = str(new)
            if field == "id" and before.get("made_up"):
                old = self.ids.get(str(old), new)
            if field == "arguments" and not before.get("custom"):
                old, new = _parsed(old), _parsed(new)
            if f"{path}.{field}" not in self.told and field in MAY_BE_ADDED and not old:
                continue
            yield from self.field(f"{path}.{field}", old, new)
        yield from self.native(path, before, after)
        if before["type"] == "result":
            held, seen = before.get("content", []), after.get("content", [])
            paths = [f"{path}.content[{place}]" for place in range(len(held))]
            yield from self.blocks(paths, f"{path}.content", held, seen)

    def native(self, path: str, before: Object, after: Object) -> Iterator[str]:
        """Members that only a provider knows may be added."""
        wrong, used = natives.complaints(f"{path}.native", before.get("native", {}), after.get("native", {}), self.told)
        self.used |= used
        yield from wrong

    def field(self, path: str, value: Any, seen: Any) -> Iterator[str]:
        if path in self.told:
            self.used.add(path)
            if _same(value, seen):
                yield f"{path} is told, and the same: {value!r}"
        elif not _same(value, seen):
            yield f"{path} was {value!r}, is {seen!r}, which is not told"


def _bare(holder: Object) -> Object:
    """A turn or a block without members that say nothing."""
    found = {
        key: value for key, value in holder.items() if key == "value" or value not in (None, DEFAULTS.get(key, ""))
    }
    for held in ("blocks", "content"):
        if held in found:
            found[held] = list(map(_bare, found[held]))
    return found


def _leading(turns: list[Object]) -> int:
    return len(list(takewhile(lambda turn: turn["role"] in PROMPTS, turns)))


def _blocks(turn: Object) -> list[Object]:
    found: list[Object] = turn.get("blocks", [])
    return found


def _says(holder: Object) -> Any:
    """What tells a turn or a block from others, whatever a format added to it."""
    if "role" in holder:
        return holder["role"], holder.get("instructions"), [_says(block) for block in _blocks(holder)]
    own = (holder[name] for name in ("text", "id", "data", "url", "file_id") if holder.get(name))
    return holder["type"], next(own, {**holder, "native": {}})


def _named(turns: list[Object]) -> list[Object]:
    """Turns whose results have the names of the calls that they answer: of the nearest turn, one after the other."""
    open_: dict[str, list[str]] = {}
    found: list[Object] = []
    for turn in turns:
        calls = [block for block in _blocks(turn) if block["type"] == "call"]
        open_ |= {str(call.get("id")): [] for call in calls}
        for call in calls:
            open_[str(call.get("id"))].append(call.get("name") or "")
        blocks = []
        for block in _blocks(turn):
            names = open_.get(str(block.get("id")), []) if block["type"] == "result" else []
            name = names.pop(0) if len(names) > 1 else names[0] if names else ""
            blocks.append({**block, "name": block.get("name") or name} if name else block)
        found.append({**turn, "blocks": blocks} if blocks else turn)
    return found


def _value(block: Object, field: str) -> Any:
    value = block.get(field, DEFAULTS.get(field, ""))
    return "" if value is None else value


def _same(one: Any, other: Any) -> bool:
    """Whether values are the same JSON, in whichever order their members stand."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def _parsed(arguments: Any) -> Any:
    try:
        return json.loads(arguments or "{}")  # an empty text is the absence of arguments
    except ValueError:
        return [arguments]
