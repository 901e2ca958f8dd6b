"""User-defined patterns, and search for many values at once, both in linear time."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice

from chatsquash.core.errors import UsageError
from chatsquash.core.lazy import lazy_compile
from chatsquash.redaction.values import Finder, Hit

_NAME = lazy_compile(r"[A-Za-z][A-Za-z0-9_-]{0,40}")
# Patterns are applied to each text separately, so no match spans two.
_BETWEEN = "\n\0\n"
"""The separator of joined texts."""
_MARKS = range(0xF0000, 0xFFFFE)
"""Private-use characters, two of which mark the start and end of matches in texts without them."""


def pattern(name: str, regex: str) -> Finder:
    """Create a finder for a pattern in Rust's syntax, without look-around and backreferences.

    Raises:
        UsageError: The name is invalid, or the engine rejects the pattern.
    """
    if not _NAME.fullmatch(name) or not regex:
        raise UsageError(f"--redact-pattern {name}={regex}: write NAME=REGEX, with letters, digits, _ and - in NAME")
    refuse_pattern(regex, f"--redact-pattern {name}")
    kind = name.upper().replace("-", "_")
    return lambda text: [Hit(start, end, kind, name, text[start:end]) for start, end in spans(regex, text)]


def refuse_pattern(regex: str, place: str) -> None:
    """Raise ``UsageError`` for a pattern that the engine rejects."""
    import polars as pl  # few runs need it

    try:
        for each in (regex, _anchored(regex)):  # also rejects a comment that hides the end of a group
            pl.Series([""]).str.contains(each)
    except pl.exceptions.PolarsError as problem:
        lines = str(problem).splitlines()
        why = next((line.removeprefix("error: ") for line in lines if line.startswith("error: ")), lines[0])
        hint = "look-around and backreferences are not supported"
        raise UsageError(f"{place}: the pattern is invalid ({why}); {hint}") from None


def spans(regex: str, text: str) -> list[tuple[int, int]]:
    """Return the spans of all non-empty matches in order."""
    import polars as pl

    plain = printable_text(text)
    start_mark, end_mark = _unused(plain)
    results = pl.Series(plain.split(_BETWEEN)).str.replace_all(f"({regex})", f"{start_mark}${{1}}{end_mark}")
    first, *others = _BETWEEN.join(results).split(start_mark)
    matches, at = [], len(first)
    for each in others:
        part, _, after = each.partition(end_mark)
        if part:
            matches.append((at, at + len(part)))
        at += len(part) + len(after)
    return matches


def is_all(regex: str, value: str) -> bool:
    """Return whether a pattern matches the entire value."""
    import polars as pl

    return bool(pl.Series([printable_text(value)]).str.contains(_anchored(regex))[0])


def _anchored(regex: str) -> str:
    return rf"\A(?:{regex})\z"


def _unused(text: str) -> tuple[str, str]:
    """Return two characters that do not occur in a text."""
    characters = set(text) if chr(_MARKS[0]) in text or chr(_MARKS[1]) in text else ()
    first, second, *_ = islice((each for each in map(chr, _MARKS) if each not in characters), 2)
    return first, second


_FEW = 64
"""The maximum number of values for which separate searches are fastest."""
_MANY = 50_000
"""The number of matches of a few values above which overlaps are resolved differently."""
_CHARACTERS_EACH = 50
"""The length of a text per value above which building one automaton for all values is faster."""
_BEGINNING = 6
"""The length of the prefixes by which values are preselected."""


class Needles:
    """A set of values to search for in texts."""

    def __init__(self, values: Iterable[str]) -> None:
        self._values = sorted({printable_text(value) for value in values if value})
        self._known = frozenset(self._values)
        self._lengths = sorted({len(value) for value in self._values})

    def places(self, text: str) -> list[tuple[int, int]]:
        """Return the spans of values in order, only the longest per start; they may overlap."""
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
        """Return all spans of values in order, shorter ones first."""
        if not self._values:
            return []
        text = printable_text(text)
        likely = self._likely(text)
        if len(likely) <= _FEW:
            return sorted(place for value in likely for place in _each(value, text))
        return [(at, end) for at in _starts(likely, text) for end in self._ends(text, at)]

    def _likely(self, text: str) -> list[str]:
        """Return the values that a text may contain."""
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
        """Return the values whose prefix occurs in a text."""
        grams = map("".join, zip(*(text[at:] for at in range(self._beginning)), strict=False))
        return [value for gram in self._by_beginning.keys() & set(grams) for value in self._by_beginning[gram]]

    def _ends(self, text: str, at: int, *, longest_first: bool = False) -> Iterator[int]:
        lengths = reversed(self._lengths) if longest_first else iter(self._lengths)
        return (at + length for length in lengths if text[at : at + length] in self._known)


def printable_text(text: str) -> str:
    """Replace lone surrogates, which are not valid UTF-8, without changing offsets."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def _each(value: str, text: str) -> Iterator[tuple[int, int]]:
    at = text.find(value)
    while at >= 0:
        yield at, at + len(value)
        at = text.find(value, at + 1)


def _starts(values: list[str], text: str) -> list[int]:
    """Return the offsets at which any of the values starts."""
    import polars as pl  # slow to import

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


class Filler:
    """Characters that may occur within a value and are ignored."""

    def __init__(self, characters: str) -> None:
        self.characters = frozenset(characters)
        self._ascii = "".join(filter(str.isascii, characters)).encode()
        self._others = [each for each in characters if not each.isascii()]

    def remove_from(self, text: str) -> str:
        """Return a text without these characters."""
        plain = text.encode().translate(None, self._ascii).decode()  # ten times as fast as str.translate
        for each in () if plain.isascii() else self._others:
            plain = plain.replace(each, "")
        return plain


class BareText:
    """A text without filler characters, with a mapping to the original."""

    def __init__(self, text: str, filling: Filler) -> None:
        self.text = filling.remove_from(text)
        self._source, self._filling = text, filling

    def span(self, first: int, last: int) -> tuple[int, int]:
        """Map a span to the original text, without filler around it."""
        return self._place(first), self._place(last - 1) + 1

    @cached_property
    def _chunks(self) -> list[int]:
        """The offset of each chunk in the bare text, which is only computed if something is found."""
        chunks, place = [], 0
        for start in range(0, len(self._source), _CHUNK):
            chunks.append(place)
            place += len(self._filling.remove_from(self._source[start : start + _CHUNK]))
        return chunks

    def _place(self, place: int) -> int:
        number = bisect_right(self._chunks, place) - 1
        remaining, filling = place - self._chunks[number], self._filling.characters
        for at in range(number * _CHUNK, len(self._source)):
            if self._source[at] not in filling:
                if not remaining:
                    return at
                remaining -= 1
        raise IndexError(place)
