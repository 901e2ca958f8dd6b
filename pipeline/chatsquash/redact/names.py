"""The names that a user lists: people, customers, hosts; as words, in identifiers and paths, in any case and form."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from chatsquash.core.errors import UsageError
from chatsquash.redact.encodings import Reading
from chatsquash.redact.forms import everywhere
from chatsquash.redact.hits import Finder, Hit
from chatsquash.redact.needles import Bare, Filling, Needles, printed

_OPTION = "--redact names"
_BETWEEN_WORDS = re.compile(r"[ \t_.+'\u2019-]{1,3}")
"""What may stand between the words of a name, or nothing: ``Ana Maria``, ``ana_maria``, ``AnaMaria``."""
_FILLING = Filling(" \t\r\n\\\"'+>|#*_.-\u2019\u00a0\u00ad\u200b\ufeff")
_FILLED = re.compile(r"[ \t\r\n\\\"'+>|#*_.\u2019\u00a0\u00ad\u200b\ufeff-]++")
_PIECED = re.compile(
    "[^\\W\\d_][\u0300-\u036f\u3099\u309a]{1,4}+|[\u1100-\u1112][\u1161-\u1175][\u11a8-\u11c2]?+"
    "|[\u00df\u0130\u0149\u01f0\u0390\u03b0\u0587\u1e96-\u1e9e\u1f50-\u1ffc\ufb00-\ufb17]"
)
"""A letter of several characters, and one that is of several without its case."""
_PIECE = re.compile(
    "[\u0300-\u036f\u3099\u309a\u1100-\u1112\u00df\u0130\u0149\u01f0\u0390\u03b0\u0587\u1e96-\u1e9e\u1f50-\u1ffc\ufb00-\ufb17]"
)


class _Name(NamedTuple):
    """A name without what is between its words, and where these begin."""

    text: str
    words: frozenset[int]


@lru_cache(maxsize=2)
def names(data: bytes) -> Finder:
    """Finds the names that a file lists, a line each; ``#`` begins a comment.

    A name is found as whole words, whatever their case, and whatever of ``_BETWEEN_WORDS`` is between them; it has one
    value, and so one placeholder, however it is written.  Raises ``UsageError``.
    """
    return _Names([*_listed(data)]).find


def _listed(data: bytes) -> Iterator[_Name]:
    try:
        lines = data.decode("utf-8-sig").split("\n")
    except UnicodeDecodeError:
        raise UsageError(f"{_OPTION}: the file is no UTF-8") from None
    count = 0
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        words = [word for word in _FILLED.split(_folded(Reading(line.strip())).text) if word]
        if not any(map(str.isalnum, "".join(words))):
            raise UsageError(f"{_OPTION}, line {number}: a name has a letter or a digit")
        count += 1
        yield _Name(printed("".join(words)), frozenset(accumulate(map(len, words))))
    if not count:
        raise UsageError(f"{_OPTION}: the file lists no name")


class _Names:
    """Finds names."""

    def __init__(self, listed: list[_Name]) -> None:
        self._names: dict[str, list[_Name]] = {}
        for name in listed:
            self._names.setdefault(name.text, []).append(name)
        self._needles = Needles(self._names)

    def find(self, text: str) -> list[Hit]:
        """The names in a text, in order, none within another."""
        return everywhere(text, self._search)

    def _search(self, reading: Reading) -> Iterator[Hit]:
        folded = _folded(Reading(reading.text))
        bare = Bare(printed(folded.text), _FILLING)
        for first, last in self._needles.all_places(bare.text):
            start, end = bare.span(first, last)
            name = bare.text[first:last]
            if any(_has_words_of(folded.text[start:end], each) for each in self._names[name]):
                start, end = folded.span(start, end)
                if _is_whole(reading.text, start, end):
                    yield Hit(*reading.span(start, end), "NAME", "name", name)


def _folded(reading: Reading) -> Reading:
    """A text without the case of its letters, each of which is one character where there is one."""
    pieced = reading.then(_PIECED, lambda match: _one(match[0])) if _PIECE.search(reading.text) else reading
    plain = pieced.text.casefold()
    if len(plain) != len(pieced.text):
        plain = "".join(each if len(folded := each.casefold()) != 1 else folded for each in pieced.text)
    return pieced.spelled(plain)


def _one(letters: str) -> str:
    """A letter of several characters as one, unless that is of several without its case, as some of Greek are."""
    plain = letters.casefold()
    one = unicodedata.normalize("NFC", plain)
    return one if one.casefold() == one else plain


def _has_words_of(text: str, name: _Name) -> bool:
    """Whether what fills a text that is a name but for filling stands between the words of it, or is a break."""
    place = done = 0
    for filling in _FILLED.finditer(text):
        place += filling.start() - done
        done = filling.end()
        is_break = "\n" in filling[0] or "\r" in filling[0]
        if not is_break and not (place in name.words and _BETWEEN_WORDS.fullmatch(filling[0])):
            return False
    return True


def _is_whole(text: str, start: int, end: int) -> bool:
    """Whether no word goes on from a name; an upper letter begins another word of an identifier."""
    before, first, second = text[start - 1 : start], text[start], text[start + 1 : start + 2]
    last, after = text[end - 1], text[end : end + 1]
    begins = not _goes_on(before, first) or (first.isupper() and (before.islower() or second.islower()))
    ends = not _goes_on(after, last) or (after.isupper() and last.islower())
    return begins and ends and not unicodedata.combining(after or " ")


def _goes_on(beside: str, edge: str) -> bool:
    """Whether a word goes on from a character to the one beside it; scripts without case may have no spaces."""
    if edge.isdigit():
        return beside.isdigit()
    return beside.isalpha() and edge.lower() != edge.upper()
