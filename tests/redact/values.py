"""Values that fit the rules of the pack, drawn by chance from their shapes."""

from __future__ import annotations

import re
from functools import cache
from random import Random
from re import _constants as ops
from re import _parser as parser
from typing import Any

from chatsquash.redaction import lookalikes
from chatsquash.redaction.rules import Rule
from chatsquash.redaction.shapes import value_of

_CHARS = [chr(code) for code in range(33, 127)]
_LONGER = 24
_REPEATS = (ops.MAX_REPEAT, ops.MIN_REPEAT, ops.POSSESSIVE_REPEAT)


def drawn(rule: Rule, rng: Random) -> str:
    """A text that fits the shape of a rule, and has as much chance in it as a key has."""
    shape = parser.parse(rule.shape)
    while True:
        text = _text(shape, rng)
        found = rule.pattern.fullmatch(text)
        if found and lookalikes.is_shape(value_of(found)[2], rule.entropy):
            return text


def _text(tree: Any, rng: Random) -> str:
    return "".join(_piece(op, value, rng) for op, value in tree)


def _piece(op: Any, value: Any, rng: Random) -> str:
    if op is ops.LITERAL:
        return chr(value)
    if op in (ops.IN, ops.NOT_LITERAL, ops.ANY):
        return rng.choice(_chars(op, tuple(value) if op is ops.IN else value))
    if op in _REPEATS:
        least, most, inner = value
        times = rng.randint(least, min(most, least + _LONGER))
        return "".join(_text(inner, rng) for _ in range(times))
    if op is ops.BRANCH:
        return _text(rng.choice(value[1]), rng)
    if op is ops.SUBPATTERN:
        return _text(value[3], rng)
    return _text(value, rng) if op is ops.ATOMIC_GROUP else ""


@cache
def _chars(op: Any, value: Any) -> list[str]:
    return [char for char in _CHARS if _is_in(op, value, char)] or ["\n"]


def _is_in(op: Any, value: Any, char: str) -> bool:
    if op is not ops.IN:
        return op is ops.ANY or chr(value) != char
    negated = value[0][0] is ops.NEGATE
    return negated is not any(_has(kind, part, char) for kind, part in value)


def _has(kind: Any, part: Any, char: str) -> bool:
    if kind is ops.LITERAL:
        return chr(part) == char
    if kind is ops.RANGE:
        return part[0] <= ord(char) <= part[1]
    if kind is ops.CATEGORY:
        letter = {"DIGIT": "d", "SPACE": "s", "WORD": "w"}[str(part).removeprefix("CATEGORY_").removeprefix("NOT_")]
        return bool(re.match(f"\\{letter}", char)) is not ("NOT_" in str(part))
    return False
