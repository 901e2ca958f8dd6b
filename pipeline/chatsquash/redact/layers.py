"""Texts within texts, and where what is found in them stands: base64, escapes, and tokens broken over lines."""

from __future__ import annotations

import binascii
import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

_OF_URLS = re.compile(rb"%(?:25){0,3}+[2-7][0-9a-f]")
_OF_JSON = re.compile(rb"\\(?:u00[2-7][0-9a-f]|x[2-7][0-9a-f]|/)")
_OF_XML = re.compile(rb"&(?:#|amp;|lt;|gt;|quot;|apos;)")
_ESCAPE = re.compile(
    r"%(?:25){0,3}+([2-7][0-9a-fA-F]|0[9aAdD])|(?<!\\)\\{1,16}+(?:(?:u00|x)([2-7][0-9a-fA-F])|([nrt\"'/]))|"
    r"&(?:amp;){0,3}+(?:#x([2-7][0-9a-fA-F])|#([0-9]{2,3})|(amp|lt|gt|quot|apos));"
)
_MARKS = {"n": "\n", "r": "\r", "t": "\t"}
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_APART, _BEFORE, _BEHIND = 200, 120, 400
"""Characters between two escapes of one zone, and those before and behind them that belong to it."""
_TOKEN = "A-Za-z0-9+/=_.~%$*:-"  # noqa: S105 - the characters of tokens
_BREAK = r"(?:[ \t]{0,4}\\?\r?\n|\\{1,16}+(?:r\\{1,16}+)?n)[ \t]{0,40}+(?:[+>|#*-][ \t]{0,40}+)?+"
_NEXT_PIECE = re.compile(rf"=?=?{_BREAK}(?P<piece>[{_TOKEN}]{{1,4096}}+)")
_REST_OF_WORD = re.compile(r"[^\s\0]{0,200}+")
_REST_OF_TOKEN = re.compile(f"[{_TOKEN}]{{1,4096}}+")
_TOKEN_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/=_.~%$*:-"  # noqa: S105 - as before
_SIGNS = ("+", "-")
_BEHIND_RUN, _BEFORE_RUN = frozenset("\n\r\\=.%$*:"), frozenset("\n\\=.%$*:")
_SIGNS_OF_LINES = " \t+>|#*-"
_INDENT = 48
_TELLING = 80
"""Characters before a broken token that may tell what it is."""
_PIECES, _PIECES_BEFORE, _LOOKS_BACK = 400, 4, 200
"""Lines that one token may be broken over, those of them that may begin it without looking random, and characters
before a run in which the line before it is looked for."""
_ASCII = re.compile(rb"(?:[A-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/]){4}")
"""Four groups of base64 that are ASCII: of random ones one in four thousand is."""
_DIGESTS = frozenset((32, 36, 40, 64, 96, 128))
_JOINTS = frozenset(":.$")
_HEX = re.compile(r"[0-9a-f-]*+\Z|[0-9A-F-]*+\Z")
_CHECKSUM = re.compile(r"sha(?:1|256|384|512)-")
_STANDARD = bytes.maketrans(b"-_", b"+/")
_LONGEST = 1 << 20
"""Characters of a run that is decoded; longer ones are files."""


class Layer(NamedTuple):
    """A text as it reads once it is decoded, and where its pieces stand in the other one."""

    text: str
    ours: list[int]
    """Where pieces of it begin, in order."""
    theirs: list[tuple[int, int]]
    """Where each piece stands; a piece that was not changed is as long there."""
    told: int = 0
    """Characters before a token that tell of it."""

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where what stands at a place of it stands in the other text."""
        return self._at(start)[0], self._at(end - 1)[1]

    def read(self, start: int, end: int) -> str:
        """What stands in it for a part of the other text that begins and ends with pieces."""
        pieces = zip(self.ours, self.theirs, strict=True)
        return "".join(self.text[our : our + last - first] for our, (first, last) in pieces if start <= first < end)

    def _at(self, place: int) -> tuple[int, int]:
        number = bisect_right(self.ours, place) - 1
        start, end = self.theirs[number]
        after = self.ours[number + 1] if number + 1 < len(self.ours) else len(self.text)
        if after - self.ours[number] != end - start:
            return start, end
        return start + place - self.ours[number], start + place - self.ours[number] + 1


def kind_of_run(text: str, start: int, end: int) -> str:
    """What a run is at first sight: a ``checksum``, which tells its algorithm, a ``digest`` as of git, or ``any``."""
    if end - start in _DIGESTS and text[start - 1 : start] not in _JOINTS and _HEX.match(text, start, end):
        return "digest"
    return "checksum" if text[start] == "s" and _CHECKSUM.match(text, start) else "any"


def is_encoded(text: str) -> bool:
    """Whether a text has a run of base64 that is ASCII."""
    return bool(_ASCII.search(text.encode("ascii", "replace").translate(_STANDARD)))


def decoded(data: bytes, start: int, end: int) -> Iterator[tuple[int, str]]:
    """The ASCII that a run of base64 holds, and where it begins: a path or the rest of a group may stand before it."""
    if end - start > _LONGEST:
        return
    run = data[start:end].translate(_STANDARD)
    met: set[int] = set()
    for found in _ASCII.finditer(run):
        offset = found.start() % 4
        if offset in met:
            continue
        met.add(offset)
        part = run[offset:]
        part = part[:-1] if len(part) % 4 == 1 else part
        try:
            told = binascii.a2b_base64(part + b"=" * (-len(part) % 4))
        except binascii.Error:
            continue
        told = told.replace(b"\0", b"") if told.count(b"\0") * 3 > len(told) else told
        yield start + offset, told.decode("ascii", "replace")


def zones(lower: bytes) -> Iterator[tuple[int, int]]:
    """Where escapes stand that spell what is written plain elsewhere, with what stands around them."""
    spans = [each.span() for each in _OF_URLS.finditer(lower)]
    spans += [each.span() for each in _OF_JSON.finditer(lower)]
    spans += [each.span() for each in _OF_XML.finditer(lower)]
    start = end = -1
    for first, last in sorted(spans):
        if start < 0:
            start = first
        elif first - end > _APART:
            yield max(0, start - _BEFORE), min(len(lower), end + _BEHIND)
            start = first
        end = last
    if start >= 0:
        yield max(0, start - _BEFORE), min(len(lower), end + _BEHIND)


def unescaped(text: str, start: int, end: int) -> Layer:
    """A part of a text without the escapes of URLs, JSON and XML."""
    layer = Layer("", [], [])
    pieces: list[str] = []
    done, length = start, 0
    for found in _ESCAPE.finditer(text, start, end):
        for piece, place in ((text[done : found.start()], (done, found.start())), (_plain(found), found.span())):
            if piece:
                layer.ours.append(length)
                layer.theirs.append(place)
                pieces.append(piece)
                length += len(piece)
        done = found.end()
    if done < end:
        layer.ours.append(length)
        layer.theirs.append((done, end))
        pieces.append(text[done:end])
    return layer._replace(text="".join(pieces))


def _plain(found: re.Match[str]) -> str:
    url, code, mark, hexadecimal, number, name = found.groups()
    if mark:
        return _MARKS.get(mark, mark)
    if name:
        return _NAMED[name]
    return chr(int(number)) if number else chr(int(url or code or hexadecimal, 16))


def joined(text: str, start: int, end: int) -> Iterator[Layer]:
    """What the token of a run reads like that goes on with the next line, or began with one of the lines before.

    It may have begun with any of these, or with none, since a line may end with a word that has nothing to do with it.
    """
    if not _may_go_on(text, start, end):
        return
    places = [_around(text, start, end)]
    while len(places) < _PIECES_BEFORE and (found := _last_piece(text, places[0][0])):
        places.insert(0, found)
    firsts = range(len(places))
    while len(places) < _PIECES and (after := _NEXT_PIECE.match(text, places[-1][1])):
        places.append(after.span("piece"))
    for first in firsts:
        if first < len(places) - 1:
            yield _of_pieces(text, places[first:])


def _of_pieces(text: str, places: list[tuple[int, int]]) -> Layer:
    """The pieces of a token as one, with what stands before it on its line, and behind it up to a space."""
    token, last = places[0][0], places[-1][1]
    low = max(0, token - _TELLING)
    places[0] = max(low, text.rfind("\n", low, token) + 1), places[0][1]
    layer = Layer("", [], [], token - places[0][0])
    length = 0
    behind = _REST_OF_WORD.match(text, last)
    for place in (*places, (last, behind.end() if behind else last)):
        layer.ours.append(length)
        layer.theirs.append(place)
        length += place[1] - place[0]
    return layer._replace(text="".join(text[one:other] for one, other in layer.theirs))


def _may_go_on(text: str, start: int, end: int) -> bool:
    """Whether a break may stand at an end of a run, as one look tells."""
    if text[end : end + 1] in _BEHIND_RUN:
        return True
    if text[start - 1 : start] in _BEFORE_RUN:
        return True
    line = text[max(0, start - _INDENT) : start]
    return bool(line) and line[-1] in _SIGNS_OF_LINES and line.rstrip(_SIGNS_OF_LINES).endswith(("\n", "\\n"))


def _around(text: str, start: int, end: int) -> tuple[int, int]:
    """The whole token that a run is part of."""
    behind = _REST_OF_TOKEN.match(text, end)
    first = _token_start(text, start)
    if text[first - 1 : first] == "\\" and text[first] in _MARKS:
        first += 1  # behind a break that is escaped
    return first, behind.end() if behind else end


def _token_start(text: str, end: int) -> int:
    """Where the token begins that ends at a place; signs of diffs that begin a line are none of it."""
    window = text[max(0, end - _LOOKS_BACK) : end]
    start = end - len(window) + len(window.rstrip(_TOKEN_LETTERS))
    return start + 1 if text[start : start + 1] in _SIGNS and text[start - 1 : start] in ("\n", "") else start


def _last_piece(text: str, start: int) -> tuple[int, int] | None:
    """The token that ends the line before the one that begins at a place."""
    window = text[max(0, start - _LOOKS_BACK) : start]
    line = window.rstrip(" \t+>|#*-")
    end = start - len(window) + len(_without_break(line))
    if end == start - len(window) + len(line):
        return None
    first = _token_start(text, end)
    return (first, end) if first < end else None


def _without_break(line: str) -> str:
    if line.endswith("\n"):
        return line[:-1].removesuffix("\r").rstrip(" \t").removesuffix("\\")
    if line.endswith("n") and line[-2:-1] == "\\":
        return line[:-1].rstrip("\\").removesuffix("\\r").rstrip("\\")
    return line
