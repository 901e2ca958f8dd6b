"""Values that users list or an earlier run detected, found however they are written."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import unquote

from chatsquash.core.errors import UsageError
from chatsquash.redaction import encodings, joints, patterns
from chatsquash.redaction.encodings import BREAKS, UnescapedText
from chatsquash.redaction.forms import apart, everywhere, texts
from chatsquash.redaction.hits import Finder, Hit
from chatsquash.redaction.patterns import Bare, Filling, Needles, printable_text
from chatsquash.redaction.placeholders import SHORTEST

__all__ = ["Lists", "ValueList", "digest", "hash_list", "values"]

_LONGEST = 1 << 12
"""Characters of a value that is found by its hash."""
_HASH, _PATTERN = "sha256:", "re:"
_HEX = re.compile(r"[0-9a-f]{64}")
_REMEMBERED = 4096
_TOKENS = (
    re.compile(r"[^\s\0\"'`<>]{6,}+"),
    re.compile(r"[^\s\0\"'`<>,;|(){}\[\]]{6,}+"),
    re.compile(r"[^\s\0\"'`<>,;|(){}\[\]=&?]{6,}+"),
    re.compile(r"[^\s\0\"'`<>,;|(){}\[\]=&?:@]{6,}+"),
    re.compile(r"[\w-]{6,}+"),
)
"""Words, by more and more of what may stand between them."""
_WORD = re.compile(
    r"[^\s\0\"'`<>=?(){}\[\],|&]{1,4096}(?:&(?:amp|lt|gt|quot|apos|#\w{1,6});[^\s\0\"'`<>=?(){}\[\],|&]{0,4096}){0,40}"
)
"""What may be a value in a URL, also with the escapes of XML."""
_JSON_QUOTES = tuple(re.compile(rf"(?<!\\)\\{{{count}}}\"") for count in (0, 1, 3, 7))
"""Of a string, of one in a string, and so on."""
_BACKSLASHES = re.compile(r"\\{2,}")
_INVISIBLE = dict.fromkeys((0xAD, 0x200B, 0xFEFF))
_LEVELS = 4
_LINES = 8
"""Lines over which a value is looked for by its hash."""
_AT_ENDS = ".,;:!?\\"
_SIGNS = " \t+>|#*-"
_QUOTES = "\"'`"
_BLOCK = re.compile(r"-----BEGIN (?P<what>[A-Z0-9 ]{1,60}+)-----[^-]{1,4000}+-----END (?P=what)-----")
_USER = re.compile(r"://[^\s/:@]{0,100}+:(?P<password>[^\s/?#]{6,600}+)")


class ValueList:
    r"""What a file lists: a value a line, plain, as ``re:...`` or ``sha256:...``; ``#`` begins a comment.

    White space around a value is no part of it, and ``\n`` in it is a break of the line, as in JSON.
    """

    def __init__(self, data: bytes | None, option: str) -> None:
        self.values: set[str] = set()
        self.hashes: set[str] = set()
        self.patterns: list[str] = []
        for number, line in enumerate(_text(data or b"", option).split("\n"), 1):
            self._add(line.strip(), f"{option}, line {number}")

    def _add(self, line: str, place: str) -> None:
        if not line or line.startswith("#"):
            return
        if line.startswith(_HASH):
            digest = line.removeprefix(_HASH).strip().lower()
            if not _HEX.fullmatch(digest):
                raise UsageError(f"{place}: is not a SHA-256 of 64 hexadecimal digits")
            self.hashes.add(digest)
        elif line.startswith(_PATTERN):
            regex = line.removeprefix(_PATTERN)
            if not regex:
                raise UsageError(f"{place}: the pattern is empty")
            patterns.refuse_pattern(regex, place)
            self.patterns.append(regex)
        else:
            self.values.add(line)

    def holds(self, value: str) -> bool:
        """Whether a value is listed in any way."""
        if value in self.values or (self.hashes and digest(value) in self.hashes):
            return True
        return any(patterns.is_all(regex, value) for regex in self.patterns)


class Lists:
    """What the lists of a run say of values: what is denied is not allowed."""

    def __init__(self, allow: bytes | None = None, deny: bytes | None = None, known: bytes | None = None) -> None:
        self._allow = ValueList(allow, "--allow")
        self._secret = {"known": ValueList(known, "--redact-known"), "deny": ValueList(deny, "--deny")}
        rules = {value: rule for rule, listed in self._secret.items() for value in listed.values}
        self._values = _finder(rules)
        self.allows = lru_cache(maxsize=_REMEMBERED)(self._is_allowed)
        """Whether a value stays."""

    def find(self, text: str) -> list[Hit]:
        """The values that are secrets by a list, in every form; in order, none within another."""
        hits = self._values(text)
        rules: dict[str, str] = {}
        for rule, listed in self._secret.items():
            for regex in listed.patterns:
                fitting = [(start, end, text[start:end]) for start, end in patterns.spans(regex, text)]
                hits += [Hit(start, end, _kind(value), rule, value) for start, end, value in fitting]
            if listed.patterns or listed.hashes:
                rules |= dict.fromkeys(_in_any_form(text, listed), rule)
        return apart([*hits, *_finder(rules)(text)])

    def _is_allowed(self, value: str) -> bool:
        return self._allow.holds(value) and not self._secret["deny"].holds(value)


def digest(value: str) -> str:
    """The SHA-256 of a value."""
    return sha256(value.encode("utf-8", "surrogatepass")).hexdigest()


def hash_list(hashes: Iterable[str]) -> bytes:
    """A list of the hashes of values, for ``--redact-known``."""
    lines = sorted(f"{_HASH}{each}\n" for each in set(hashes))
    return "".join(
        ["# SHA-256 of secrets that were found; whoever can guess one can test the guess.\n", *lines]
    ).encode()


def _finder(rules: dict[str, str]) -> Finder:
    """Finds values, told with their rule; their kind is that of the rule whose shape they have."""
    if not rules:
        return lambda text: []  # noqa: ARG005
    find = values({value: ("", rule) for value, rule in rules.items()})
    return lambda text: [hit._replace(kind=_kind(hit.value)) for hit in find(text)]


def _kind(value: str) -> str:
    from chatsquash.redaction.secrets import kind_of  # whose rules not every list needs

    return kind_of(value)


def _in_any_form(text: str, listed: ValueList) -> Iterator[str]:
    """What fits a pattern or has a hash that is listed, in any form of a text."""
    for form in texts(text):
        for regex in listed.patterns:
            yield from (form[start:end] for start, end in patterns.spans(regex, form) if end - start >= SHORTEST)
        if listed.hashes:
            yield from (value for value in _candidates(form) if digest(value) in listed.hashes)
    if listed.hashes:
        yield from (value for value in _escaped_values(text) if digest(value) in listed.hashes)


def _escaped_values(text: str) -> set[str]:
    """The values of a text that have escapes, each without its own: what these stand for ends no value.

    They are the words of a URL, level by level where one is within another, and the strings of JSON.
    """
    written: set[str] = set()
    level = text.translate(_INVISIBLE)
    if level != text:
        written.update(_WORD.findall(level))
    for _ in range(_LEVELS):
        words = [word for word in _WORD.findall(level) if "%" in word or "&" in word or "\\" in word]
        written.update(words, map(unquote, words), (html.unescape(word) for word in words if "&" in word))
        if "%" not in level:
            break
        level = unquote(level)
    for quote in _JSON_QUOTES if "\\" in text else ():
        written.update(piece for piece in re.split(quote, text) if "\\" in piece)
    written |= {encodings.readings(each)[-1].text for each in written if len(each) <= _LONGEST}
    written |= {_BACKSLASHES.sub(r"\\", each) for each in written if "\\\\" in each}
    return {value for value in written if SHORTEST <= len(value) <= _LONGEST}


def _candidates(text: str) -> set[str]:
    """What is hashed of a text, in time linear in it.

    These are words between spaces, quotes, brackets, commas and so on, and between more and more other signs; all of a
    line, and what stands in it behind the first colon or equals sign; all between two quotes; blocks of keys; and the
    password of a URL.  A value that no such sign stands next to, or that is broken over more than `_LINES`, is not
    found by its hash.
    """
    lines = text.splitlines()
    words = "\n".join([text, *_over_breaks(lines)])
    candidates = {word for pattern in _TOKENS for word in re.findall(pattern, words)}
    candidates |= {word.strip(_AT_ENDS) for word in candidates}
    candidates |= {plain for word in candidates if (plain := encodings.plain_of_short(word))}
    for line in lines:
        candidates |= {line.strip(), *(line.partition(sign)[2].strip().rstrip(",;").strip(_QUOTES) for sign in "=:")}
    for quote in _QUOTES:
        candidates.update(text.split(quote))
    candidates |= {block[0] for block in _BLOCK.finditer(text)}
    candidates |= {user["password"].rpartition("@")[0] for user in _USER.finditer(text)}
    return {value for value in candidates if SHORTEST <= len(value) <= _LONGEST}


def _over_breaks(lines: list[str]) -> Iterator[str]:
    """The last word of each line with the first ones of the next, with and without the signs that begin these."""
    for at, line in enumerate(lines):
        last = line[-_LONGEST:].rstrip().removesuffix("\\").split()[-1:]
        for signs in ("", _SIGNS) if last else ():
            yield from _joined_words(last[0], lines[at + 1 : at + _LINES], signs)


def _joined_words(word: str, lines: list[str], signs: str) -> Iterator[str]:
    """A word with those that begin the lines after it, up to a line that has more words."""
    for line in lines:
        words = line[:_LONGEST].lstrip(signs or None).split()
        if not words:
            return
        word += words[0].removesuffix("\\")
        yield word
        if len(words) > 1:
            return


def _text(data: bytes, option: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise UsageError(f"{option}: the file is not valid UTF-8") from None


_FILLING = Filling(" \t\r\n\\\"'+>|#*-\u00a0\u00ad\u200b\ufeff")
"""What may stand within a value that is broken over lines or quoted in pieces: it is left out of both."""
_OTHERWISE = re.compile(r"[\\%\r\n\u00ad\u200b\ufeff]")
_SURE = 6
"""Characters of a value whose pieces do not meet over a break of the line by chance."""
_NUMBERS = frozenset(("PHONE", "IP_ADDRESS"))
"""Kinds whose values are others within longer numbers."""
_SPACED = "PHONE"
"""The kind whose values are written with any spaces and hyphens."""


class _Core(NamedTuple):
    """A value without escapes, and without what is left out of it at its ends."""

    value: str
    before: str
    text: str
    """On one line."""
    after: str


def values(kinds: Mapping[str, tuple[str, str]]) -> Finder:
    """Finds values, told with kind and rule, in every form of a text; takes time linear in it, whatever their number.

    A value of fewer than six characters is found broken over lines only where nothing but the break is within it, and
    in base64 only of text.
    """
    return _ValueFinder(kinds).find


class _ValueFinder:
    """Finds values that are known."""

    def __init__(self, kinds: Mapping[str, tuple[str, str]]) -> None:
        self._told = {printable_text(value): (value, *each) for value, each in kinds.items() if value}
        encoded = {form: known for value, known in self._told.items() for form in encodings.short_base64(value)}
        self._cores: dict[str, list[_Core]] = {}
        for value in self._told:
            for core in _cores(value):
                self._cores.setdefault(_FILLING.out_of(core.text), []).append(core)
        self._told = encoded | self._told
        self._plain = Needles(self._told)
        self._bare = Needles(self._cores)

    def find(self, text: str) -> list[Hit]:
        """The values in a text, in order, none within another."""
        return everywhere(text, self._search)

    def _search(self, reading: UnescapedText) -> Iterator[Hit]:
        text = printable_text(reading.text)
        for start, end in self._plain.places(text):
            yield from self._hit(reading, text, (start, end), text[start:end])
        yield from self._in_pieces(reading)
        bare = Bare(text, _FILLING)
        done = 0
        for first, last in self._bare.places(bare.text):
            if first >= done and (span := self._in_core(reading, text, bare.span(first, last), bare.text[first:last])):
                yield span
                done = last

    def _in_pieces(self, reading: UnescapedText) -> Iterator[Hit]:
        """The pieces of values that are joined only where they are used."""
        whole = joints.join_pieces(reading)
        if whole is reading:
            return
        text = printable_text(whole.text)
        for start, end in self._plain.places(text):
            spelled, kind, rule = self._told[text[start:end]]
            spans = [*joints.piece_spans(whole, start, end)]
            if len(spans) > 1 and kind not in _NUMBERS and end - start >= _SURE:
                yield from (Hit(first, last, kind, rule, spelled) for first, last in spans)

    def _in_core(self, reading: UnescapedText, text: str, span: tuple[int, int], bare: str) -> Hit | None:
        start, end = span
        for core in self._cores[bare]:
            is_sure = len(bare) >= _SURE and (self._told[core.value][1] == _SPACED or _differs(reading, start, end))
            if is_sure or _is_core(text[start:end], core):
                wide = _widened(text, start, end, core)
                return next(self._hit(reading, text, wide, core.value), None)
        return None

    def _hit(self, reading: UnescapedText, text: str, span: tuple[int, int], value: str) -> Iterator[Hit]:
        start, end = span
        spelled, kind, rule = self._told[value]
        if kind not in _NUMBERS or not (text[start - 1 : start].isdigit() or text[end : end + 1].isdigit()):
            yield Hit(*reading.span(start, end), kind, rule, spelled)


def _cores(value: str) -> Iterator[_Core]:
    seen = set()
    for reading in encodings.readings(value):
        text = printable_text(reading.text)
        bare = _FILLING.out_of(text)
        if not bare or text in seen:
            continue
        seen.add(text)
        start, end = text.index(bare[0]), text.rindex(bare[-1]) + 1
        yield _Core(value, text[:start], BREAKS[0].sub("", text[start:end]), text[end:])


def _is_core(text: str, core: _Core) -> bool:
    """Whether a text that is a value but for filling is it but for breaks, or for spaces as forms have them."""
    return (
        "\n" in core.value
        or any(pattern.sub("", text) == core.text for pattern in BREAKS)
        or text.replace("+", " ") == core.text
    )


def _differs(reading: UnescapedText, start: int, end: int) -> bool:
    """Whether escapes or breaks stand within what a part of a reading is of."""
    return bool(_OTHERWISE.search(reading.source[slice(*reading.span(start, end))]))


def _widened(text: str, start: int, end: int, core: _Core) -> tuple[int, int]:
    """Where a value stands with what was left out at its ends, as far as that stands there."""
    before, after = core.before, core.after
    while before and text[start - 1 : start] == before[-1]:
        start, before = start - 1, before[:-1]
    while after and text[end : end + 1] == after[0]:
        end, after = end + 1, after[1:]
    return start, end
