"""Texts within texts: escapes of URLs, JSON and XML, tokens that were broken over lines, and base64."""

from __future__ import annotations

import base64
import binascii
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property

_HEX = "[0-9a-fA-F]"
_PERCENT = "%(?:25)*+"
_NEXT_BYTE = rf"(?:{_PERCENT}[89abAB]{_HEX})"
# Any number of backslashes is one escape: JSON within JSON doubles them.  The first character is one of a class, which
# is searched for four times as fast as alternatives are.
_ESCAPE = re.compile(
    rf"[\\%&](?:(?<=\\)(?<!\\\\)\\*+(?:u(?P<high>[dD][89abAB]{_HEX}{{2}})\\++u(?P<low>[dD][c-fC-F]{_HEX}{{2}})"
    rf"|u(?P<unit>(?![dD][89a-fA-F]){_HEX}{{4}})|x(?P<byte>{_HEX}{{2}})|(?P<mark>[nrt\"'/]))"
    rf"|(?<=%)(?:25)*+(?:(?P<url>[0-7]{_HEX})"
    rf"|(?P<utf8>[cdCD]{_HEX}{_NEXT_BYTE}|[eE]{_HEX}{_NEXT_BYTE}{{2}}|[fF][0-4]{_NEXT_BYTE}{{3}}))"
    r"|(?P<percent>(?<=%)(?:25)++)"
    rf"|(?<=&)(?:(?P<name>amp|lt|gt|quot|apos)|\#(?:(?P<number>[0-9]{{1,6}})|[xX](?P<hex>{_HEX}{{1,5}})));)"
)
_ESCAPING = re.compile(r"\\[unrtx\"'/\\]|%[0-9a-fA-F]|&[alqg#]")
_MARKS = {"n": "\n", "r": "\r", "t": "\t"}
_NAMED = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_ROUNDS, _CUT = 6, 2
"""Times that escapes are undone, each within what the one before gave, and that lines are joined to undo more."""
_BASE64 = "A-Za-z0-9+/_-"
_LINE_END = r"(?:\r\n?+|\n)[ \t]{0,80}+"
_SIGN = r"(?:[+>|#*-][ \t]{0,80}+)"
BREAKS = (
    re.compile(_LINE_END),
    re.compile(rf"{_LINE_END}{_SIGN}?+"),
    re.compile(rf"{_LINE_END}{_SIGN}{{0,2}}+"),
)
"""The end of a line with the indentation of the next one, and with the signs of diffs and quotes, one or two."""
_BROKEN = rf"(?:\r\n(?<=[{_BASE64}]\r\n)|\n(?<=[{_BASE64}]\n))[ \t]{{0,80}}+"
_BREAKS_IN_RUN = (
    re.compile(rf"{_BROKEN}(?:{_LINE_END}){{0,2}}+(?=[={_BASE64}])"),
    re.compile(rf"{_BROKEN}{_SIGN}?+(?:{_LINE_END}{_SIGN}?+){{0,2}}+(?=[={_BASE64}])"),
    re.compile(rf"{_BROKEN}{_SIGN}{{0,2}}+(?:{_LINE_END}{_SIGN}{{0,2}}+){{0,2}}+(?=[={_BASE64}])"),
)
_BREAK = rf"(?:{_LINE_END}{_SIGN}{{0,2}}+){{1,3}}+"
_CUT_ESCAPE = re.compile(
    rf"\\(?:{_BREAK}[nrtux\"'/]|[ux]{_HEX}{{0,3}}+{_BREAK}{_HEX}|u{_HEX}{{4}}{_BREAK}\\)"
    rf"|%(?:{_HEX}{{0,16}}+{_BREAK}{_HEX}|{_HEX}{{2,16}}+{_BREAK}%)"
    rf"|&[#a-zA-Z0-9]{{0,7}}+{_BREAK}[#a-zA-Z0-9;]"
)
_REST = re.compile(rf"(?:\\{{1,32}}+n)?+[ \t]{{0,80}}+{_SIGN}{{0,2}}+(?:u{_HEX}{{4}}|x{_HEX}{{2}})")
"""What is left of an escape behind the break that cut it."""


_SHORT = 15
_SHORT_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{8,27}={0,2}")
_STANDARD, _URL_SAFE = str.maketrans("-_", "+/"), str.maketrans("+/", "-_")


class Rendering:
    """A text in another form, and where its pieces are in the source."""

    text: str

    @cached_property
    def pieces(self) -> tuple[list[int], list[tuple[int, int]]]:
        """Where pieces of it begin, in order, and their spans in the source; an unchanged piece is as long there."""
        raise NotImplementedError

    def span(self, start: int, end: int) -> tuple[int, int]:
        """The span in the source of a span of the text: whole escapes, and nothing around them."""
        return self._at(start)[0], self._at(end - 1)[1]

    def piece(self, place: int) -> tuple[int, int]:
        """Where the piece that a place is in begins and ends."""
        ours, _ = self.pieces
        number = bisect_right(ours, place) - 1
        return ours[number], ours[number + 1] if number + 1 < len(ours) else len(self.text)

    def _at(self, place: int) -> tuple[int, int]:
        first, after = self.piece(place)
        ours, theirs = self.pieces
        start, end = theirs[bisect_right(ours, place) - 1]
        if after - first != end - start:
            return start, end
        return start + place - first, start + place - first + 1


class Substitution(Rendering):
    """A text, or the part of one that begins at ``start``, with the matches of a pattern replaced."""

    def __init__(
        self, source: str, pattern: re.Pattern[str], plain: Callable[[re.Match[str]], str], start: int = 0
    ) -> None:
        self.text = re.sub(pattern, plain, source)
        self.source, self._pattern, self._plain, self._start = source, pattern, plain, start

    @cached_property
    def pieces(self) -> tuple[list[int], list[tuple[int, int]]]:
        """As of any rendering; only computed if something is detected."""
        ours: list[int] = []
        theirs: list[tuple[int, int]] = []
        done = length = 0
        before = self._start
        for match in re.finditer(self._pattern, self.source):
            start, end = match.span()
            for width, (first, last) in ((start - done, (done, start)), (len(self._plain(match)), (start, end))):
                if width:
                    ours.append(length)
                    theirs.append((before + first, before + last))
                    length += width
            done = end
        if done < len(self.source):
            ours.append(length)
            theirs.append((before + done, before + len(self.source)))
        return ours, theirs


class UnescapedText:
    """A text as it reads after several views of it, one upon the other."""

    def __init__(self, text: str, views: tuple[Substitution, ...] = ()) -> None:
        self.text = text
        self.views = views

    @property
    def source(self) -> str:
        """The text that all of the views are of."""
        return self.views[0].source if self.views else self.text

    def then(self, pattern: re.Pattern[str], plain: Callable[[re.Match[str]], str]) -> UnescapedText:
        """The reading after one more view; this one where the pattern is not in its text."""
        view = Substitution(self.text, pattern, plain)
        return self if view.text == self.text else UnescapedText(view.text, (*self.views, view))

    def spelled(self, text: str) -> UnescapedText:
        """The reading with other characters, each in the place of one."""
        return UnescapedText(text, self.views)

    def unescaped(self) -> UnescapedText:
        """The reading without escapes, also those within others."""
        reading = self
        for _ in range(_ROUNDS):
            if not _ESCAPING.search(reading.text):
                break
            after = reading.then(_ESCAPE, _unescape)
            if after is reading:
                break
            reading = after
        return reading

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where what stands at a place of it stands in the first text."""
        for view in reversed(self.views):
            start, end = view.span(start, end)
        return start, end


def nothing(match: re.Match[str]) -> str:
    """What stands in the place of what is left out."""
    del match
    return ""


def readings(text: str) -> list[UnescapedText]:
    """A text as it is, without escapes, and without those that a break of the line had cut, as far as they differ."""
    forms = [UnescapedText(text)]
    if (whole := _without_cuts(forms[0])) is not forms[0]:
        forms.append(whole)  # a break in the text itself, which must go before a backslash is read that it cut off
    if (plain := forms[0].unescaped()) is not forms[0]:
        forms.append(plain)
    for _ in range(_CUT):
        if (whole := _without_cuts(forms[-1])) is forms[-1]:
            break
        forms.append(whole)
    return forms


def _without_cuts(reading: UnescapedText) -> UnescapedText:
    """A reading without breaks of the line and the escapes that they had cut; itself where they had cut none."""
    return reading.then(BREAKS[-1], nothing).unescaped() if _CUT_ESCAPE.search(reading.text) else reading


def short_base64(value: str) -> Iterator[str]:
    """The base64 of a value that is too short to be decoded wherever it is, alone and with a break of the line."""
    for text in (value, f"{value}\n") if 6 <= len(value) <= _SHORT else ():
        encoded = base64.b64encode(text.encode()).decode()
        yield from (encoded, encoded.rstrip("="), encoded.rstrip("=").translate(_URL_SAFE))


def plain_of_short(word: str) -> str:
    """What a word of base64 stands for that is so short, if that is text."""
    if not _SHORT_BASE64.fullmatch(word):
        return ""
    core = word.rstrip("=").translate(_STANDARD)
    try:
        plain = binascii.a2b_base64(core + "=" * (-len(core) % 4)).decode("ascii").strip()
    except ValueError:
        return ""
    return plain if plain.isprintable() else ""


def unbroken(reading: UnescapedText) -> list[UnescapedText]:
    """A reading whose runs of base64 are not broken over lines, in each of the ways that differ."""
    readings: list[UnescapedText] = []
    for pattern in _BREAKS_IN_RUN if "\n" in reading.text else ():
        after = reading.then(pattern, nothing)
        if after is not reading and not (readings and readings[-1].text == after.text):
            readings.append(after)
    return readings


def _unescape(match: re.Match[str]) -> str:
    """What an escape stands for."""
    kind, spelled = match.lastgroup, match[str(match.lastgroup)]
    if kind == "mark":
        return _unescape_letter(spelled, len(match[0]) - 1, match)
    if kind in ("url", "unit", "byte", "hex"):
        return chr(int(spelled, 16))
    if kind == "number":
        return chr(int(spelled))
    if kind == "low":
        return chr(0x10000 + (int(match["high"], 16) - 0xD800) * 0x400 + int(spelled, 16) - 0xDC00)
    if kind == "name":
        return _NAMED[spelled]
    return "%" if kind == "percent" else _of_bytes(spelled)


def _unescape_letter(letter: str, slashes: int, match: re.Match[str]) -> str:
    """What a letter behind backslashes stands for.

    JSON within JSON makes two backslashes of each, so that their number is a power of two, unless one stood there
    before, as where a break of the line cut another escape in two.
    """
    if letter not in _MARKS:
        return letter
    had_one = slashes & (slashes - 1) or (slashes > 1 and _REST.match(match.string, match.end()))
    return f"\\{_MARKS[letter]}" if had_one else _MARKS[letter]


def _of_bytes(encoded: str) -> str:
    """The character that bytes in a URL are of; the bytes as they are where they are of none."""
    spelled = re.sub("%(?:25)*+", "", encoded)
    try:
        return bytes.fromhex(spelled).decode()
    except UnicodeDecodeError:
        return f"%{encoded}"


# Parts of a text with escapes

_OF_URLS = re.compile(rb"%(?:25){0,3}+[2-7][0-9a-f]")
_OF_JSON = re.compile(rb"\\(?:u00[2-7][0-9a-f]|x[2-7][0-9a-f]|/)")
_OF_XML = re.compile(rb"&(?:#|amp;|lt;|gt;|quot;|apos;)")
_APART, _BEFORE, _BEHIND = 200, 120, 400
"""Characters between two escapes of one zone, and those before and behind them that belong to it."""


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


def unescaped(text: str, start: int, end: int) -> Substitution:
    """A part of a text without escapes, those within others aside."""
    return Substitution(text[start:end], _ESCAPE, _unescape, start)


# Percent-encoding

AGAIN = "(?:25){0,3}"
"""Behind a ``%``: how often it is spelled once more; what is spelled more often is left as it is."""
_BYTE = re.compile(rf"%{AGAIN}([0-9A-Fa-f]{{2}})")
_BYTES = re.compile(rf"(?:%{AGAIN}[0-9A-Fa-f]{{2}})++")
LONGEST_ENCODED = 24
"""Characters that may spell one of an alphabet, which UTF-8 has two bytes for, with room to spare."""


def percent_decoded(text: str, start: int, end: int) -> tuple[str, list[int]]:
    """A part of a text without escapes, and where each of its characters begins in the text; behind these its end."""
    pieces: list[str] = []
    places: list[int] = []
    done = start
    for match in _BYTES.finditer(text, start, end):
        pieces.append(text[done : match.start()])
        places += range(done, match.start())
        for at, character in _characters(text, *match.span()):
            pieces.append(character)
            places.append(at)
        done = match.end()
    pieces.append(text[done:end])
    places += range(done, end + 1)
    return "".join(pieces), places


def _characters(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    """The characters of a run of escapes in UTF-8, with their places; what is no UTF-8 is one each."""
    escapes = [(match.start(), int(match[1], 16)) for match in _BYTE.finditer(text, start, end)]
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
