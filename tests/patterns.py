"""Every pattern of the package with the ways it is used, and texts made of a pattern that are hard for it.

A site is an expression that names a function of ``re``, or a method of a compiled pattern that a module holds.
"""

import ast
import gc
import importlib
import itertools
import pkgutil
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from re import _constants as ops
from re import _parser as parser
from types import ModuleType
from typing import Any, NamedTuple

import chatsquash
from chatsquash.core.lazy import LazyPattern

FUNCTIONS = ("search", "match", "fullmatch", "sub", "subn", "split", "findall", "finditer")
Text = str | bytes
_REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT)


# Where patterns are


@cache
def modules() -> list[ModuleType]:
    """All modules of the package but the one that runs the command."""
    names = [each.name for each in pkgutil.walk_packages(chatsquash.__path__, "chatsquash.")]
    return [chatsquash, *(importlib.import_module(name) for name in names if not name.endswith("__main__"))]


def patterns_in(value: Any, depth: int = 3) -> Iterator[re.Pattern[Any]]:
    """The compiled patterns in a value, and in its members."""
    if isinstance(value, LazyPattern):
        yield value.compile()
    elif isinstance(value, re.Pattern):
        yield value
    elif depth:
        inside: Any = ()
        if isinstance(value, dict):
            inside = value.values()
        elif isinstance(value, list | tuple | set | frozenset):
            inside = value
        elif is_dataclass(value) and not isinstance(value, type):
            inside = [getattr(value, field.name) for field in fields(value)]
        for each in inside:
            yield from patterns_in(each, depth - 1)


class Site(NamedTuple):
    """Where a pattern is used or compiled: the module, what is written there, and what is done with the pattern."""

    module: str
    source: str
    way: str
    pattern: re.Pattern[Any] | None
    """``None`` where only the running code knows it."""


@cache
def sites(module: ModuleType) -> list[Site]:
    """The sites of a module, those aside that compile what the module holds from then on."""
    return [*_sites(module)]


def _sites(module: ModuleType) -> Iterator[Site]:
    tree = _parsed(module)
    called = {id(node.func): node for node in ast.walk(tree) if isinstance(node, ast.Call)}
    lasting = {id(node) for statement in tree.body for node in _at_import(statement)}
    for node in ast.walk(tree):
        if not isinstance(node, ast.Attribute):
            continue
        base = _evaluated(node.value, module)
        if isinstance(base, re.Pattern) and node.attr in FUNCTIONS:
            yield Site(module.__name__, ast.unparse(node), node.attr, base)
        elif base is re and node.attr in (*FUNCTIONS, "compile"):
            call = called.get(id(node))
            if node.attr == "compile" and call and id(node) in lasting:
                continue
            given = _given(call, module) if call else None
            what = ast.unparse(call.args[0]) if call else ast.unparse(node)
            yield Site(module.__name__, what, node.attr, given)


def nodes() -> Iterator[ast.AST]:
    """All that is written in the package."""
    for module in modules():
        yield from ast.walk(_parsed(module))


@cache
def _parsed(module: ModuleType) -> ast.Module:
    with open(module.__file__ or "", encoding="utf-8") as file:
        return ast.parse(file.read())


def _at_import(node: ast.AST) -> Iterator[ast.AST]:
    """What runs when a module is imported."""
    yield node
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        for child in ast.iter_child_nodes(node):
            yield from _at_import(child)


def _evaluated(node: ast.expr, module: ModuleType) -> Any:
    """What a name, or a member of one, is in a module."""
    value = None
    if isinstance(node, ast.Name):
        value = vars(module).get(node.id)
    elif isinstance(node, ast.Attribute) and isinstance(base := _evaluated(node.value, module), ModuleType):
        value = getattr(base, node.attr, None)
    return value.compile() if isinstance(value, LazyPattern) else value


def _given(call: ast.Call, module: ModuleType) -> re.Pattern[Any] | None:
    """The pattern that a call compiles, where what it is given stands in the module."""
    flags = [word.value for word in call.keywords if word.arg == "flags"] + [arg for arg in call.args if _is_flag(arg)]
    try:
        value = eval(ast.unparse(call.args[0]), dict(vars(module)))
    except (NameError, AttributeError):
        return None
    return re.compile(value, eval(ast.unparse(flags[0]), {"re": re}) if flags else 0)


def _is_flag(node: ast.expr) -> bool:
    return ast.unparse(node).startswith("re.") and ast.unparse(node)[3:].isupper()


# Texts that are hard for a pattern


@dataclass(frozen=True)
class Shape:
    """A text of any length: a beginning, something many times, an end."""

    begins: Text
    repeated: Text
    ends: Text

    def of(self, size: int) -> Text:
        return self.begins + self.repeated * (size // len(self.repeated)) + self.ends


def shapes(pattern: re.Pattern[Any]) -> list[Shape]:
    """What a pattern's own alternatives, repeats and beginnings make, many times, behind its beginnings."""
    tree = parser.parse(pattern.pattern, pattern.flags & ~re.DEBUG)
    narrow = isinstance(pattern.pattern, bytes)
    leaves = list(_leaves(tree))
    letters = _letters(leaves, leaves, pattern.flags, narrow=narrow)
    classes = [(op, value) for op, value in leaves if op is not ops.LITERAL] + list(_repeated(tree)) + [_WORD]
    mixed = _letters(leaves, classes, pattern.flags, narrow=narrow)
    begins = list(dict.fromkeys(["", *_beginnings(tree, letters)]))
    words = [*letters, *begins[1:], *map("".join, itertools.permutations(mixed[:14], 2))]
    ends = list(dict.fromkeys(["", mixed[-1]]))
    made = [(b, w, e) for b in begins[:12] for w in dict.fromkeys(words[:300]) for e in ends]
    if narrow:
        return [Shape(*(each.encode("latin-1") for each in three)) for three in made]
    return [Shape(*three) for three in made]


def _letters(leaves: list[Any], classes: list[Any], flags: int, *, narrow: bool) -> list[str]:
    """One character for each way to be in some of the classes and not in others."""
    wanted = [*" \n\r\ta0_-.A\\\"'!\x00", *([] if narrow else ["é", "\u2028"])]
    for op, value in leaves:
        parts = value if op is ops.IN else [(op, value)]
        for kind, part in parts:
            if kind in (ops.LITERAL, ops.NOT_LITERAL):
                wanted.append(chr(part))
            elif kind is ops.RANGE:
                wanted += [chr(part[0]), chr(part[1])]
    by_classes: dict[tuple[bool, ...], str] = {}
    for char in wanted:
        by_classes.setdefault(tuple(_takes(leaf, char, flags) for leaf in classes), char)
    found = sorted(by_classes.items(), key=lambda item: -sum(item[0]))
    return [char for _, char in found]


_WORD = (ops.IN, [(ops.CATEGORY, ops.CATEGORY_WORD)])


def _repeated(tree: Any) -> Iterator[tuple[Any, Any]]:
    """The single characters that a pattern repeats."""
    for op, value in tree:
        for inner in _inner(op, value):
            if op in _REPEATS and len(inner) == 1 and inner[0][0] is ops.LITERAL:
                yield inner[0]
            yield from _repeated(inner)


def _leaves(tree: Any) -> Iterator[tuple[Any, Any]]:
    for op, value in tree:
        if op in (ops.LITERAL, ops.NOT_LITERAL, ops.ANY, ops.IN):
            yield op, value
        for inner in _inner(op, value):
            yield from _leaves(inner)


def _inner(op: Any, value: Any) -> list[Any]:
    """The sequences in a node of a pattern."""
    if op in _REPEATS:
        return [value[2]]
    if op is ops.BRANCH:
        return value[1]
    if op is ops.SUBPATTERN:
        return [value[3]]
    if op is ops.ATOMIC_GROUP:
        return [value]
    return [value[1]] if op in (ops.ASSERT, ops.ASSERT_NOT) else []


def _takes(leaf: tuple[Any, Any], char: str, flags: int) -> bool:
    op, value = leaf
    chars = {ord(char), ord(char.lower()), ord(char.upper()[0])} if flags & re.IGNORECASE else {ord(char)}
    if op is ops.ANY:
        return char != "\n" or bool(flags & re.DOTALL)
    if op is ops.LITERAL:
        return value in chars
    if op is ops.NOT_LITERAL:
        return value not in chars
    negated = value[0][0] is ops.NEGATE
    return negated is not any(_has(item, char, chars) for item in value)


def _has(item: tuple[Any, Any], char: str, chars: set[int]) -> bool:
    kind, part = item
    if kind is ops.LITERAL:
        return part in chars
    if kind is ops.RANGE:
        return any(part[0] <= each <= part[1] for each in chars)
    if kind is ops.CATEGORY:
        name = str(part).removeprefix("CATEGORY_")
        letter = {"DIGIT": "d", "SPACE": "s", "WORD": "w"}[name.removeprefix("NOT_")]
        return bool(re.match(f"\\{letter.upper() if name.startswith('NOT_') else letter}", char))
    return False


def _beginnings(tree: Any, letters: list[str]) -> Iterator[str]:
    """What the pattern, and each sequence in it, may begin with, longer and longer."""
    so_far = [""]
    for op, value in tree:
        for inner in _inner(op, value):
            if op in (ops.ASSERT, ops.ASSERT_NOT):
                continue
            for each in _beginnings(inner, letters):
                yield each
                yield so_far[0] + each
        so_far = [one + more for one in so_far for more in _samples(op, value, letters)][:8]
        yield from (each for each in so_far if each)


def _samples(op: Any, value: Any, letters: list[str]) -> list[str]:
    """Some texts that a node takes; repeats once, and as often as they have to be."""
    if op is ops.LITERAL:
        return [chr(value)]
    if op in (ops.IN, ops.NOT_LITERAL, ops.ANY):
        return [char for char in letters if _takes((op, value), char, 0)][:2] or [""]
    inner = _inner(op, value)
    if op in (ops.ASSERT, ops.ASSERT_NOT) or not inner:
        return [""]
    made = list(dict.fromkeys(text for each in inner for text in _sequence(each, letters)))
    if op in _REPEATS:
        return [text * max(1, value[0]) for text in made] + ([] if value[0] else [""])
    return made


def _sequence(tree: Any, letters: list[str]) -> list[str]:
    made = [""]
    for op, value in tree:
        made = [one + more for one in made for more in _samples(op, value, letters)[:4]][:8]
    return made


# What they cost

FLOOR = 0.01  # seconds: what a MB takes less than this for is linear, whatever the clock says
TIMES = 3
_STEPS = {16: 400, 20: 200, 25: 100, 31: 100, 38: 100, 47: 100, 58: 100, 72: 100, 90: 100, 256: 30, 1000: 10, 4000: 2}
"""Lengths at which shapes are tried, and how many of those that take longest go on to the next."""
_ENORMOUS = 0.1  # seconds, for so few characters
_HALVES = (8_000, 32_000, 500_000)


def cost(work: Callable[[Text], object], text: Text) -> float:
    """CPU time of one go; looking for garbage is not a pattern's business, and comes when it likes."""
    gc.disable()
    started = time.process_time()
    work(text)
    took = time.process_time() - started
    gc.enable()
    return took


def worse_than_linear(work: Callable[[Text], object], tried: list[Shape]) -> str | None:
    """Which of the shapes takes more than ``TIMES`` times as long where it is twice as long, up to a MB; none if none.

    Those that take longest when they are short are looked at, at every doubling: a bad one is known before it takes
    minutes.
    """
    for size, most in _STEPS.items():
        timed: list[tuple[float, int]] = []
        for number, shape in enumerate(tried):
            took = cost(work, shape.of(size))
            if took > _ENORMOUS and min(cost(work, shape.of(size)) for _ in range(2)) > _ENORMOUS:
                return f"{shape}: {size:,} characters take {took:.1f} s"
            timed.append((took, number))
        tried = [tried[number] for _, number in sorted(timed, reverse=True)[:most]]
    for shape in tried:
        for size in _HALVES:
            if (seen := _grown(work, shape, size)) is not None:
                return f"{shape}: {2 * size:,} characters take {seen:.1f} times as long as half of them"
    return None


def _grown(work: Callable[[Text], object], shape: Shape, size: int) -> float | None:
    """How many times as long twice the size takes, where that is too much in several goes."""
    half, whole = shape.of(size), shape.of(2 * size)
    cost(work, half)  # memory that is new to the process takes longer
    less, more = float("inf"), float("inf")
    for _ in range(7):
        more = min(more, cost(work, whole))
        if more < FLOOR:
            return None
        less = min(less, cost(work, half))
        if more <= TIMES * less:
            return None
    return more / less
