"""A text without some of its characters, and where what is left of it stands."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property

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
        found, place = [], 0
        for start in range(0, len(self._source), _CHUNK):
            found.append(place)
            place += len(self._filling.out_of(self._source[start : start + _CHUNK]))
        return found

    def _place(self, place: int) -> int:
        number = bisect_right(self._chunks, place) - 1
        left, filling = place - self._chunks[number], self._filling.characters
        for at in range(number * _CHUNK, len(self._source)):
            if self._source[at] not in filling:
                if not left:
                    return at
                left -= 1
        raise IndexError(place)
