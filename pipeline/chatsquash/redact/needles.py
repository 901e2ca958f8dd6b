"""Many values searched for at once, in linear time however many they are; also between filling characters."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import islice

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
        self._values = sorted({printed(value) for value in values if value})
        self._known = frozenset(self._values)
        self._lengths = sorted({len(value) for value in self._values})

    def places(self, text: str) -> list[tuple[int, int]]:
        """Where values stand, in order; of those that begin at one place the longest; they may meet each other."""
        if not self._values:
            return []
        text = printed(text)
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
        text = printed(text)
        likely = self._likely(text)
        if len(likely) <= _FEW:
            return sorted(place for value in likely for place in _each(value, text))
        return [(at, end) for at in _starts(likely, text) for end in self._ends(text, at)]

    def _likely(self, text: str) -> list[str]:
        """The values that a text may hold."""
        is_short = len(text) < _CHARACTERS_EACH * len(self._values)
        return self._begun(text) if len(self._values) > _FEW and is_short else self._values

    @cached_property
    def _beginning(self) -> int:
        return min(_BEGINNING, self._lengths[0])

    @cached_property
    def _by_beginning(self) -> dict[str, list[str]]:
        values: dict[str, list[str]] = {}
        for value in self._values:
            values.setdefault(value[: self._beginning], []).append(value)
        return values

    def _begun(self, text: str) -> list[str]:
        """The values whose first characters stand in a text."""
        grams = map("".join, zip(*(text[at:] for at in range(self._beginning)), strict=False))
        return [value for gram in self._by_beginning.keys() & set(grams) for value in self._by_beginning[gram]]

    def _ends(self, text: str, at: int, *, longest_first: bool = False) -> Iterator[int]:
        lengths = reversed(self._lengths) if longest_first else iter(self._lengths)
        return (at + length for length in lengths if text[at : at + length] in self._known)


def printed(text: str) -> str:
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
    """Offsets of characters for those of bytes, in order."""
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
