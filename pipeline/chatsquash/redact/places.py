"""Where secrets may stand in a text: long runs that look random, and words that tell of secrets.

A text is looked at as bytes, one a character, since these are translated and searched many times as fast.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

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
_PIVOTS = "jqzkxw"
"""Letters that are so rare that a search for them in a word is fast."""


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
        told = sorted({word.lower() for word in words}, key=lambda word: (-len(word), word))
        held = {word: next((each for each in reversed(told) if each in word), word) for word in told}
        self._holding = {
            shorter: [(word.index(shorter), word, word.encode()) for word in told if held[word] == shorter != word]
            for shorter in set(held.values())
        }
        told = [word for word in told if held[word] == word]
        self._at_once = _around("", told)
        by_pivot: dict[str, list[str]] = {}
        for word in told:
            by_pivot.setdefault(next((letter for letter in _PIVOTS if letter in word), ""), []).append(word)
        self._others = [(word, word.encode()) for word in by_pivot.pop("", [])]
        self._pivots = [_around(pivot, words) for pivot, words in by_pivot.items()]

    def any_in(self, lower: bytes) -> bool:
        """Whether a short text has one of the words."""
        return bool(self._at_once[0].search(lower))

    def places(self, text: Bytes) -> list[tuple[int, str]]:
        """Where which of the words begins."""
        lower = text.lower
        found: list[tuple[int, str]] = []
        if len(lower) <= _SHORT:
            _add_around(found, lower, self._at_once)
        else:
            for pivot in self._pivots:
                _add_around(found, lower, pivot)
            for word, data in self._others:
                at = lower.find(data)
                while at >= 0:
                    found.append((at, word))
                    at = lower.find(data, at + 1)
        found += [
            (at - offset, longer)
            for at, word in found
            if self._holding[word]
            for offset, longer, data in self._holding[word]
            if at >= offset and lower.startswith(data, at - offset)
        ]
        return found


def _add_around(found: list[tuple[int, str]], lower: bytes, around: _Around) -> None:
    pattern, words = around
    for each in pattern.finditer(lower):
        offset, word = words[(each.lastindex or 1) - 1]
        found.append((each.start() - offset, word))


def _around(pivot: str, words: list[str]) -> _Around:
    """The pattern of words that begins with the rare letter that all of them have."""
    offsets = [(word.index(pivot), word) for word in words]
    groups = [_group(word, at + len(pivot)) for at, word in offsets]
    return re.compile(f"{pivot}(?:{'|'.join(groups) or '(?!)'})".encode()), offsets


def _group(word: str, at: int) -> str:
    """A word of which the letters before a place are behind already."""
    before = f"(?<={re.escape(word[:at])})" if at else ""
    return f"({before}{re.escape(word[at:])})"
