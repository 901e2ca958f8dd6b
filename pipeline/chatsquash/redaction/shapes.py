"""Secrets with a known shape, searched for in runs of characters that look random, and words that tell of others."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache, partial

from chatsquash.redaction import lookalikes
from chatsquash.redaction.hits import Hit
from chatsquash.redaction.rules import Rule, builtin

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
_BLOB = 120
"""Characters of a run from which on it may be a file in base64."""


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
                if near := rule.pattern.match(text, at):
                    hits += hit_of(rule, near)
        for near in self._within.finditer(text, max(0, start - _NEAR), end + _END):
            for rule in self._anywhere[near[0]]:
                for match in rule.pattern.finditer(text, max(0, start - _AROUND), end + _AROUND):
                    hits += hit_of(rule, match)
        return hits

    def may_begin(self, text: str, at: int) -> bool:
        """Whether what begins at a place may fit a rule."""
        starts = (at, text.rfind("=", at) + 1 or at, text.rfind(":", at) + 1 or at)
        return any(map(partial(self._beginning, text), starts)) or bool(self._within.search(text, at))

    def fits(self, text: str, start: int, end: int) -> bool:
        """Whether a part of a text fits a rule, also as an example does."""
        return any(rule.pattern.match(text, start, end) for rule in (*self._beginning(text, start), *self._wherever))

    def kind(self, value: str) -> str | None:
        """The kind of a value that fits a rule whole."""
        for rule in (*self._beginning(value, 0), *self._wherever):
            match = rule.pattern.fullmatch(value)
            if match and value_of(match)[2] == value:
                return rule.kind
        return None

    def _beginning(self, text: str, at: int) -> list[Rule]:
        """The rules with a literal that stands at a place."""
        rules: list[Rule] = []
        for length in self._lengths:
            if candidates := self._by_start.get(text[at : at + length]):
                rules += [rule for literal, rule in candidates if text.startswith(literal, at)]
        return rules


@cache
def builtin_shapes() -> Shapes:
    """Those of the pack."""
    return Shapes([rule for rule in builtin() if rule.value == "shape"])


@lru_cache(maxsize=4096)
def kind_of(value: str) -> str:
    """The kind of a value by its shape, ``SECRET`` for one that only its place makes a secret."""
    return builtin_shapes().kind(value) or "SECRET"


def hit_of(rule: Rule, match: re.Match[str]) -> Iterator[Hit]:
    """The hit of a match, where its value is no look-alike."""
    start, end, value = value_of(match)
    if lookalikes.CHECKS[rule.value](value, rule.entropy):
        yield Hit(start, end, kind_of(value), rule.name, value)


def value_of(match: re.Match[str]) -> tuple[int, int, str]:
    """Where the value of a match stands, and the value."""
    for name, value in match.groupdict().items():
        if value is not None and _SECRET.match(name):
            return (*match.span(name), value)
    return (*match.span(), match[0])


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
    if end - start < _BLOB or not _is_base64(text, start, end):
        begins += [match.end() for match in _INNER.finditer(text, start, end)]
    return begins


def _is_base64(text: str, start: int, end: int) -> bool:
    """Whether a long run is base64, in which a short prefix of a key is there by chance."""
    run = text[start:end]
    return "+" in run and "/" in run and not ("-" in run or "_" in run or "~" in run)


SHORTEST = 16
"""Characters of a run that is looked at; nearly all keys have more of them in a row."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_DIGITS = "0123456789"
_ONE, _NONE = ord("a"), ord(" ")


def _table(*classes: tuple[str, str]) -> bytes:
    """What each byte becomes: the name of the class that it is in, else a space."""
    by_byte = {ord(letter): ord(name) for name, letters in classes for letter in letters}
    return bytes(by_byte.get(byte, _NONE) for byte in range(256))


_RUNS = _table(("a", _LETTERS + _LETTERS.upper() + _DIGITS + "_+/~-"))
_LOWER = bytes.maketrans(_LETTERS.upper().encode(), _LETTERS.encode())
_DIGIT = re.compile(rb"[0-9](?:(?=[A-Za-z])|(?<=[A-Za-z].))")
_CAPITAL = re.compile(rb"[A-Z](?:[a-z][A-Z]|[A-Z]{15})")
"""What stands in no name of anything: a digit beside a letter, and hardly ever one small letter between two capitals;
words of capitals are shorter."""
_NEEDLE = b"a" * SHORTEST
_SHORT = 1000
"""Characters up to which all words are looked for at once, which takes longer a character and has less to set up."""
_PIVOTS = "-jqzkxw"
"""Characters that are so rare that a search for them in a word is fast."""


_Around = tuple[re.Pattern[bytes], list[tuple[int, str]]]
"""A pattern of words, and for each of its groups which word it is and how far before the match it begins."""


class Bytes:
    """A text with a byte for each of its characters, those aside that are not ASCII."""

    def __init__(self, text: str) -> None:
        self.plain = text.encode("ascii", "replace")
        self.lower = self.plain.translate(_LOWER)

    def runs(self) -> Iterator[tuple[int, int]]:
        """Where runs of letters, digits and what keys have between them look random."""
        letters = self.plain.translate(_RUNS)
        plain = self.plain
        at = letters.find(_NEEDLE)
        while at >= 0:
            end = letters.find(b" ", at + SHORTEST)
            if end < 0:
                end = len(letters)
            if _DIGIT.search(plain, at, end) or _CAPITAL.search(plain, at, end):
                yield at, end
            at = letters.find(_NEEDLE, end)


class Words:
    """Finds words, in any case: those with a rare letter by one search for that letter, each other one by its own."""

    def __init__(self, words: Iterable[str]) -> None:
        ordered = sorted({word.lower() for word in words}, key=lambda word: (-len(word), word))
        shortest = {word: next((each for each in reversed(ordered) if each in word), word) for word in ordered}
        self._holding = {
            shorter: [
                (word.index(shorter), word, word.encode()) for word in ordered if shortest[word] == shorter != word
            ]
            for shorter in set(shortest.values())
        }
        ordered = [word for word in ordered if shortest[word] == word]
        # Without groups the engine skips what begins none of the words.
        self._at_once = re.compile(("|".join(map(re.escape, ordered)) or "(?!)").encode())
        spaced = [f" {word}" if word.startswith("-") else word for word in ordered]
        self._any = re.compile(("|".join(map(re.escape, spaced)) or "(?!)").encode())
        by_pivot: dict[str, list[str]] = {}
        for word in ordered:
            by_pivot.setdefault(next((letter for letter in _PIVOTS if letter in word), ""), []).append(word)
        self._others = [(word, word.encode()) for word in by_pivot.pop("", [])]
        self._pivots = [_around(pivot, words) for pivot, words in by_pivot.items()]

    def any_in(self, lower: bytes) -> bool:
        """Whether a short text has one of the words; a flag follows a space."""
        return bool(self._any.search(lower))

    def places(self, text: Bytes) -> list[tuple[int, str]]:
        """Where which of the words begins."""
        lower = text.lower
        places: list[tuple[int, str]] = []
        if len(lower) <= _SHORT:
            each = self._at_once.search(lower)
            while each:  # the next word may begin within this one
                places.append((each.start(), each[0].decode()))
                each = self._at_once.search(lower, each.start() + 1)
        else:
            for pivot in self._pivots:
                _add_around(places, lower, pivot)
            for word, data in self._others:
                at = lower.find(data)
                while at >= 0:
                    places.append((at, word))
                    at = lower.find(data, at + 1)
        places += [
            (at - offset, longer)
            for at, word in places
            if self._holding[word]
            for offset, longer, data in self._holding[word]
            if at >= offset and lower.startswith(data, at - offset)
        ]
        return places


def _add_around(places: list[tuple[int, str]], lower: bytes, around: _Around) -> None:
    pattern, words = around
    for each in pattern.finditer(lower):
        offset, word = words[(each.lastindex or 1) - 1]
        places.append((each.start() - offset, word))


def _around(pivot: str, words: list[str]) -> _Around:
    """The pattern of words that begins with the rare letter that all of them have."""
    offsets = [(word.index(pivot), word) for word in words]
    groups = [_group(word, at + len(pivot)) for at, word in offsets]
    after = {word[at + len(pivot) :][:1] for at, word in offsets}
    gate = "" if "" in after else f"(?=[{re.escape(''.join(sorted(after)))}])"
    return re.compile(f"{pivot}{gate}(?:{'|'.join(groups) or '(?!)'})".encode()), offsets


def _group(word: str, at: int) -> str:
    """A word of which the letters before a place are behind already."""
    before = f"(?<={re.escape(word[:at])})" if at else ""
    return f"({before}{re.escape(word[at:])})"
