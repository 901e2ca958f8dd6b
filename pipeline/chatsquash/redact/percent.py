"""Texts as URLs spell them: characters as ``%`` and hexadecimal digits, also where that is spelled so once more."""

from __future__ import annotations

import re
from collections.abc import Iterator

AGAIN = "(?:25){0,3}"
"""Behind a ``%``: how often it is spelled once more; what is spelled more often is left as it is."""
_ESCAPE = re.compile(rf"%{AGAIN}([0-9A-Fa-f]{{2}})")
_ESCAPES = re.compile(rf"(?:%{AGAIN}[0-9A-Fa-f]{{2}})++")
LONGEST = 24
"""Characters that may spell one of an alphabet, which UTF-8 has two bytes for, with room to spare."""


def decoded(text: str, start: int, end: int) -> tuple[str, list[int]]:
    """A part of a text without escapes, and where each of its characters begins in the text; behind these its end."""
    pieces: list[str] = []
    places: list[int] = []
    done = start
    for found in _ESCAPES.finditer(text, start, end):
        pieces.append(text[done : found.start()])
        places += range(done, found.start())
        for at, character in _characters(text, *found.span()):
            pieces.append(character)
            places.append(at)
        done = found.end()
    pieces.append(text[done:end])
    places += range(done, end + 1)
    return "".join(pieces), places


def _characters(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    """The characters of a run of escapes in UTF-8, with their places; what is no UTF-8 is one each."""
    escapes = [(found.start(), int(found[1], 16)) for found in _ESCAPE.finditer(text, start, end)]
    data, at = bytes(code for _, code in escapes), 0
    while at < len(data):
        character = _character(data[at : at + _size(data[at])])
        yield escapes[at][0], character
        at += _size(data[at]) if character != "\ufffd" else 1


def _size(first: int) -> int:
    return 1 + (first >= 0xC0) + (first >= 0xE0) + (first >= 0xF0)


def _character(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return "\ufffd"
