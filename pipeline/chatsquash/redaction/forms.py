"""Search every form of a text: as is, unescaped, with lines or pieces joined, and decoded from base64.

A value may be split into pieces: concatenated strings, stream events, and lines in terminal boxes.
"""

from __future__ import annotations

import binascii
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache

from msgspec import Struct

from chatsquash.core.lazy import lazy_compile
from chatsquash.redaction import encodings
from chatsquash.redaction.encodings import Rendering, Substitution, UnescapedText, remove
from chatsquash.redaction.values import Hit

_DEEPEST = 3
"""The maximum depth of nested base64."""
_SURE = 6
"""The minimum length of a value that does not occur in random bytes by chance."""
_UNKNOWN = -1

_LONG = 20
"""The minimum length of a base64 run."""
_IN_RUN, _OUTSIDE = b"a", b" "
_RUNS = bytes.maketrans(
    bytes(range(256)),
    bytes(0x61 if (chr(code).isalnum() and code < 0x80) or chr(code) in "+/_-" else 0x20 for code in range(256)),
)
_URL_SAFE = str.maketrans("-_", "+/")
_PRINTS = bytes([9, 10, 13, *range(32, 127)])


_TOKEN = "A-Za-z0-9+/=_.~%$*:-"  # noqa: S105 - the characters of tokens
_BREAK = r"(?:[ \t]{0,4}\\?\r?\n|\\{1,16}+(?:r\\{1,16}+)?n)[ \t]{0,40}+(?:[+>|#*-][ \t]{0,40}+)?+"
_NEXT_PIECE = lazy_compile(rf"=?=?{_BREAK}(?P<piece>[{_TOKEN}]{{1,4096}}+)")
_REST_OF_WORD = lazy_compile(r"[^\s\0]{0,200}+")
_REST_OF_TOKEN = lazy_compile(f"[{_TOKEN}]{{1,4096}}+")
_TOKEN_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+/=_.~%$*:-"  # noqa: S105 - as before
_SIGNS = ("+", "-")
_BEHIND_RUN, _BEFORE_RUN = frozenset("\n\r\\=.%$*:"), frozenset("\n\\=.%$*:")
_SIGNS_OF_LINES = " \t+>|#*-"
_INDENT = 48
_CONTEXT = 80
"""The number of characters before a split token that may identify it."""
_PIECES, _PIECES_BEFORE, _LOOKS_BACK = 400, 4, 200
"""Limits for split tokens: lines, lines at the start that need not look random, and characters to look back."""
# One in four thousand random sequences matches.
_ASCII = lazy_compile(rb"(?:[A-Za-f][A-HQ-Xg-nw-z0-3][ABEFIJMNQRUVYZcdghklopstwx014589][A-Za-z0-9+/]){4}")
"""Four groups of base64 that decode to ASCII."""
_DIGESTS = frozenset((32, 36, 40, 64, 96, 128))
_JOINTS = frozenset(":.$")
_HEX = lazy_compile(r"[0-9a-f-]*+\Z|[0-9A-F-]*+\Z")
_HEX_BYTES = lazy_compile(r"(?:[2-6][0-9a-fA-F]|7[0-9a-eA-E])++")
"""Printable ASCII in hexadecimal."""
_CHECKSUM = lazy_compile(r"sha(?:1|256|384|512)-")
_STANDARD = bytes.maketrans(b"-_", b"+/")
_LONGEST = 1 << 20
"""The maximum length of a run to decode; longer ones are files."""

Search = Callable[[UnescapedText], Iterable[Hit]]
"""A function that finds values in a reading of a text; positions are those of the original text."""
_TEXTS = (
    "text|content|delta|partial_json|arguments|thinking|reasoning|reasoning_content|value|token|chunk|data|output|line"
)
_MEMBER = rf"(?!\"(?:{_TEXTS})\")\"[a-z_]{{1,24}}\": ?(?:null|[0-9]{{1,9}}|\{{\}}|\"[\w-]{{0,40}}\")"
_JOINT = lazy_compile(
    # two members of an object, one after the other
    r"\"[ \t]{0,8}+,\s{0,40}+\"[\w.-]{1,24}\": ?\"|"
    # 'abc' + 'def', 'abc' 'def', "abc" . "def", ["abc", "def"], also over a break of the line
    r"(?P<quote>[\"'`])[ \t]{0,40}+(?:\\?\r?\n[ \t]{0,80}+)?(?:[+,&~|]|\.{1,2}|<>|\|\|)?[ \t]{0,40}+"
    r"(?:\\?\r?\n[ \t]{0,80}+)?[rbfuLR$@]{0,2}(?P=quote)"
    # {"text": "abc"} and {"text": "def"}, each on its line
    rf"|\"(?=[,}}\]])[^\"\n]{{0,60}}+(?:{_MEMBER}[^\"\n]{{0,20}}+){{0,4}}+"
    rf"\n[ \t\r\n]{{0,8}}+(?:event: ?[^\n]{{0,60}}+\n)?"
    rf"(?:data: ?)?\{{[^\n]{{0,300}}?\"(?:{_TEXTS})\": ?\""
    # │ abc │ and │ def │
    r"|[ \t]{0,200}+[\u2502\u2503\u2551|][ \t]{0,8}+\r?\n[ \t]{0,8}+[\u2502\u2503\u2551|][ \t]{0,8}+"
    # the colors of a terminal
    r"|(?:\r?\n)?\x1b\[[0-9;]{0,16}+[mK](?:\r?\n)?"
)


class _Base64Run(Struct, frozen=True):
    """The decoded content of a base64 run."""

    run: tuple[int, int]
    """The span of the run in its reading."""
    first: int
    """The offset in the run at which decoding started, if known."""
    text: str
    is_text: bool


def search_everywhere(text: str, search: Search) -> list[Hit]:
    """Search every form of a text, and return sorted hits that do not overlap."""
    # A hit in base64 covers the entire run, or its lines if there are several, because a part of a run is not valid.
    return merge_overlapping(_search_all(_readings(text), search, _DEEPEST))


def search_unescaped(text: str, search: Search) -> list[Hit]:
    """Search a text as is and unescaped, but not in base64, and return sorted hits that do not overlap."""
    return merge_overlapping(_search_all(_readings(text), search, 0))


def texts(text: str, deep: int = _DEEPEST) -> Iterator[str]:
    """Yield every form of a text separately, without joining lines."""
    readings = encodings.readings(text)
    for reading in readings:
        yield reading.text
        if (one_piece := join_pieces(reading)) is not reading:
            yield one_piece.text
    for reading in readings[1:] or readings if deep else ():
        for each in (reading, *encodings.join_base64_lines(reading)):
            if parts := [*_decode_runs(each)]:
                yield from texts("\0".join(part.text for part in parts), deep - 1)


def merge_overlapping(hits: Iterable[Hit]) -> list[Hit]:
    """Sort hits and merge overlapping ones, by extending the first one over all of them."""
    separate: list[Hit] = []
    for hit in sorted(hits, key=lambda each: (each.start, -each.end)):
        if separate and hit.start < separate[-1].end:
            separate[-1] = separate[-1]._replace(end=max(separate[-1].end, hit.end))
        else:
            separate.append(hit)
    return separate


@lru_cache(maxsize=1)
def _readings(text: str) -> list[UnescapedText]:
    """Return the readings of a text, which several finders search in turn."""
    return encodings.readings(text)


def _search_all(readings: list[UnescapedText], search: Search, deep: int) -> Iterator[Hit]:
    for reading in readings:
        yield from search(reading)
    for reading in (readings[1:] or readings) if deep else ():
        yield from _search_base64(reading, search, deep - 1)
        for one_line in encodings.join_base64_lines(reading):
            yield from _search_base64(one_line, search, deep - 1, one_line.views[-1])


def _search_base64(
    reading: UnescapedText, search: Search, deep: int, breaks: Substitution | None = None
) -> Iterator[Hit]:
    """Search the decoded base64 runs of a reading, or only those that span the given line breaks."""
    parts = [*_decode_runs(reading, breaks)]
    starts, length = [], 0
    for part in parts:
        starts.append(length)
        length += len(part.text) + 1
    hits_by_run: dict[tuple[int, int], list[tuple[Hit, _Base64Run, int]]] = {}
    decoded = encodings.readings("\0".join(part.text for part in parts)) if parts else []
    for hit in _search_all(decoded, search, deep):
        at = bisect_right(starts, hit.start) - 1
        if parts[at].is_text or len(hit.value) >= _SURE:
            hits_by_run.setdefault(parts[at].run, []).append((hit, parts[at], starts[at]))
    for run, inside in hits_by_run.items():
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
                plain = data.replace(b"\0", b"")  # UTF-16, as used by PowerShell
                yield _Base64Run((start, end), _UNKNOWN, plain.decode("utf-8", "replace"), is_text(plain))


def _lines(breaks: Substitution, run: tuple[int, int], inside: list[tuple[Hit, _Base64Run, int]]) -> tuple[int, int]:
    """Return the span of the lines of a run that contain the hits."""
    if any(part.first == _UNKNOWN for _, part, _ in inside):
        return run
    spans = [_characters(hit, part, start) for hit, part, start in (inside[0], inside[-1])]
    first, last = min(first for first, _ in spans), max(after for _, after in spans)
    start = breaks.piece(run[0] + first)[0]
    end = breaks.piece(min(run[1], run[0] + last) - 1)[1]
    return max(start, run[0]), min(end, run[1])


def _characters(hit: Hit, part: _Base64Run, start: int) -> tuple[int, int]:
    """Return the characters of a run that encode a hit."""
    before = len(part.text[: hit.start - start].encode("utf-8", "surrogateescape"))
    after = len(part.text[: hit.end - start].encode("utf-8", "surrogateescape"))
    return part.first + before // 3 * 4, part.first + -(-after // 3) * 4


# Base64


def run_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of possible base64 runs."""
    classes = text.encode("ascii", "replace").translate(_RUNS)  # one byte per character
    end = 0
    while (start := classes.find(_IN_RUN * _LONG, end)) >= 0:
        end = classes.find(_OUTSIDE, start)
        end = len(text) if end < 0 else end + len(text[end : end + 2]) - len(text[end : end + 2].lstrip("="))
        yield start, end


def decoded_bytes(run: str) -> Iterator[tuple[int, bytes]]:
    """Decode a base64 run from each of its first four characters, and yield the offset and the bytes."""
    plain = run.rstrip("=").translate(_URL_SAFE)
    for offset in range(4):
        part = plain[offset:]
        part = part[:-1] if len(part) % 4 == 1 else part
        try:
            yield offset, binascii.a2b_base64(part + "=" * (-len(part) % 4))
        except (binascii.Error, ValueError):
            continue


# Random bytes, such as those of hashes, contain many unprintable ones.
def is_text(data: bytes) -> bool:
    """Return whether nearly all bytes are printable."""
    unprintable = data.translate(None, _PRINTS)
    if len(unprintable) * 20 <= len(data):
        return True
    controls = sum(byte < 0x80 for byte in unprintable)
    return (controls + len(data) - len(data.decode("utf-8", "ignore").encode())) * 20 <= len(data)


def kind_of_run(text: str, start: int, end: int) -> str:
    """Classify a run quickly: ``checksum`` with a named algorithm, ``digest`` as in Git, or ``any``."""
    if end - start in _DIGESTS and text[start - 1 : start] not in _JOINTS and _HEX.match(text, start, end):
        return "digest"
    return "checksum" if text[start] == "s" and _CHECKSUM.match(text, start) else "any"


def has_base64(text: str) -> bool:
    """Return whether a text has a base64 run that decodes to ASCII."""
    return bool(_ASCII.search(text.encode("ascii", "replace").translate(_STANDARD)))


def decoded_ascii(data: bytes, start: int, end: int) -> Iterator[tuple[int, str]]:
    """Yield the decoded ASCII in a base64 run with its offset, even after a path or a partial group."""
    if end - start > _LONGEST:
        return
    run = data[start:end].translate(_STANDARD)
    offsets: set[int] = set()
    for match in _ASCII.finditer(run):
        offset = match.start() % 4
        if offset in offsets:
            continue
        offsets.add(offset)
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
    """The joined lines of a split token."""

    def __init__(self, text: str, ours: list[int], theirs: list[tuple[int, int]], before: int) -> None:
        self.text, self.pieces = text, (ours, theirs)
        self.before = before
        """The number of characters before the token."""

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The spans of the lines in the source."""
        return self.pieces[1]

    def read(self, start: int, end: int) -> str:
        """Return the joined text of a part of the source that starts and ends at pieces."""
        pieces = zip(*self.pieces, strict=True)
        return "".join(self.text[our : our + last - first] for our, (first, last) in pieces if start <= first < end)


# The token may start on any of the previous lines or on its own, because a line may end with an unrelated word.
def joined_lines(text: str, start: int, end: int) -> Iterator[JoinedLines]:
    """Yield the possible joined forms of a token that is split across lines."""
    if not _may_continue(text, start, end):
        return
    places = [_token_around(text, start, end)]
    while len(places) < _PIECES_BEFORE and (piece := _last_piece(text, places[0][0])):
        places.insert(0, piece)
    firsts = range(len(places))
    while len(places) < _PIECES and (after := _NEXT_PIECE.match(text, places[-1][1])):
        places.append(after.span("piece"))
    for first in firsts:
        if first < len(places) - 1:
            yield _join_pieces(text, places[first:])


def _join_pieces(text: str, places: list[tuple[int, int]]) -> JoinedLines:
    """Join the pieces of a token, with the text before it on its line and after it up to a space."""
    token, last = places[0][0], places[-1][1]
    low = max(0, token - _CONTEXT)
    places[0] = max(low, text.rfind("\n", low, token) + 1), places[0][1]
    starts: list[int] = []
    length = 0
    rest = _REST_OF_WORD.match(text, last)
    spans = [*places, (last, rest.end() if rest else last)]
    for place in spans:
        starts.append(length)
        length += place[1] - place[0]
    return JoinedLines("".join(text[one:other] for one, other in spans), starts, spans, token - places[0][0])


def _may_continue(text: str, start: int, end: int) -> bool:
    """Check quickly whether a run may continue on another line."""
    if text[end : end + 1] in _BEHIND_RUN:
        return True
    if text[start - 1 : start] in _BEFORE_RUN:
        return True
    line = text[max(0, start - _INDENT) : start]
    return bool(line) and line[-1] in _SIGNS_OF_LINES and line.rstrip(_SIGNS_OF_LINES).endswith(("\n", "\\n"))


def _token_around(text: str, start: int, end: int) -> tuple[int, int]:
    """Return the complete token that contains a run."""
    rest = _REST_OF_TOKEN.match(text, end)
    first = _token_start(text, start)
    if text[first - 1 : first] == "\\" and text[first] in "nrt":
        first += 1  # after an escaped break
    return first, rest.end() if rest else end


def _token_start(text: str, end: int) -> int:
    """Return the start of the token that ends at an offset, without diff signs at the start of the line."""
    window = text[max(0, end - _LOOKS_BACK) : end]
    start = end - len(window) + len(window.rstrip(_TOKEN_LETTERS))
    return start + 1 if text[start : start + 1] in _SIGNS and text[start - 1 : start] in ("\n", "") else start


def _last_piece(text: str, start: int) -> tuple[int, int] | None:
    """Return the token at the end of the previous line."""
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


# Pieces


def join_pieces(reading: UnescapedText) -> UnescapedText:
    """Join pieces that may belong together, or return the same object if there are none."""
    return reading.then(_JOINT, remove)


def piece_spans(reading: UnescapedText, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the spans in the source of the pieces of a joined text."""
    view = reading.views[-1]
    before = UnescapedText(view.source, reading.views[:-1])
    while start < end:
        stop = min(end, view.piece(start)[1])
        yield before.span(*view.span(start, stop))
        start = stop
