r"""Show that a record contains no secret by searching its JSON as it is written, without parsing all of it.

The words, runs and escapes after which ``Secrets`` looks for a secret also occur in the JSON, because only quotes,
backslashes and control characters are escaped there. One search finds them all, and a quick look at the text
after each rules most of them out. The rules decide about the others in the decoded string; all other strings are
neither parsed nor searched.

The gate never decides that there is a secret: the record is then searched completely.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence
from json import JSONDecoder
from typing import TYPE_CHECKING

from msgspec import Struct
from xxhash import xxh3_128_digest

from chatsquash.core import jsonio
from chatsquash.core.lazy import LazyModule, lazy_compile
from chatsquash.redaction import contexts, shapes, texts
from chatsquash.redaction.record_parts import TOOLS, RecordPart
from chatsquash.redaction.rules import Rule
from chatsquash.redaction.secrets import Secrets

if TYPE_CHECKING:
    from chatsquash.redaction import encodings
else:
    encodings = LazyModule("chatsquash.redaction.encodings")

_NAME, _DASH, _ARGUMENTS, _ID, _OWN_ID, _BEGIN, _WORD, _URL, _ESCAPE, _STOP = range(10)
"""The kinds of patterns: names, possible flags, containers of arguments, protocol ids, beginnings of logins, ..."""
_FLAG_STARTS = (" ", '"', "'", "\\t", "\\n")
"""The characters before the flag of a command, as written in JSON."""
_ESCAPES = (
    *("\\/", "&#", "&amp;", "&lt;", "&gt;", "&quot;", "&apos;"),
    *(f"{mark}{digit}" for mark in ("%", "\\x", "\\u00") for digit in "234567"),
)
_WIDEST = 6
"""The maximum number of bytes of a character in JSON, as in ``\u001b``."""
_ANYWHERE = 1 << 40
"""More bytes than any part has."""
_NEAR_FLAG = 24
_LONGEST_NEAR = _NEAR_FLAG * _WIDEST
_USERINFO = lazy_compile(rb"[^\s/\"'`<>\\@]*+@")
"""The characters up to a sign in the userinfo of a URL."""
_USERINFO_OF_URL = lazy_compile(rb"://[^\s/\"\\@]*+@")
_OPAQUE = lazy_compile(rb'[A-Za-z0-9+/=_.:|~-]*+"')
"""An opaque value; one with line breaks is left to the complete search."""
_IDS = frozenset(f'"{key}":"'.encode() for key in texts.IDS)
_IDENTIFIED = (b',"type":', b',"function":', b',"role":', b',"name":')
_IDENTIFIED_BEFORE = b'"type":"function",'
_CLOSING = lazy_compile(rb'"(?:(?<!\\")|(?<=[^\\]\\\\")|(?<=[^\\]\\\\\\\\"))')
"""The end of a string, which at most four backslashes precede; otherwise decoding fails."""
_NUMBER = lazy_compile(rb"-?+([0-9][0-9.eE+-]*+)")
_MOST_PARTS = 20_000
"""The maximum number of parts whose results are remembered."""
_AROUND = "\n\0\n"
"""The text between two texts that are searched together."""
_WINDOW = 4096
"""Bytes in which the end of arguments is looked for first."""
_decode_first = JSONDecoder().raw_decode
_BACKSLASH, _PERCENT, _U, _QUOTE = b'\\%u"'


class _Pattern(Struct, frozen=True):
    """A text to search for, in lower case, and its meaning."""

    text: bytes
    kind: int
    word: str = ""
    shift: int = 0
    """The number of characters before the word."""
    reach: int = 0
    """The number of bytes before a name in which another rule may begin; 0 if only the rule for names applies."""


class _Candidate(Struct, frozen=True, order=True):
    """A place in the JSON that only the rules can decide."""

    start: int
    end: int = 0
    """The end of a run; 0 for words and escapes."""
    word: str = ""
    """The word; empty for runs and escapes."""


class _PartResult(Struct, frozen=True):
    """The result for a part without secrets."""

    values: Sequence[int]
    """The offsets of the texts that need no search, in order."""
    neighbours: Sequence[int]
    """The offsets of strings that were searched together with the text before them, in order."""
    has_arguments: bool


class Gate:
    """Decides for most records that they contain no secret."""

    def __init__(
        self, secrets: Secrets, find: shapes.PatternSearch, patterns: list[_Pattern], *, excludes_userinfo: bool
    ) -> None:
        self._secrets, self._find, self._patterns = secrets, find, patterns
        self._excludes_userinfo = excludes_userinfo
        self._kinds = [each.kind for each in patterns]
        self._reaches = [each.reach for each in patterns]
        self._definitions: dict[bytes, int | None] = {}
        """The results for definitions, by digest."""
        self._messages: dict[bytes, int] = {}
        """The numbers of skipped texts in long messages without secrets, by digest."""

    def skipped_texts(self, line: bytes) -> int | None:
        """Return the number of texts in a record that need no search if it certainly contains no secret.

        Otherwise return ``None``.
        """
        tools = line.rfind(TOOLS)
        tools = len(line) if tools < 0 else tools
        messages = self._count_messages(line[:tools])
        definitions = None if messages is None else self._count_definitions(line[tools:])
        return None if messages is None or definitions is None else messages + definitions

    def _count_definitions(self, part: bytes) -> int | None:
        """Judge definitions, which many records share, once."""
        key = xxh3_128_digest(part)
        if key not in self._definitions:
            if len(self._definitions) > _MOST_PARTS:
                self._definitions.clear()
            # Everything may be below an argument.
            result = self._search(RecordPart(part, part), is_argument=True)
            self._definitions[key] = len(result.values) if result else None
        return self._definitions[key]

    def _count_messages(self, line: bytes) -> int | None:
        """Judge messages; long ones that several records contain are searched once."""
        part = RecordPart.of(line, self._messages)
        result = self._search(part)
        if result and result.has_arguments and part.cuts:
            result = self._search(RecordPart(line, line))  # the known messages may be below an argument here
            return len(result.values) if result else None
        if part.new and result and not result.has_arguments:
            self._remember(part, result)
        return part.skipped + len(result.values) if result else None

    def _remember(self, part: RecordPart, result: _PartResult) -> None:
        """Remember the long messages that contain no secret whatever precedes them."""
        if len(self._messages) > _MOST_PARTS:
            self._messages.clear()
        for key, start, end in part.new:
            if bisect_left(result.neighbours, start) == bisect_left(result.neighbours, end):
                self._messages[key] = bisect_left(result.values, end) - bisect_left(result.values, start)

    def _search(self, part: RecordPart, *, is_argument: bool = False) -> _PartResult | None:
        """Search a part of a record; return ``None`` if it may contain a secret."""
        line = part.rest
        values: dict[int, int] = {}
        try:
            places, has_arguments = self._places(line, line.lower(), values, is_argument=is_argument)
            if places is None:
                return None
            if self._excludes_userinfo and (_USERINFO_OF_URL.search(line) or not all(each.word for each in places)):
                return None
            places += _runs(line, values)
            neighbours = self._neighbours(line, sorted(places)) if places else []
            if neighbours is None or any(map(self._secrets.may_find_in_runs, part.texts_around(neighbours))):
                return None
            return _PartResult([*values], neighbours, has_arguments)
        except Exception:  # noqa: BLE001 - the complete search decides, and reports what fails
            return None

    def _places(
        self, line: bytes, lower: bytes, values: dict[int, int], *, is_argument: bool = False
    ) -> tuple[list[_Candidate] | None, bool]:
        """Return the places of words and escapes, and whether there are arguments; add the spans of skipped values.

        There are no places if the record has members that are not examined here.
        """
        places: list[_Candidate] = []
        kinds, reaches, patterns = self._kinds, self._reaches, self._patterns
        follows = contexts.VALUE_FOLLOWS_IN_JSON.match
        dash, begin = -_LONGEST_NEAR, -_ANYWHERE
        has_arguments, arguments_end = is_argument, len(line) if is_argument else 0
        for number, start, end in self._find(lower):
            kind = kinds[number]
            if kind == _NAME:
                if (
                    follows(lower, start)
                    or start - begin < reaches[number]
                    or (start - dash < _LONGEST_NEAR and _may_be_flag(lower, start))
                ):
                    places.append(_Candidate(start, 0, patterns[number].word))
            elif kind == _DASH:
                dash = start
            elif kind == _ARGUMENTS:
                has_arguments = True
                arguments_end = arguments_end if start < arguments_end else _end_of_value(line, end - 1)
            elif kind <= _OWN_ID:
                stop = 0 if start < arguments_end else _end_of_id(line, start, end, is_own=kind == _OWN_ID)
                if not stop:
                    return None, has_arguments
                values[end] = stop
            elif kind == _BEGIN:
                begin = start
            elif (other := _other_place(line, lower, start, end, patterns[number])) is None:
                return None, has_arguments
            else:
                places += other
        return places, has_arguments

    def _neighbours(self, line: bytes, places: list[_Candidate]) -> list[int] | None:
        """Return the offsets of the strings to search with the text before them; ``None`` if there may be a secret.

        A run near the start of a string may lead to a match in the text before it.
        """
        at = end = 0
        neighbours: list[int] = []
        while at < len(places):
            start = _opening(line, end, places[at].start)
            end = _closing(line, places[at].start)
            first = at
            while at < len(places) and places[at].start < end:
                at += 1
            is_near = self._is_near_start(line, start, end, places[first:at])
            if is_near is None:
                return None
            if is_near:
                neighbours.append(start)
        return neighbours

    def _is_near_start(self, line: bytes, start: int, end: int, places: list[_Candidate]) -> bool | None:
        """Return whether a run is near the start of a string, or ``None`` if the string may contain a secret."""
        has_escapes = False
        words: list[_Candidate] = []
        runs: list[_Candidate] = []
        cuts: set[int] = set()
        for place in places:
            if not (place.word or place.end):
                has_escapes = True
            elif line[place.start - 1] != _BACKSLASH or not _is_escape(line, place.start):
                cuts.add(place.start)
                if place.word:
                    words.append(place)
                else:
                    runs.append(place)
                    cuts.add(place.end)
        pieces, offsets = _decode(line, start, end, sorted(cuts))
        for before, after in _contexts(line, start, end):
            by = len(_AROUND) + len(before)
            text = "".join((_AROUND, before, *pieces, after, _AROUND))
            places_of_words = [(offsets[place.start] + by, place.word) for place in words]
            spans = [(offsets[place.start] + by, offsets[place.end] + by) for place in runs]
            if self._secrets.may_find(text, places_of_words, spans, has_escapes=has_escapes):
                return None
        return any(offsets[place.start] < shapes.NEAR_RUN for place in runs)


def _end_of_value(line: bytes, start: int) -> int:
    """Return the end of the object or list that starts at an offset."""
    size = _WINDOW
    while True:
        text = line[start : start + size].decode("utf-8", "ignore")  # the last character may be incomplete
        try:
            end = _decode_first(text)[1]
        except ValueError:
            if start + size >= len(line):
                raise
            size *= 4
        else:
            return start + len(text[:end].encode())


def gate(secrets: Secrets, *, excludes_userinfo: bool = False) -> Gate | None:
    """Create the gate for built-in rules, or return ``None`` if there is no fast search for many patterns.

    With ``excludes_userinfo``, records with URLs that may contain users or passwords do not pass either.
    """
    patterns = [*_word_patterns(secrets), *_member_patterns()]
    find = shapes.pattern_search([each.text for each in patterns])
    if find is None or secrets.has_own_rules:
        return None
    return Gate(secrets, find, patterns, excludes_userinfo=excludes_userinfo)


def _word_patterns(secrets: Secrets) -> Iterator[_Pattern]:
    for word, (name_rule, rules) in secrets.rules_by_word.items():
        if rules is None:
            for start in _FLAG_STARTS:
                yield _Pattern(f"{start}{word}".encode(), _WORD, word, len(start))
        elif name_rule:
            yield from _name_patterns(word, rules)
        elif word == "@":
            yield _Pattern(b"://", _URL, word)
        else:
            yield _Pattern(word.encode(), _WORD, word)
    for dash in (" -", '"-'):
        yield _Pattern(dash.encode(), _DASH)
    for native in contexts.NATIVE:
        yield _Pattern(native.encode(), _STOP)
    for escape in _ESCAPES:
        yield _Pattern(escape.encode(), _ESCAPE)


def _name_patterns(word: str, rules: Sequence[Rule]) -> Iterator[_Pattern]:
    is_limited = all(rule.before for rule in rules)
    reach = _WIDEST * max((rule.before for rule in rules), default=0) if is_limited else 2 * _ANYWHERE
    yield _Pattern(word.encode(), _NAME, word, 0, reach)
    for begin in dict.fromkeys(begin.lower() for rule in rules for begin in rule.begins if is_limited):
        yield _Pattern(begin.encode(), _BEGIN)


def _member_patterns() -> Iterator[_Pattern]:
    """Yield the patterns for members that are not searched, or whose context is not known here."""
    for key in texts.IDS:
        yield _Pattern(f'"{key}":"'.encode().lower(), _OWN_ID if key == "id" else _ID, key)
    for key in texts.ARGUMENT_KEYS:
        for bracket in "{[":
            yield _Pattern(f'"{key}":{bracket}'.encode().lower(), _ARGUMENTS)
    for key in (*texts.SEALED, *texts.MEDIA, "value"):
        yield _Pattern(f'"{key}":"'.encode().lower(), _STOP)
    yield _Pattern(b'"data:', _STOP)


def _other_place(line: bytes, lower: bytes, start: int, end: int, pattern: _Pattern) -> Iterable[_Candidate] | None:
    """Return the places for a pattern that is not frequent, or ``None`` if it is not examined here."""
    if pattern.kind == _WORD:
        return (_Candidate(start + pattern.shift, word=pattern.word),)
    if pattern.kind == _URL:
        return _signs(line, end)
    if pattern.kind == _ESCAPE:
        is_zone = line[start] != _PERCENT or encodings.starts_zone(lower, start)
        return (_Candidate(start),) if is_zone else ()
    is_in_string = line[start] == _QUOTE and line[start - 1] == _BACKSLASH
    return () if is_in_string else None


def _may_be_flag(lower: bytes, at: int) -> bool:
    """Return whether there may be the start of a flag within the characters before a name."""
    near = lower[max(0, at - _NEAR_FLAG) : at]
    if not near.isascii() or b"\\" in near:
        near = lower[max(0, at - _LONGEST_NEAR) : at]
    return b" -" in near or b'"-' in near


def _signs(line: bytes, at: int) -> Iterator[_Candidate]:
    """Yield the signs in the userinfo of a URL."""
    while match := _USERINFO.match(line, at):
        at = match.end()
        yield _Candidate(at - 1, word="@")


def _end_of_id(line: bytes, start: int, end: int, *, is_own: bool) -> int:
    """Return the end of a protocol id whose member starts and ends at the given offsets, or 0 if it may be a text."""
    value = _OPAQUE.match(line, end)
    if not value or line[start - 1] == _BACKSLASH or line[start:end] not in _IDS:
        return 0
    stop = value.end()
    if is_own and not (line.startswith(_IDENTIFIED, stop) or line.endswith(_IDENTIFIED_BEFORE, 0, start)):
        return 0
    return stop - 1


def _runs(line: bytes, values: dict[int, int]) -> Iterator[_Candidate]:
    """Yield the runs of key characters that look random, like ``Bytes.runs``, except opaque values."""
    letters, is_random = line.translate(shapes.RUNS), shapes.RANDOM.search
    at = letters.find(shapes.NEEDLE)
    while at >= 0:
        end = values.get(at)
        if end is None:
            end = letters.find(b" ", at + shapes.SHORTEST)
            end = len(letters) if end < 0 else end
            if is_random(line, at, end):
                # The letter of an escape does not belong to the run.
                start = at + (5 if line[at] == _U else 1) if _is_escape(line, at) else at
                if end - start >= shapes.SHORTEST and shapes.RANDOM.search(line, start, end):
                    yield _Candidate(start, end)
        at = letters.find(shapes.NEEDLE, end)


def _is_escape(line: bytes, at: int) -> bool:
    """Return whether an offset is within an escape, directly after its backslash."""
    if line[at - 1] != _BACKSLASH:
        return False
    first = at - 1
    while first and line[first - 1] == _BACKSLASH:
        first -= 1
    return bool((at - first) % 2)


def _opening(line: bytes, floor: int, at: int) -> int:
    """Return the offset of the quote that opens the string around an offset."""
    # In strings, a backslash precedes each quote.
    start = max(line.rfind(b':"', floor, at), floor)
    for before in (b',"', b'["', b'{"'):
        start = max(line.rfind(before, start, at), start)
    return start + 1


def _closing(line: bytes, start: int) -> int:
    """Return the end of the string that contains an offset, which may be its opening quote."""
    match = _CLOSING.search(line, start + 1)
    if not match:
        raise ValueError(line)
    return match.end()


def _decode(line: bytes, start: int, end: int, cuts: list[int]) -> tuple[list[str], dict[int, int]]:
    """Decode the pieces of a string in a part of the JSON, and map the cuts to offsets in the decoded string."""
    offsets: dict[int, int] = {}
    pieces: list[str] = []
    length, at = 0, start + 1
    for cut in cuts:
        piece = jsonio.loads(b'"%b"' % line[at:cut])
        pieces.append(piece)
        length += len(piece)
        offsets[cut] = length
        at = cut
    pieces.append(jsonio.loads(b'"%b' % line[at:end]))
    return pieces, offsets


def _contexts(line: bytes, start: int, end: int) -> Iterator[tuple[str, str]]:
    """Yield the texts before and after a string with which ``Texts`` joins it."""
    if line[end : end + 1] == b":":
        yield "", ""
        if line[end + 1] == _QUOTE:
            yield '"', f'": "{jsonio.loads(line[end + 1 : _closing(line, end + 1)])}"'
        elif number := _NUMBER.match(line, end + 1):
            yield '"', f'": {number[1].decode()}'
        return
    if line[start - 1 : start] == b":":
        opening = line.rfind(b'"', 0, start - 2)
        if line[opening - 1] == _BACKSLASH:
            raise ValueError("a key with a quote")
        key = jsonio.loads(line[opening : start - 1])
        if key not in texts.STRUCTURE:
            yield f'"{key}": "', '"'
            return
    yield "", ""
