"""Encoded text: escapes of URLs, JSON and XML, tokens split across lines, and base64."""

from __future__ import annotations

import binascii
import re
from bisect import bisect_right
from collections.abc import Callable, Iterator
from functools import cached_property

from chatsquash.core.lazy import lazy_compile

_HEX = "[0-9a-fA-F]"
_PERCENT = "%(?:25)*+"
_NEXT_BYTE = rf"(?:{_PERCENT}[89abAB]{_HEX})"
# Any number of backslashes is one escape, because nested JSON doubles them. The first character is a class, which is
# four times as fast to search for as alternatives.
_ESCAPE = lazy_compile(
    rf"[\\%&](?:(?<=\\)(?<!\\\\)\\*+(?:u(?P<high>[dD][89abAB]{_HEX}{{2}})\\++u(?P<low>[dD][c-fC-F]{_HEX}{{2}})"
    rf"|u(?P<unit>(?![dD][89a-fA-F]){_HEX}{{4}})|x(?P<byte>{_HEX}{{2}})|(?P<mark>[nrt\"'/]))"
    rf"|(?<=%)(?:25)*+(?:(?P<url>[0-7]{_HEX})"
    rf"|(?P<utf8>[cdCD]{_HEX}{_NEXT_BYTE}|[eE]{_HEX}{_NEXT_BYTE}{{2}}|[fF][0-4]{_NEXT_BYTE}{{3}}))"
    r"|(?P<percent>(?<=%)(?:25)++)"
    rf"|(?<=&)(?:(?P<name>amp|lt|gt|quot|apos)|\#(?:(?P<number>[0-9]{{1,6}})|[xX](?P<hex>{_HEX}{{1,5}})));)"
)
_ESCAPING = lazy_compile(r"\\[unrtx\"'/\\]|%[0-9a-fA-F]|&[alqg#]")
_MARKS = {"n": "\n", "r": "\r", "t": "\t"}
_ENTITIES = {"amp": "&", "lt": "<", "gt": ">", "quot": '"', "apos": "'"}
_ROUNDS, _CUT = 6, 2
"""The maximum depth of nested escapes, and the maximum number of times that lines are joined to decode more."""
_BASE64 = "A-Za-z0-9+/_-"
_LINE_END = r"(?:\r\n?+|\n)[ \t]{0,80}+"
_SIGN = r"(?:[+>|#*-][ \t]{0,80}+)"
BREAKS = (
    lazy_compile(_LINE_END),
    lazy_compile(rf"{_LINE_END}{_SIGN}?+"),
    lazy_compile(rf"{_LINE_END}{_SIGN}{{0,2}}+"),
)
"""The end of a line with the indentation of the next one, and with one or two signs of diffs and quotes."""
_BREAK_AFTER_BASE64 = rf"(?:\r\n(?<=[{_BASE64}]\r\n)|\n(?<=[{_BASE64}]\n))[ \t]{{0,80}}+"
_BREAKS_IN_RUN = (
    lazy_compile(rf"{_BREAK_AFTER_BASE64}(?:{_LINE_END}){{0,2}}+(?=[={_BASE64}])"),
    lazy_compile(rf"{_BREAK_AFTER_BASE64}{_SIGN}?+(?:{_LINE_END}{_SIGN}?+){{0,2}}+(?=[={_BASE64}])"),
    lazy_compile(rf"{_BREAK_AFTER_BASE64}{_SIGN}{{0,2}}+(?:{_LINE_END}{_SIGN}{{0,2}}+){{0,2}}+(?=[={_BASE64}])"),
)
_BREAK = rf"(?:{_LINE_END}{_SIGN}{{0,2}}+){{1,3}}+"
_CUT_ESCAPE = lazy_compile(
    rf"\\(?:{_BREAK}[nrtux\"'/]|[ux]{_HEX}{{0,3}}+{_BREAK}{_HEX}|u{_HEX}{{4}}{_BREAK}\\)"
    rf"|%(?:{_HEX}{{0,16}}+{_BREAK}{_HEX}|{_HEX}{{2,16}}+{_BREAK}%)"
    rf"|&[#a-zA-Z0-9]{{0,7}}+{_BREAK}[#a-zA-Z0-9;]"
)
_REST = lazy_compile(rf"(?:\\{{1,32}}+n)?+[ \t]{{0,80}}+{_SIGN}{{0,2}}+(?:u{_HEX}{{4}}|x{_HEX}{{2}})")
"""The rest of an escape after the line break that split it."""


_SHORT = 15
_SHORT_BASE64 = lazy_compile(r"[A-Za-z0-9+/_-]{8,27}={0,2}")
_STANDARD, _URL_SAFE = str.maketrans("-_", "+/"), str.maketrans("+/", "-_")


class Rendering:
    """A transformed text, with a mapping to positions in the source."""

    text: str

    @cached_property
    def pieces(self) -> tuple[list[int], list[tuple[int, int]]]:
        """Sorted offsets of pieces and their spans in the source; unchanged pieces have the same length in both."""
        raise NotImplementedError

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Map a span of the text to the source; escapes are included completely."""
        return self._at(start)[0], self._at(end - 1)[1]

    def piece(self, place: int) -> tuple[int, int]:
        """Return the span of the piece that contains an offset."""
        starts, _ = self.pieces
        number = bisect_right(starts, place) - 1
        return starts[number], starts[number + 1] if number + 1 < len(starts) else len(self.text)

    def _at(self, place: int) -> tuple[int, int]:
        first, after = self.piece(place)
        starts, source_spans = self.pieces
        start, end = source_spans[bisect_right(starts, place) - 1]
        if after - first != end - start:
            return start, end
        return start + place - first, start + place - first + 1


class Substitution(Rendering):
    """A text, or a part of it from ``start``, in which the matches of a pattern are replaced."""

    def __init__(
        self, source: str, pattern: re.Pattern[str], plain: Callable[[re.Match[str]], str], start: int = 0
    ) -> None:
        self.text = pattern.sub(plain, source)
        self.source, self._pattern, self._plain, self._start = source, pattern, plain, start

    @cached_property
    def pieces(self) -> tuple[list[int], list[tuple[int, int]]]:
        """The pieces of the rendering, which are only computed if something is detected."""
        starts: list[int] = []
        source_spans: list[tuple[int, int]] = []
        done = length = 0
        before = self._start
        for match in self._pattern.finditer(self.source):
            start, end = match.span()
            for width, (first, last) in ((start - done, (done, start)), (len(self._plain(match)), (start, end))):
                if width:
                    starts.append(length)
                    source_spans.append((before + first, before + last))
                    length += width
            done = end
        if done < len(self.source):
            starts.append(length)
            source_spans.append((before + done, before + len(self.source)))
        return starts, source_spans


class UnescapedText:
    """A text to which a chain of substitutions has been applied."""

    def __init__(self, text: str, views: tuple[Substitution, ...] = ()) -> None:
        self.text = text
        self.views = views

    @property
    def source(self) -> str:
        """The original text."""
        return self.views[0].source if self.views else self.text

    def then(self, pattern: re.Pattern[str], plain: Callable[[re.Match[str]], str]) -> UnescapedText:
        """Apply another substitution, or return this object if nothing matches."""
        view = Substitution(self.text, pattern, plain)
        return self if view.text == self.text else UnescapedText(view.text, (*self.views, view))

    def with_text(self, text: str) -> UnescapedText:
        """Return the same mapping for a text of the same length."""
        return UnescapedText(text, self.views)

    def unescaped(self) -> UnescapedText:
        """Decode all escapes, including nested ones."""
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
        """Map a span to the original text."""
        for view in reversed(self.views):
            start, end = view.span(start, end)
        return start, end


def remove(match: re.Match[str]) -> str:
    """Replace a match with the empty string."""
    del match
    return ""


def readings(text: str) -> list[UnescapedText]:
    """Return the distinct readings of a text: unchanged, unescaped, and with escapes that line breaks split."""
    forms = [UnescapedText(text)]
    if (without_cuts := _join_cut_escapes(forms[0])) is not forms[0]:
        # A break in the text itself must be removed before the backslash that it cut off is decoded.
        forms.append(without_cuts)
    if (plain := forms[0].unescaped()) is not forms[0]:
        forms.append(plain)
    for _ in range(_CUT):
        if (without_cuts := _join_cut_escapes(forms[-1])) is forms[-1]:
            break
        forms.append(without_cuts)
    return forms


def _join_cut_escapes(reading: UnescapedText) -> UnescapedText:
    """Join and decode escapes that line breaks split, or return the same object if there are none."""
    return reading.then(BREAKS[-1], remove).unescaped() if _CUT_ESCAPE.search(reading.text) else reading


def short_base64(value: str) -> Iterator[str]:
    """Yield base64 forms of a value that is too short to be decoded anywhere, with and without a line feed."""
    for text in (value, f"{value}\n") if 6 <= len(value) <= _SHORT else ():
        encoded = binascii.b2a_base64(text.encode(), newline=False).decode()
        yield from (encoded, encoded.rstrip("="), encoded.rstrip("=").translate(_URL_SAFE))


def plain_of_short(word: str) -> str:
    """Decode a short base64 word, or return nothing if it is not printable text."""
    if not _SHORT_BASE64.fullmatch(word):
        return ""
    core = word.rstrip("=").translate(_STANDARD)
    try:
        plain = binascii.a2b_base64(core + "=" * (-len(core) % 4)).decode("ascii").strip()
    except ValueError:
        return ""
    return plain if plain.isprintable() else ""


def join_base64_lines(reading: UnescapedText) -> list[UnescapedText]:
    """Return the distinct readings in which base64 that is split across lines is joined."""
    readings: list[UnescapedText] = []
    for pattern in _BREAKS_IN_RUN if "\n" in reading.text else ():
        after = reading.then(pattern, remove)
        if after is not reading and not (readings and readings[-1].text == after.text):
            readings.append(after)
    return readings


def _unescape(match: re.Match[str]) -> str:
    """Decode one escape."""
    kind, text = match.lastgroup, match[str(match.lastgroup)]
    if kind == "mark":
        return _unescape_letter(text, len(match[0]) - 1, match)
    if kind in ("url", "unit", "byte", "hex"):
        return chr(int(text, 16))
    if kind == "number":
        return chr(int(text))
    if kind == "low":
        return chr(0x10000 + (int(match["high"], 16) - 0xD800) * 0x400 + int(text, 16) - 0xDC00)
    if kind == "name":
        return _ENTITIES[text]
    return "%" if kind == "percent" else _decode_utf8(text)


def _unescape_letter(letter: str, slashes: int, match: re.Match[str]) -> str:
    """Decode a letter after backslashes."""
    if letter not in _MARKS:
        return letter
    # Nested JSON doubles each backslash, so their number is a power of two unless the original text contained one,
    # for example where a line break split another escape.
    had_one = slashes & (slashes - 1) or (slashes > 1 and _REST.match(match.string, match.end()))
    return f"\\{_MARKS[letter]}" if had_one else _MARKS[letter]


def _decode_utf8(encoded: str) -> str:
    """Decode percent-encoded UTF-8; invalid bytes are returned unchanged."""
    digits = re.sub("%(?:25)*+", "", encoded)
    try:
        return bytes.fromhex(digits).decode()
    except UnicodeDecodeError:
        return f"%{encoded}"


# Parts of a text with escapes

_URL_ESCAPES = lazy_compile(rb"%(?:25){0,3}+[2-7][0-9a-f]")
_JSON_ESCAPES = lazy_compile(rb"\\(?:u00[2-7][0-9a-f]|x[2-7][0-9a-f]|/)")
_XML_ESCAPES = lazy_compile(rb"&(?:#|amp;|lt;|gt;|quot;|apos;)")
_MAX_GAP, _BEFORE, _AFTER = 200, 120, 400
"""The maximum distance of escapes in one zone, and the numbers of characters around them that belong to it."""


def zones(lower: bytes) -> Iterator[tuple[int, int]]:
    """Yield the spans with escapes of ordinary characters, including their surroundings."""
    spans = [each.span() for each in _URL_ESCAPES.finditer(lower)]
    spans += [each.span() for each in _JSON_ESCAPES.finditer(lower)]
    spans += [each.span() for each in _XML_ESCAPES.finditer(lower)]
    start = end = -1
    for first, last in sorted(spans):
        if start < 0:
            start = first
        elif first - end > _MAX_GAP:
            yield max(0, start - _BEFORE), min(len(lower), end + _AFTER)
            start = first
        end = last
    if start >= 0:
        yield max(0, start - _BEFORE), min(len(lower), end + _AFTER)


def starts_zone(lower: bytes, at: int) -> bool:
    """Return whether a percent sign starts an escape of an ordinary character."""
    return bool(_URL_ESCAPES.match(lower, at))


def unescaped(text: str, start: int, end: int) -> Substitution:
    """Decode one level of escapes in a part of a text."""
    return Substitution(text[start:end], _ESCAPE, _unescape, start)
