"""Patterns that users write, and many values searched for at once, both in linear time."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice

from chatsquash.core.errors import UsageError
from chatsquash.redaction.hits import Finder, Hit

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_-]{0,40}")
_BETWEEN = "\n\0\n"
"""What texts are joined with: a pattern looks at each of them by itself, so that none takes what is across two."""
_MARKS = range(0xF0000, 0xFFFFE)
"""Private characters, of which those that a text does not hold mark where matches begin and end."""


def pattern(name: str, regex: str) -> Finder:
    """Finds what fits a pattern of Rust's syntax, which has no look-around and no references back.

    Raises ``UsageError`` for a wrong name, and a pattern that the engine refuses.
    """
    if not _NAME.fullmatch(name) or not regex:
        raise UsageError(f"--redact-pattern {name}={regex}: write NAME=REGEX, where NAME has letters, digits, _ and -")
    refuse_pattern(regex, f"--redact-pattern {name}")
    kind = name.upper().replace("-", "_")
    return lambda text: [Hit(start, end, kind, name, text[start:end]) for start, end in spans(regex, text)]


def refuse_pattern(regex: str, place: str) -> None:
    """Raise ``UsageError`` for a pattern that the engine refuses."""
    import polars as pl  # which few runs need

    try:
        for each in (regex, _whole(regex)):  # which also refuses a comment that takes the end of a group with it
            pl.Series([""]).str.contains(each)
    except pl.exceptions.PolarsError as problem:
        lines = str(problem).splitlines()
        why = next((line.removeprefix("error: ") for line in lines if line.startswith("error: ")), lines[0])
        hint = "look-around and references back are not known"
        raise UsageError(f"{place}: the pattern is refused ({why}); {hint}") from None


def spans(regex: str, text: str) -> list[tuple[int, int]]:
    """Where a pattern fits, in order, empty matches aside."""
    import polars as pl

    plain = printable_text(text)
    opened, closed = _unused(plain)
    marked = pl.Series(plain.split(_BETWEEN)).str.replace_all(f"({regex})", f"{opened}${{1}}{closed}")
    first, *others = _BETWEEN.join(marked).split(opened)
    matches, at = [], len(first)
    for each in others:
        fitting, _, after = each.partition(closed)
        if fitting:
            matches.append((at, at + len(fitting)))
        at += len(fitting) + len(after)
    return matches


def is_all(regex: str, value: str) -> bool:
    """Whether a pattern fits a value from its first character to its last."""
    import polars as pl

    return bool(pl.Series([printable_text(value)]).str.contains(_whole(regex))[0])


def _whole(regex: str) -> str:
    return rf"\A(?:{regex})\z"


def _unused(text: str) -> tuple[str, str]:
    """Two characters that a text does not hold."""
    characters = set(text) if chr(_MARKS[0]) in text or chr(_MARKS[1]) in text else ()
    first, second, *_ = islice((each for each in map(chr, _MARKS) if each not in characters), 2)
    return first, second


_FEW = 64
"""Values that are looked for one after the other, which is fastest for a few."""
_MANY = 50_000
"""Places of few values, from which on those that begin at one place are too many to be told one by one."""
_CHARACTERS_EACH = 50
"""Of a text for each value, from which on making one automaton of all of them pays."""
_BEGINNING = 6
"""Characters by which it is first told which values a text may hold at all."""


class Needles:
    """Values that texts are searched for."""

    def __init__(self, values: Iterable[str]) -> None:
        self._values = sorted({printable_text(value) for value in values if value})
        self._known = frozenset(self._values)
        self._lengths = sorted({len(value) for value in self._values})

    def places(self, text: str) -> list[tuple[int, int]]:
        """Where values stand, in order; of those that begin at one place the longest; they may meet each other."""
        if not self._values:
            return []
        text = printable_text(text)
        likely = self._likely(text)
        if len(likely) <= _FEW:
            places = [*islice((place for value in likely for place in _each(value, text)), _MANY)]
            if len(places) < _MANY:
                return [*dict(sorted(places)).items()]
        return [(at, next(self._ends(text, at, longest_first=True))) for at in _starts(likely, text)]

    def all_places(self, text: str) -> list[tuple[int, int]]:
        """Where values stand, in order, shorter ones first."""
        if not self._values:
            return []
        text = printable_text(text)
        likely = self._likely(text)
        if len(likely) <= _FEW:
            return sorted(place for value in likely for place in _each(value, text))
        return [(at, end) for at in _starts(likely, text) for end in self._ends(text, at)]

    def _likely(self, text: str) -> list[str]:
        """The values that a text may hold."""
        is_short = len(text) < _CHARACTERS_EACH * len(self._values)
        return self._candidates(text) if len(self._values) > _FEW and is_short else self._values

    @cached_property
    def _beginning(self) -> int:
        return min(_BEGINNING, self._lengths[0])

    @cached_property
    def _by_beginning(self) -> dict[str, list[str]]:
        values: dict[str, list[str]] = {}
        for value in self._values:
            values.setdefault(value[: self._beginning], []).append(value)
        return values

    def _candidates(self, text: str) -> list[str]:
        """The values whose first characters stand in a text."""
        grams = map("".join, zip(*(text[at:] for at in range(self._beginning)), strict=False))
        return [value for gram in self._by_beginning.keys() & set(grams) for value in self._by_beginning[gram]]

    def _ends(self, text: str, at: int, *, longest_first: bool = False) -> Iterator[int]:
        lengths = reversed(self._lengths) if longest_first else iter(self._lengths)
        return (at + length for length in lengths if text[at : at + length] in self._known)


def printable_text(text: str) -> str:
    """A text without lone surrogates, which no UTF-8 has; every character keeps its place."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _each(value: str, text: str) -> Iterator[tuple[int, int]]:
    at = text.find(value)
    while at >= 0:
        yield at, at + len(value)
        at = text.find(value, at + 1)


def _starts(values: list[str], text: str) -> list[int]:
    """Where any of the values begins."""
    import polars as pl  # which takes long to import

    offsets = pl.select(pl.lit(text).str.find_many(values, overlapping=True).list.unique().list.sort()).item()
    return [*offsets] if text.isascii() else _characters(text.encode(), offsets)


def _characters(data: bytes, offsets: Iterable[int]) -> list[int]:
    characters, done, count = [], 0, 0
    for at in offsets:
        count += len(data[done:at].decode())
        done = at
        characters.append(count)
    return characters


_CHUNK = 256


class Filling:
    """Characters that may stand within a value."""

    def __init__(self, characters: str) -> None:
        self.characters = frozenset(characters)
        self._ascii = "".join(filter(str.isascii, characters)).encode()
        self._others = [each for each in characters if not each.isascii()]

    def out_of(self, text: str) -> str:
        """A text without them."""
        plain = text.encode().translate(None, self._ascii).decode()  # ten times as fast as it is with str
        for each in () if plain.isascii() else self._others:
            plain = plain.replace(each, "")
        return plain


class Bare:
    """A text without filling."""

    def __init__(self, text: str, filling: Filling) -> None:
        self.text = filling.out_of(text)
        self._source, self._filling = text, filling

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Where what stands at a place of it stands in the text: nothing that was left out around it."""
        return self._place(first), self._place(last - 1) + 1

    @cached_property
    def _chunks(self) -> list[int]:
        """The place of the first character of each chunk of the text; only worked out where something is found."""
        chunks, place = [], 0
        for start in range(0, len(self._source), _CHUNK):
            chunks.append(place)
            place += len(self._filling.out_of(self._source[start : start + _CHUNK]))
        return chunks

    def _place(self, place: int) -> int:
        number = bisect_right(self._chunks, place) - 1
        left, filling = place - self._chunks[number], self._filling.characters
        for at in range(number * _CHUNK, len(self._source)):
            if self._source[at] not in filling:
                if not left:
                    return at
                left -= 1
        raise IndexError(place)
