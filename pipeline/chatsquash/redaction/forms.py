"""A search in every form of a text: as it is, without escapes, without breaks of the line, and decoded from base64."""

from __future__ import annotations

import binascii
import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from chatsquash.redaction import encodings, joints
from chatsquash.redaction.encodings import Rendering, Substitution, UnescapedText
from chatsquash.redaction.hits import Hit

_DEEPEST = 3
"""Times that base64 is decoded within base64."""
_SURE = 6
"""Characters of a value that do not stand in bytes by chance."""
_UNKNOWN = -1

_LONG = 20
"""Characters that a run of base64 has at least."""
_IN_RUN, _OUTSIDE = b"a", b" "
_RUNS = bytes.maketrans(
    bytes(range(256)),
    bytes(0x61 if (chr(code).isalnum() and code < 0x80) or chr(code) in "+/_-" else 0x20 for code in range(256)),
)
_URL_SAFE = str.maketrans("-_", "+/")
_PRINTS = bytes([9, 10, 13, *range(32, 127)])


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
_HEX_BYTES = re.compile(r"(?:[2-6][0-9a-fA-F]|7[0-9a-eA-E])++")
"""Printable ASCII in hexadecimal digits."""
_CHECKSUM = re.compile(r"sha(?:1|256|384|512)-")
_STANDARD = bytes.maketrans(b"-_", b"+/")
_LONGEST = 1 << 20
"""Characters of a run that is decoded; longer ones are files."""

Search = Callable[[UnescapedText], Iterable[Hit]]
"""Finds values in what a text reads like; the places are those of the text itself."""


class _Base64Run(NamedTuple):
    """What a run of base64 decodes to."""

    run: tuple[int, int]
    """Where the run stands in the reading that it was found in."""
    first: int
    """The character of the run from which on it was decoded, if that is known."""
    text: str
    is_text: bool


def everywhere(text: str, search: Search) -> list[Hit]:
    """What a search finds in any form of a text, in order, none within another.

    What stands in base64 is replaced with all of its run, or with its lines where the run has several, since half a run
    is no base64: the placeholder stands for all of it.
    """
    return apart(_search_all(_readings(text), search, _DEEPEST))


def unescaped(text: str, search: Search) -> list[Hit]:
    """What a search finds in a text as it is and without escapes, in order, none within another; not in base64."""
    return apart(_search_all(_readings(text), search, 0))


def texts(text: str, deep: int = _DEEPEST) -> Iterator[str]:
    """Every form of a text by itself, with its lines as they are."""
    readings = encodings.readings(text)
    for reading in readings:
        yield reading.text
        if (whole := joints.join_pieces(reading)) is not reading:
            yield whole.text
    for reading in readings[1:] or readings if deep else ():
        for each in (reading, *encodings.unbroken(reading)):
            if parts := [*_decode_runs(each)]:
                yield from texts("\0".join(part.text for part in parts), deep - 1)


def apart(hits: Iterable[Hit]) -> list[Hit]:
    """Hits in order that leave nothing of each other: of those that meet the first, as long as all of them."""
    separate: list[Hit] = []
    for hit in sorted(hits, key=lambda each: (each.start, -each.end)):
        if separate and hit.start < separate[-1].end:
            separate[-1] = separate[-1]._replace(end=max(separate[-1].end, hit.end))
        else:
            separate.append(hit)
    return separate


@lru_cache(maxsize=1)
def _readings(text: str) -> list[UnescapedText]:
    """The readings of a text, which one finder after the other looks at."""
    return encodings.readings(text)


def _search_all(readings: list[UnescapedText], search: Search, deep: int) -> Iterator[Hit]:
    for reading in readings:
        yield from search(reading)
    for reading in (readings[1:] or readings) if deep else ():
        yield from _search_base64(reading, search, deep - 1)
        for whole in encodings.unbroken(reading):
            yield from _search_base64(whole, search, deep - 1, whole.views[-1])


def _search_base64(
    reading: UnescapedText, search: Search, deep: int, breaks: Substitution | None = None
) -> Iterator[Hit]:
    """What a search finds in the runs of base64 of a reading: in those over breaks of the line where these are told."""
    parts = [*_decode_runs(reading, breaks)]
    starts, length = [], 0
    for part in parts:
        starts.append(length)
        length += len(part.text) + 1
    met: dict[tuple[int, int], list[tuple[Hit, _Base64Run, int]]] = {}
    decoded = encodings.readings("\0".join(part.text for part in parts)) if parts else []
    for hit in _search_all(decoded, search, deep):
        at = bisect_right(starts, hit.start) - 1
        if parts[at].is_text or len(hit.value) >= _SURE:
            met.setdefault(parts[at].run, []).append((hit, parts[at], starts[at]))
    for run, inside in met.items():
        start, end = reading.span(*(_lines(breaks, run, inside) if breaks else run))
        yield inside[0][0]._replace(start=start, end=end)


def _decode_runs(reading: UnescapedText, breaks: Substitution | None = None) -> Iterator[_Base64Run]:
    for start, end in run_spans(reading.text):
        if breaks and breaks.piece(start)[1] >= end:
            continue
        if _HEX_BYTES.fullmatch(reading.text, start, end):
            yield _Base64Run((start, end), _UNKNOWN, bytes.fromhex(reading.text[start:end]).decode(), is_text=True)
        for first, data in decoded_bytes(reading.text[start:end]):
            yield _Base64Run((start, end), first, data.decode("utf-8", "surrogateescape"), is_text(data))
            if data.count(0) * 4 > len(data):
                plain = data.replace(b"\0", b"")  # of UTF-16, as PowerShell takes it
                yield _Base64Run((start, end), _UNKNOWN, plain.decode("utf-8", "replace"), is_text(plain))


def _lines(breaks: Substitution, run: tuple[int, int], inside: list[tuple[Hit, _Base64Run, int]]) -> tuple[int, int]:
    """The lines of a run that hold what was found in it."""
    if any(part.first == _UNKNOWN for _, part, _ in inside):
        return run
    spans = [_characters(hit, part, start) for hit, part, start in (inside[0], inside[-1])]
    first, last = min(first for first, _ in spans), max(after for _, after in spans)
    start = breaks.piece(run[0] + first)[0]
    end = breaks.piece(min(run[1], run[0] + last) - 1)[1]
    return max(start, run[0]), min(end, run[1])


def _characters(hit: Hit, part: _Base64Run, start: int) -> tuple[int, int]:
    """The characters of a run that encode what was found."""
    before = len(part.text[: hit.start - start].encode("utf-8", "surrogateescape"))
    after = len(part.text[: hit.end - start].encode("utf-8", "surrogateescape"))
    return part.first + before // 3 * 4, part.first + -(-after // 3) * 4


# Base64


def run_spans(text: str) -> Iterator[tuple[int, int]]:
    """Where runs of base64 may stand in a text."""
    marked = text.encode("ascii", "replace").translate(_RUNS)  # a character is a byte
    end = 0
    while (start := marked.find(_IN_RUN * _LONG, end)) >= 0:
        end = marked.find(_OUTSIDE, start)
        end = len(text) if end < 0 else end + len(text[end : end + 2]) - len(text[end : end + 2].lstrip("="))
        yield start, end


def decoded_bytes(run: str) -> Iterator[tuple[int, bytes]]:
    """What a run of base64 decodes to from each of its first four characters on, with the place of that character."""
    plain = run.rstrip("=").translate(_URL_SAFE)
    for offset in range(4):
        part = plain[offset:]
        part = part[:-1] if len(part) % 4 == 1 else part
        try:
            yield offset, binascii.a2b_base64(part + "=" * (-len(part) % 4))
        except (binascii.Error, ValueError):
            continue


def is_text(data: bytes) -> bool:
    """Whether nearly all bytes are of characters that print, which by chance those of a hash are not."""
    odd = data.translate(None, _PRINTS)
    if len(odd) * 20 <= len(data):
        return True
    controls = sum(byte < 0x80 for byte in odd)
    return (controls + len(data) - len(data.decode("utf-8", "ignore").encode())) * 20 <= len(data)


def kind_of_run(text: str, start: int, end: int) -> str:
    """What a run is at first sight: a ``checksum``, which tells its algorithm, a ``digest`` as of git, or ``any``."""
    if end - start in _DIGESTS and text[start - 1 : start] not in _JOINTS and _HEX.match(text, start, end):
        return "digest"
    return "checksum" if text[start] == "s" and _CHECKSUM.match(text, start) else "any"


def has_base64(text: str) -> bool:
    """Whether a text has a run of base64 that is ASCII."""
    return bool(_ASCII.search(text.encode("ascii", "replace").translate(_STANDARD)))


def decoded_ascii(data: bytes, start: int, end: int) -> Iterator[tuple[int, str]]:
    """The ASCII that a run of base64 holds, and where it begins: a path or the rest of a group may stand before it."""
    if end - start > _LONGEST:
        return
    run = data[start:end].translate(_STANDARD)
    met: set[int] = set()
    for match in _ASCII.finditer(run):
        offset = match.start() % 4
        if offset in met:
            continue
        met.add(offset)
        part = run[offset:]
        part = part[:-1] if len(part) % 4 == 1 else part
        try:
            plain = binascii.a2b_base64(part + b"=" * (-len(part) % 4))
        except binascii.Error:
            continue
        plain = plain.replace(b"\0", b"") if plain.count(b"\0") * 3 > len(plain) else plain
        yield start + offset, plain.decode("ascii", "replace")


# Tokens broken over lines


class JoinedLines(Rendering):
    """The lines of a token as one."""

    def __init__(self, text: str, ours: list[int], theirs: list[tuple[int, int]], before: int) -> None:
        self.text, self.pieces = text, (ours, theirs)
        self.before = before
        """Characters that precede the token."""

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The lines in the source."""
        return self.pieces[1]

    def read(self, start: int, end: int) -> str:
        """The text of a part of the source that begins and ends with pieces."""
        pieces = zip(*self.pieces, strict=True)
        return "".join(self.text[our : our + last - first] for our, (first, last) in pieces if start <= first < end)


def joined_lines(text: str, start: int, end: int) -> Iterator[JoinedLines]:
    """What the token of a run reads like that goes on with the next line, or began with one of the lines before.

    It may have begun with any of these, or with none, since a line may end with a word that has nothing to do with it.
    """
    if not _may_go_on(text, start, end):
        return
    places = [_around(text, start, end)]
    while len(places) < _PIECES_BEFORE and (piece := _last_piece(text, places[0][0])):
        places.insert(0, piece)
    firsts = range(len(places))
    while len(places) < _PIECES and (after := _NEXT_PIECE.match(text, places[-1][1])):
        places.append(after.span("piece"))
    for first in firsts:
        if first < len(places) - 1:
            yield _of_pieces(text, places[first:])


def _of_pieces(text: str, places: list[tuple[int, int]]) -> JoinedLines:
    """The pieces of a token as one, with what stands before it on its line, and behind it up to a space."""
    token, last = places[0][0], places[-1][1]
    low = max(0, token - _TELLING)
    places[0] = max(low, text.rfind("\n", low, token) + 1), places[0][1]
    starts: list[int] = []
    length = 0
    behind = _REST_OF_WORD.match(text, last)
    spans = [*places, (last, behind.end() if behind else last)]
    for place in spans:
        starts.append(length)
        length += place[1] - place[0]
    return JoinedLines("".join(text[one:other] for one, other in spans), starts, spans, token - places[0][0])


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
    if text[first - 1 : first] == "\\" and text[first] in "nrt":
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
