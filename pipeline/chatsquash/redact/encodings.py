"""Texts within texts: escapes of URLs, JSON and XML, tokens that were broken over lines, and base64."""

from __future__ import annotations

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
_LONG = 20
"""Characters that a run of base64 has at least."""
_IN_RUN, _OUTSIDE = b"a", b" "
_RUNS = bytes.maketrans(
    bytes(range(256)),
    bytes(0x61 if (chr(code).isalnum() and code < 0x80) or chr(code) in "+/_-" else 0x20 for code in range(256)),
)
_URL_SAFE = str.maketrans("-_", "+/")
_PRINTS = bytes([9, 10, 13, *range(32, 127)])


class View:
    """A text as it reads once a pattern was replaced in it, and where its characters stand in the other one."""

    def __init__(self, source: str, pattern: re.Pattern[str], plain: Callable[[re.Match[str]], str]) -> None:
        self.text = re.sub(pattern, plain, source)
        self.source, self._pattern, self._plain = source, pattern, plain

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where what stands at a place of it stands in the other text: whole escapes, and nothing around them."""
        return self._at(start)[0], self._at(end - 1)[1]

    def piece(self, place: int) -> tuple[int, int]:
        """Where the piece that a place is in begins and ends: what is between two replaced parts, or one of them."""
        ours = self._pieces[0]
        number = bisect_right(ours, place) - 1
        return ours[number], ours[number + 1] if number + 1 < len(ours) else len(self.text)

    def _at(self, place: int) -> tuple[int, int]:
        first, after = self.piece(place)
        ours, theirs = self._pieces
        start, end = theirs[bisect_right(ours, place) - 1]
        if after - first != end - start:
            return start, end
        return start + place - first, start + place - first + 1

    @cached_property
    def _pieces(self) -> tuple[list[int], list[tuple[int, int]]]:
        """Where pieces begin, and where they stand in the other text: only worked out where something is found."""
        ours: list[int] = []
        theirs: list[tuple[int, int]] = []
        done = length = 0
        for found in re.finditer(self._pattern, self.source):
            start, end = found.span()
            for width, place in ((start - done, (done, start)), (len(self._plain(found)), (start, end))):
                if width:
                    ours.append(length)
                    theirs.append(place)
                    length += width
            done = end
        if done < len(self.source):
            ours.append(length)
            theirs.append((done, len(self.source)))
        return ours, theirs


class Reading:
    """A text as it reads after several views of it, one upon the other."""

    def __init__(self, text: str, views: tuple[View, ...] = ()) -> None:
        self.text = text
        self.views = views

    @property
    def source(self) -> str:
        """The text that all of the views are of."""
        return self.views[0].source if self.views else self.text

    def then(self, pattern: re.Pattern[str], plain: Callable[[re.Match[str]], str]) -> Reading:
        """The reading after one more view; this one where the pattern is not in its text."""
        view = View(self.text, pattern, plain)
        return self if view.text == self.text else Reading(view.text, (*self.views, view))

    def spelled(self, text: str) -> Reading:
        """The reading with other characters, each in the place of one."""
        return Reading(text, self.views)

    def unescaped(self) -> Reading:
        """The reading without escapes, also those within others."""
        reading = self
        for _ in range(_ROUNDS):
            if not _ESCAPING.search(reading.text):
                break
            after = reading.then(_ESCAPE, _undone)
            if after is reading:
                break
            reading = after
        return reading

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Where what stands at a place of it stands in the first text."""
        for view in reversed(self.views):
            start, end = view.span(start, end)
        return start, end


def nothing(found: re.Match[str]) -> str:
    """What stands in the place of what is left out."""
    del found
    return ""


def readings(text: str) -> list[Reading]:
    """A text as it is, without escapes, and without those that a break of the line had cut, as far as they differ."""
    found = [Reading(text)]
    if (whole := _mended(found[0])) is not found[0]:
        found.append(whole)  # a break in the text itself, which must go before a backslash is read that it cut off
    if (plain := found[0].unescaped()) is not found[0]:
        found.append(plain)
    for _ in range(_CUT):
        if (whole := _mended(found[-1])) is found[-1]:
            break
        found.append(whole)
    return found


def _mended(reading: Reading) -> Reading:
    """A reading without breaks of the line and the escapes that they had cut; itself where they had cut none."""
    return reading.then(BREAKS[-1], nothing).unescaped() if _CUT_ESCAPE.search(reading.text) else reading


def unbroken(reading: Reading) -> list[Reading]:
    """A reading whose runs of base64 are not broken over lines, in each of the ways that differ."""
    found: list[Reading] = []
    for pattern in _BREAKS_IN_RUN if "\n" in reading.text else ():
        after = reading.then(pattern, nothing)
        if after is not reading and not (found and found[-1].text == after.text):
            found.append(after)
    return found


def _undone(found: re.Match[str]) -> str:
    """What an escape stands for."""
    kind, told = found.lastgroup, found[str(found.lastgroup)]
    if kind == "mark":
        return _marked(told, len(found[0]) - 1, found)
    if kind in ("url", "unit", "byte", "hex"):
        return chr(int(told, 16))
    if kind == "number":
        return chr(int(told))
    if kind == "low":
        return chr(0x10000 + (int(found["high"], 16) - 0xD800) * 0x400 + int(told, 16) - 0xDC00)
    if kind == "name":
        return _NAMED[told]
    return "%" if kind == "percent" else _of_bytes(told)


def _marked(letter: str, slashes: int, found: re.Match[str]) -> str:
    """What a letter behind backslashes stands for.

    JSON within JSON makes two backslashes of each, so that their number is a power of two, unless one stood there
    before, as where a break of the line cut another escape in two.
    """
    if letter not in _MARKS:
        return letter
    had_one = slashes & (slashes - 1) or (slashes > 1 and _REST.match(found.string, found.end()))
    return f"\\{_MARKS[letter]}" if had_one else _MARKS[letter]


def _of_bytes(told: str) -> str:
    """The character that bytes in a URL are of; the bytes as they are where they are of none."""
    spelled = re.sub("%(?:25)*+", "", told)
    try:
        return bytes.fromhex(spelled).decode()
    except UnicodeDecodeError:
        return f"%{told}"


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
