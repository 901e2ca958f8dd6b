"""Search for secrets with a known shape in random-looking runs, and for the words that identify other secrets."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cache, cached_property, lru_cache, partial

from chatsquash.core.lazy import lazy_compile
from chatsquash.redaction import lookalikes
from chatsquash.redaction.rules import Rule, builtin
from chatsquash.redaction.values import Hit

_FIRST = 3
"""The length of the prefix by which rules with an initial literal are indexed."""
_LOOKS_BACK, _NEAR, _END = 48, 40, 4
"""The numbers of characters before a run in which its value may start, and around it in which a literal may be."""
_AROUND = 160
"""The number of characters around a run in which a shape with an inner literal is searched for."""
_JOINTS = ".$*~:@!|"
"""The characters that join the parts of a value, some of which may not look random."""
_PARTS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-" + _JOINTS
_INNER = lazy_compile(r"[/+~](?=[A-Za-z0-9])")
_ESCAPE = lazy_compile(r"(?:(?<=\\)(?:[nrtfv]|u00[0-9a-f]{2})|(?<=%)[0-9A-Fa-f]{2}|(?<=\[)[0-9;]{0,8}m)")
"""The rest of an escape before a value."""
_SECRET = lazy_compile(r"secret|bare")
_BLOB = 120
"""The length from which a run may be a base64 file."""


class Shapes:
    """Finds the matches of rules by shape."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._by_start: dict[str, list[tuple[str, Rule]]] = {}
        self._unanchored = [rule for rule in rules if rule.anywhere or rule.before]
        anywhere: dict[str, list[Rule]] = {}
        for rule in rules:
            for literal in () if rule.before else rule.literals:
                if rule.anywhere:
                    anywhere.setdefault(literal, []).append(rule)
                else:
                    self._by_start.setdefault(literal[:_FIRST], []).append((literal, rule))
        self._lengths = sorted({len(start) for start in self._by_start}, reverse=True)
        self._anywhere = anywhere
        self._within = lazy_compile("|".join(map(re.escape, sorted(anywhere, reverse=True))) or r"(?!)")

    def around(self, text: str, start: int, end: int) -> list[Hit]:
        """Return the matches in and around a run."""
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
        """Return whether a match may start at an offset."""
        starts = (at, text.rfind("=", at) + 1 or at, text.rfind(":", at) + 1 or at)
        return any(map(partial(self._beginning, text), starts)) or bool(self._within.search(text, at))

    def fits(self, text: str, start: int, end: int) -> bool:
        """Return whether a part of a text matches a rule, whether as a secret or an example."""
        return any(rule.pattern.match(text, start, end) for rule in (*self._beginning(text, start), *self._unanchored))

    def kind(self, value: str) -> str | None:
        """Return the kind of a value that matches a rule completely."""
        for rule in (*self._beginning(value, 0), *self._unanchored):
            match = rule.pattern.fullmatch(value)
            if match and value_of(match)[2] == value:
                return rule.kind
        return None

    def _beginning(self, text: str, at: int) -> list[Rule]:
        """Return the rules with a literal at an offset."""
        rules: list[Rule] = []
        for length in self._lengths:
            if candidates := self._by_start.get(text[at : at + length]):
                rules += [rule for literal, rule in candidates if text.startswith(literal, at)]
        return rules


@cache
def builtin_shapes() -> Shapes:
    """Return the built-in shapes."""
    return Shapes([rule for rule in builtin() if rule.value == "shape"])


@lru_cache(maxsize=4096)
def kind_of(value: str) -> str:
    """Return the kind of a value according to its shape, or ``SECRET`` if only its context identifies it."""
    return builtin_shapes().kind(value) or "SECRET"


def hit_of(rule: Rule, match: re.Match[str]) -> Iterator[Hit]:
    """Yield the hit of a match, unless its value is a lookalike."""
    start, end, value = value_of(match)
    if lookalikes.CHECKS[rule.value](value, rule.entropy):
        yield Hit(start, end, kind_of(value), rule.name, value)


def value_of(match: re.Match[str]) -> tuple[int, int, str]:
    """Return the span of the value in a match, and the value."""
    for name, value in match.groupdict().items():
        if value is not None and _SECRET.match(name):
            return (*match.span(name), value)
    return (*match.span(), match[0])


def _beginnings(text: str, start: int, end: int) -> Iterable[int]:
    """Return the offsets at which the value of a run may start."""
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


# Base64 contains short key prefixes by chance.
def _is_base64(text: str, start: int, end: int) -> bool:
    """Return whether a long run is base64."""
    run = text[start:end]
    return "+" in run and "/" in run and not ("-" in run or "_" in run or "~" in run)


SHORTEST = 16
"""The minimum length of a run; nearly all keys have longer ones."""
BEFORE_RUN = 100
"""The number of characters before a run in which a match with it may start."""
NEAR_RUN = BEFORE_RUN + 3
"""The same with the separator of two texts."""
_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_DIGITS = "0123456789"
_ONE, _NONE = ord("a"), ord(" ")


def _table(*classes: tuple[str, str]) -> bytes:
    """Return a translation table from bytes to the name of their class, or a space."""
    by_byte = {ord(letter): ord(name) for name, letters in classes for letter in letters}
    return bytes(by_byte.get(byte, _NONE) for byte in range(256))


RUNS = _table(("a", _LETTERS + _LETTERS.upper() + _DIGITS + "_+/~-"))
_LOWER = bytes.maketrans(_LETTERS.upper().encode(), _LETTERS.encode())
RANDOM = lazy_compile(rb"[0-9A-Z](?:(?<=[0-9])(?:(?=[A-Za-z])|(?<=[A-Za-z].))|(?<=[A-Z])(?:[a-z][A-Z]|[A-Z]{15}))")
"""A pattern that does not occur in names: a digit next to a letter, or capitals in an order or number unlike words."""
NEEDLE = b"a" * SHORTEST
_PIVOTS = "-jqzkxw"
"""Letters that are rare enough to make searching for them in a word fast."""
_WordSearch = Callable[[bytes], list[tuple[int, str]]]
"""Returns the offset of each word in a text in lower case, in any order."""
PatternSearch = Callable[[bytes], list[tuple[int, int, int]]]
"""Returns the number, start and end of each pattern in a text, with overlapping ones, by their ends."""


class Bytes:
    """A text as one byte per character; non-ASCII characters are replaced."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.plain = text.encode("ascii", "replace")
        self.lower = self.plain.translate(_LOWER)

    def runs(self) -> Iterator[tuple[int, int]]:
        """Yield the spans of runs of key characters that look random."""
        letters = self.plain.translate(RUNS)
        plain = self.plain
        at = letters.find(NEEDLE)
        while at >= 0:
            end = letters.find(b" ", at + SHORTEST)
            if end < 0:
                end = len(letters)
            if RANDOM.search(plain, at, end):
                yield at, end
            at = letters.find(NEEDLE, end)


def may_concern_text_before(text: str) -> bool:
    """Return whether a run may lead to a match in the text that precedes a joined text."""
    return next(Bytes(text).runs(), (NEAR_RUN, 0))[0] < NEAR_RUN


class Words:
    """Finds words in any case, all at once if the ``ahocorasick_rs`` package is installed, otherwise one by one."""

    def __init__(self, words: Iterable[str]) -> None:
        by_length = sorted({word.lower() for word in words}, key=lambda word: (len(word), word))
        with_space = [f" {word}" if word.startswith("-") else word for word in by_length]
        self._any = lazy_compile(("|".join(map(re.escape, with_space)) or "(?!)").encode())
        # Words with a shorter word in them are only looked for where the shorter one is.
        longer_words: dict[str, list[tuple[int, str, bytes]]] = {}
        for word in by_length:
            shorter = next((each for each in longer_words if each in word), None)
            if shorter is None:
                longer_words[word] = []
            else:
                longer_words[shorter].append((word.index(shorter), word, word.encode()))
        self._longer_words = longer_words

    @cached_property
    def _find(self) -> _WordSearch:
        words = list(self._longer_words)
        return _multi_pattern_search(words) or _each_word_search(words)

    def any_in(self, lower: bytes) -> bool:
        """Return whether a short text contains any of the words; option flags must follow a space."""
        return bool(self._any.search(lower))

    def places(self, text: Bytes) -> list[tuple[int, str]]:
        """Return the offset of each word in a text, in order; words that contain others come last."""
        lower = text.lower
        places = sorted(self._find(lower))
        places += [
            (at - offset, longer)
            for at, word in places
            if self._longer_words[word]
            for offset, longer, data in self._longer_words[word]
            if at >= offset and lower.startswith(data, at - offset)
        ]
        return places


def pattern_search(patterns: Sequence[bytes]) -> PatternSearch | None:
    """Return a search for all patterns at once, or ``None`` if the package is not installed."""
    try:
        from ahocorasick_rs import BytesAhoCorasick, Implementation
    except ImportError:
        return None
    engine = BytesAhoCorasick(patterns, implementation=Implementation.DFA)
    return partial(engine.find_matches_as_indexes, overlapping=True)


def _multi_pattern_search(words: list[str]) -> _WordSearch | None:
    """Return a search for all words at once, or ``None`` if the package is not installed."""
    search = pattern_search([word.encode() for word in words])
    if search is None:
        return None

    def find(lower: bytes) -> list[tuple[int, str]]:
        return [(at, words[number]) for number, at, _ in search(lower)]

    return find


def _each_word_search(words: list[str]) -> _WordSearch:
    """Return a search for one word after the other; words with a rare letter are found by that letter."""
    by_pivot: dict[str, list[str]] = {}
    for word in words:
        by_pivot.setdefault(next((letter for letter in _PIVOTS if letter in word), ""), []).append(word)
    others = [(word, word.encode()) for word in by_pivot.pop("", [])]
    pivots = [_around(pivot, each) for pivot, each in by_pivot.items()]

    def find(lower: bytes) -> list[tuple[int, str]]:
        places: list[tuple[int, str]] = []
        for pattern, offsets in pivots:
            for match in pattern.finditer(lower):
                offset, word = offsets[(match.lastindex or 1) - 1]
                places.append((match.start() - offset, word))
        for word, data in others:
            at = lower.find(data)
            while at >= 0:
                places.append((at, word))
                at = lower.find(data, at + 1)
        return places

    return find


def _around(pivot: str, words: list[str]) -> tuple[re.Pattern[bytes], list[tuple[int, str]]]:
    """Compile the pattern of words, anchored at the rare letter that they share, with each word and its offset."""
    offsets = [(word.index(pivot), word) for word in words]
    groups = [_group(word, at + len(pivot)) for at, word in offsets]
    after = {word[at + len(pivot) :][:1] for at, word in offsets}
    gate = "" if "" in after else f"(?=[{re.escape(''.join(sorted(after)))}])"
    return re.compile(f"{pivot}{gate}(?:{'|'.join(groups) or '(?!)'})".encode()), offsets


def _group(word: str, at: int) -> str:
    """Return the pattern of a word after its anchor, with a look-behind for the letters before it."""
    before = f"(?<={re.escape(word[:at])})" if at else ""
    return f"({before}{re.escape(word[at:])})"
