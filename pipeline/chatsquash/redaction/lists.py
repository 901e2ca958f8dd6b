"""Values from lists of users or earlier runs, found in any form in which they are written."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from hashlib import sha256
from typing import NamedTuple
from urllib.parse import unquote

from chatsquash.core.errors import UsageError
from chatsquash.redaction import encodings, forms, patterns
from chatsquash.redaction.encodings import BREAKS, UnescapedText
from chatsquash.redaction.forms import merge_overlapping, search_everywhere, texts
from chatsquash.redaction.patterns import BareText, Filler, Needles, printable_text
from chatsquash.redaction.values import SHORTEST, Finder, Hit

__all__ = ["Lists", "ValueList", "digest", "hash_list", "values"]

_LONGEST = 1 << 12
"""The maximum length of values found by hash."""
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
"""Patterns for words, with an increasing number of separators."""
_WORD = re.compile(
    r"[^\s\0\"'`<>=?(){}\[\],|&]{1,4096}(?:&(?:amp|lt|gt|quot|apos|#\w{1,6});[^\s\0\"'`<>=?(){}\[\],|&]{0,4096}){0,40}"
)
"""A possible value in a URL, which may contain XML escapes."""
_JSON_QUOTES = tuple(re.compile(rf"(?<!\\)\\{{{count}}}\"") for count in (0, 1, 3, 7))
"""Quotes of a string, of a string in a string, and so on."""
_BACKSLASHES = re.compile(r"\\{2,}")
_INVISIBLE = dict.fromkeys((0xAD, 0x200B, 0xFEFF))
_LEVELS = 4
_LINES = 8
"""The maximum number of lines of a value found by hash."""
_AT_ENDS = ".,;:!?\\"
_SIGNS = " \t+>|#*-"
_QUOTES = "\"'`"
_BLOCK = re.compile(r"-----BEGIN (?P<what>[A-Z0-9 ]{1,60}+)-----[^-]{1,4000}+-----END (?P=what)-----")
_USER = re.compile(r"://[^\s/:@]{0,100}+:(?P<password>[^\s/?#]{6,600}+)")


class ValueList:
    r"""A list file: one value per line, literal, or as ``re:...`` or ``sha256:...``; ``#`` starts a comment.

    White space around a value is ignored, and ``\n`` in it is a line break, as in JSON.
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
                raise UsageError(f"{place}: not a SHA-256 hash with 64 hexadecimal digits")
            self.hashes.add(digest)
        elif line.startswith(_PATTERN):
            regex = line.removeprefix(_PATTERN)
            if not regex:
                raise UsageError(f"{place}: the pattern is empty")
            patterns.refuse_pattern(regex, place)
            self.patterns.append(regex)
        else:
            self.values.add(line)

    def contains(self, value: str) -> bool:
        """Return whether a value is listed literally, by hash or by pattern."""
        if value in self.values or (self.hashes and digest(value) in self.hashes):
            return True
        return any(patterns.is_all(regex, value) for regex in self.patterns)


class Lists:
    """The lists of a run; denied values are never allowed."""

    def __init__(self, allow: bytes | None = None, deny: bytes | None = None, known: bytes | None = None) -> None:
        self._allow = ValueList(allow, "--allow")
        self._secret = {"known": ValueList(known, "--redact-known"), "deny": ValueList(deny, "--deny")}
        rules = {value: rule for rule, value_list in self._secret.items() for value in value_list.values}
        self._values = _finder(rules)
        self.allows = lru_cache(maxsize=_REMEMBERED)(self._is_allowed)
        """Whether a value is allowed, so it is not replaced."""

    def find(self, text: str) -> list[Hit]:
        """Return the values that a list marks as secrets, in every form; sorted, without overlaps."""
        hits = self._values(text)
        rules: dict[str, str] = {}
        for rule, value_list in self._secret.items():
            for regex in value_list.patterns:
                fitting = [(start, end, text[start:end]) for start, end in patterns.spans(regex, text)]
                hits += [Hit(start, end, _kind(value), rule, value) for start, end, value in fitting]
            if value_list.patterns or value_list.hashes:
                rules |= dict.fromkeys(_in_any_form(text, value_list), rule)
        return merge_overlapping([*hits, *_finder(rules)(text)])

    def _is_allowed(self, value: str) -> bool:
        return self._allow.contains(value) and not self._secret["deny"].contains(value)


def digest(value: str) -> str:
    """Return the SHA-256 of a value."""
    return sha256(value.encode("utf-8", "surrogatepass")).hexdigest()


def hash_list(hashes: Iterable[str]) -> bytes:
    """Create a list of hashes for ``--redact-known``."""
    lines = sorted(f"{_HASH}{each}\n" for each in set(hashes))
    return "".join(
        ["# SHA-256 hashes of detected secrets; anyone who guesses a secret can confirm it with its hash.\n", *lines]
    ).encode()


def _finder(rules: dict[str, str]) -> Finder:
    """Create a finder for values with their rule; the shape of the value determines the kind."""
    if not rules:
        return lambda text: []  # noqa: ARG005
    find = values({value: ("", rule) for value, rule in rules.items()})
    return lambda text: [hit._replace(kind=_kind(hit.value)) for hit in find(text)]


def _kind(value: str) -> str:
    from chatsquash.redaction.secrets import kind_of  # whose rules are not needed for every list

    return kind_of(value)


def _in_any_form(text: str, value_list: ValueList) -> Iterator[str]:
    """Yield the values in any form of a text that match a listed pattern or hash."""
    for form in texts(text):
        for regex in value_list.patterns:
            yield from (form[start:end] for start, end in patterns.spans(regex, form) if end - start >= SHORTEST)
        if value_list.hashes:
            yield from (value for value in _candidates(form) if digest(value) in value_list.hashes)
    if value_list.hashes:
        yield from (value for value in _escaped_values(text) if digest(value) in value_list.hashes)


def _escaped_values(text: str) -> set[str]:
    """Return the values with escapes in a text; decoded separators do not end a value.

    They are the words of URLs, decoded level by level, and the strings of JSON.
    """
    candidates: set[str] = set()
    level = text.translate(_INVISIBLE)
    if level != text:
        candidates.update(_WORD.findall(level))
    for _ in range(_LEVELS):
        words = [word for word in _WORD.findall(level) if "%" in word or "&" in word or "\\" in word]
        candidates.update(words, map(unquote, words), (html.unescape(word) for word in words if "&" in word))
        if "%" not in level:
            break
        level = unquote(level)
    for quote in _JSON_QUOTES if "\\" in text else ():
        candidates.update(piece for piece in re.split(quote, text) if "\\" in piece)
    candidates |= {encodings.readings(each)[-1].text for each in candidates if len(each) <= _LONGEST}
    candidates |= {_BACKSLASHES.sub(r"\\", each) for each in candidates if "\\\\" in each}
    return {value for value in candidates if SHORTEST <= len(value) <= _LONGEST}


def _candidates(text: str) -> set[str]:
    """Return the candidates to hash, in time linear in the text.

    Candidates are words between spaces, quotes, brackets, commas and increasingly more separators; lines, and their
    part after the first colon or equals sign; text between quotes; key blocks; and passwords in URLs. A value that is
    not delimited by any of these, or is split across more than `_LINES` lines, is not found by its hash.
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
    """Yield the last word of each line joined to the first words of the next ones, with and without line prefixes."""
    for at, line in enumerate(lines):
        last = line[-_LONGEST:].rstrip().removesuffix("\\").split()[-1:]
        for signs in ("", _SIGNS) if last else ():
            yield from _joined_words(last[0], lines[at + 1 : at + _LINES], signs)


def _joined_words(word: str, lines: list[str], signs: str) -> Iterator[str]:
    """Yield a word joined to the words at the start of the following lines, up to a line with more words."""
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


_FILLER = Filler(" \t\r\n\\\"'+>|#*-\u00a0\u00ad\u200b\ufeff")
"""Characters that may occur within a value that is split or quoted in pieces; they are ignored."""
_ENCODED_OR_BROKEN = re.compile(r"[\\%\r\n\u00ad\u200b\ufeff]")
_SURE = 6
"""The minimum length of a value whose pieces do not match across line breaks by chance."""
_NUMBERS = frozenset(("PHONE", "IP_ADDRESS"))
"""The kinds of values that are different values within longer numbers."""
_SPACED = "PHONE"
"""The kind of values that may contain any spaces and hyphens."""


class _Core(NamedTuple):
    """An unescaped value without filler characters at its ends."""

    value: str
    before: str
    text: str
    """The value on one line."""
    after: str


def values(kinds: Mapping[str, tuple[str, str]]) -> Finder:
    """Create a finder for values, given with kind and rule, in every form of a text.

    It takes time linear in the text, whatever the number of values. A value of fewer than six characters is only found
    across a line break if nothing else is within it, and in base64 only of text.
    """
    return _ValueFinder(kinds).find


class _ValueFinder:
    """Finds known values in texts."""

    def __init__(self, kinds: Mapping[str, tuple[str, str]]) -> None:
        self._details = {printable_text(value): (value, *each) for value, each in kinds.items() if value}
        encoded = {form: details for value, details in self._details.items() for form in encodings.short_base64(value)}
        self._cores: dict[str, list[_Core]] = {}
        for value in self._details:
            for core in _cores(value):
                self._cores.setdefault(_FILLER.remove_from(core.text), []).append(core)
        self._details = encoded | self._details
        self._plain = Needles(self._details)
        self._bare = Needles(self._cores)

    def find(self, text: str) -> list[Hit]:
        """Return the values in a text, sorted and without overlaps."""
        return search_everywhere(text, self._search)

    def _search(self, reading: UnescapedText) -> Iterator[Hit]:
        text = printable_text(reading.text)
        for start, end in self._plain.places(text):
            yield from self._hit(reading, text, (start, end), text[start:end])
        yield from self._in_pieces(reading)
        bare = BareText(text, _FILLER)
        done = 0
        for first, last in self._bare.places(bare.text):
            if first >= done and (span := self._in_core(reading, text, bare.span(first, last), bare.text[first:last])):
                yield span
                done = last

    def _in_pieces(self, reading: UnescapedText) -> Iterator[Hit]:
        """Yield the pieces of values that are concatenated in code."""
        one_piece = forms.join_pieces(reading)
        if one_piece is reading:
            return
        text = printable_text(one_piece.text)
        for start, end in self._plain.places(text):
            original, kind, rule = self._details[text[start:end]]
            spans = [*forms.piece_spans(one_piece, start, end)]
            if len(spans) > 1 and kind not in _NUMBERS and end - start >= _SURE:
                yield from (Hit(first, last, kind, rule, original) for first, last in spans)

    def _in_core(self, reading: UnescapedText, text: str, span: tuple[int, int], bare: str) -> Hit | None:
        start, end = span
        for core in self._cores[bare]:
            is_sure = len(bare) >= _SURE and (self._details[core.value][1] == _SPACED or _differs(reading, start, end))
            if is_sure or _is_core(text[start:end], core):
                wide = _widen(text, start, end, core)
                return next(self._hit(reading, text, wide, core.value), None)
        return None

    def _hit(self, reading: UnescapedText, text: str, span: tuple[int, int], value: str) -> Iterator[Hit]:
        start, end = span
        original, kind, rule = self._details[value]
        if kind not in _NUMBERS or not (text[start - 1 : start].isdigit() or text[end : end + 1].isdigit()):
            yield Hit(*reading.span(start, end), kind, rule, original)


def _cores(value: str) -> Iterator[_Core]:
    seen = set()
    for reading in encodings.readings(value):
        text = printable_text(reading.text)
        bare = _FILLER.remove_from(text)
        if not bare or text in seen:
            continue
        seen.add(text)
        start, end = text.index(bare[0]), text.rindex(bare[-1]) + 1
        yield _Core(value, text[:start], BREAKS[0].sub("", text[start:end]), text[end:])


def _is_core(text: str, core: _Core) -> bool:
    """Return whether a text equals a value, apart from line breaks or ``+`` for spaces."""
    return (
        "\n" in core.value
        or any(pattern.sub("", text) == core.text for pattern in BREAKS)
        or text.replace("+", " ") == core.text
    )


def _differs(reading: UnescapedText, start: int, end: int) -> bool:
    """Return whether the source of a span contains escapes or line breaks."""
    return bool(_ENCODED_OR_BROKEN.search(reading.source[slice(*reading.span(start, end))]))


def _widen(text: str, start: int, end: int, core: _Core) -> tuple[int, int]:
    """Extend a span by the filler characters at the ends of the value, if present."""
    before, after = core.before, core.after
    while before and text[start - 1 : start] == before[-1]:
        start, before = start - 1, before[:-1]
    while after and text[end : end + 1] == after[0]:
        end, after = end + 1, after[1:]
    return start, end
