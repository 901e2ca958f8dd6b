"""Secrets that are known by their shape, looked for where runs of characters look random."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache, partial

from chatsquash.redact import lookalikes
from chatsquash.redact.hits import Hit
from chatsquash.redact.rules import Rule, builtin

_FIRST = 3
"""Characters by which rules are found whose shape begins with a literal."""
_LOOKS_BACK, _NEAR, _END = 48, 40, 4
"""Characters before a run in which its value may begin, and those around it in which a literal may stand."""
_AROUND = 160
"""Characters around a run in which what has the literal within it stands."""
_JOINTS = ".$*~:@!|"
"""Characters that join the pieces of a value, of which only some look random."""
_PARTS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-" + _JOINTS
_INNER = re.compile(r"[/+~](?=[A-Za-z0-9])")
_ESCAPE = re.compile(r"(?:(?<=\\)(?:[nrtfv]|u00[0-9a-f]{2})|(?<=%)[0-9A-Fa-f]{2}|(?<=\[)[0-9;]{0,8}m)")
"""What is left of an escape before a value."""
_SECRET = re.compile(r"secret|bare")


class Shapes:
    """Finds what fits rules by shape."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._by_start: dict[str, list[tuple[str, Rule]]] = {}
        self._wherever = [rule for rule in rules if rule.anywhere or rule.before]
        anywhere: dict[str, list[Rule]] = {}
        for rule in rules:
            for literal in () if rule.before else rule.literals:
                if rule.anywhere:
                    anywhere.setdefault(literal, []).append(rule)
                else:
                    self._by_start.setdefault(literal[:_FIRST], []).append((literal, rule))
        self._lengths = sorted({len(start) for start in self._by_start}, reverse=True)
        self._anywhere = anywhere
        self._within = re.compile("|".join(map(re.escape, sorted(anywhere, reverse=True))) or r"(?!)")

    def around(self, text: str, start: int, end: int) -> list[Hit]:
        """What fits a rule in a run, or with it."""
        hits: list[Hit] = []
        for at in _beginnings(text, start, end):
            for rule in self._beginning(text, at):
                if found := rule.pattern.match(text, at):
                    hits += hit_of(rule, found)
        for found in self._within.finditer(text, max(0, start - _NEAR), end + _END):
            for rule in self._anywhere[found[0]]:
                for match in rule.pattern.finditer(text, max(0, start - _AROUND), end + _AROUND):
                    hits += hit_of(rule, match)
        return hits

    def may_begin(self, text: str, at: int) -> bool:
        """Whether what begins at a place may fit a rule."""
        starts = (at, text.rfind("=", at) + 1 or at, text.rfind(":", at) + 1 or at)
        return any(map(partial(self._beginning, text), starts)) or bool(self._within.search(text, at))

    def kind(self, value: str) -> str | None:
        """The kind of a value that fits a rule whole."""
        for rule in (*self._beginning(value, 0), *self._wherever):
            found = rule.pattern.fullmatch(value)
            if found and value_of(found)[2] == value:
                return rule.kind
        return None

    def _beginning(self, text: str, at: int) -> list[Rule]:
        """The rules with a literal that stands at a place."""
        rules: list[Rule] = []
        for length in self._lengths:
            if told := self._by_start.get(text[at : at + length]):
                rules += [rule for literal, rule in told if text.startswith(literal, at)]
        return rules


@cache
def builtin_shapes() -> Shapes:
    """Those of the pack."""
    return Shapes([rule for rule in builtin() if rule.value == "shape"])


@lru_cache(maxsize=4096)
def kind_of(value: str) -> str:
    """The kind of a value by its shape, ``SECRET`` for one that only its place makes a secret."""
    return builtin_shapes().kind(value) or "SECRET"


def hit_of(rule: Rule, found: re.Match[str]) -> Iterator[Hit]:
    """The hit of a match, where its value is no look-alike."""
    start, end, value = value_of(found)
    if lookalikes.CHECKS[rule.value](value, rule.entropy):
        yield Hit(start, end, kind_of(value), rule.name, value)


def value_of(found: re.Match[str]) -> tuple[int, int, str]:
    """Where the value of a match stands, and the value."""
    for name, value in found.groupdict().items():
        if value is not None and _SECRET.match(name):
            return (*found.span(name), value)
    return (*found.span(), found[0])


def _beginnings(text: str, start: int, end: int) -> Iterable[int]:
    """Where a value may begin that a run is part of."""
    begins = [start]
    if start and text[start - 1] in _JOINTS:
        window = text[max(0, start - _LOOKS_BACK) : start]
        begins.append(start - len(window) + len(window.rstrip(_PARTS)))
        begins.append(start - len(window) + len(window.rstrip(_PARTS + "/")))
        if (colon := window.rfind(":")) >= 0:
            begins.append(start - len(window) + colon + 1)
    escapes = (_ESCAPE.match(text, at, end) for at in tuple(begins))
    begins += [escape.end() for escape in escapes if escape]
    begins += [found.end() for found in _INNER.finditer(text, start, end)]
    return begins
