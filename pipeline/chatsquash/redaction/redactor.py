"""Replaces what finders find in the texts of JSON values, or only says what they find."""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from chatsquash.core import jsonio
from chatsquash.core.model import Json
from chatsquash.redaction.forms import apart
from chatsquash.redaction.hits import Finder, Hit, Value, value_of
from chatsquash.redaction.placeholders import Placeholders, blanked
from chatsquash.redaction.texts import Texts, put, text_at

_PIECE, _OVERLAP = 1 << 14, 1 << 12
"""Characters of a text on which a search fails that are searched at a time, and those that two of them share."""
_CALL = re.compile(r"(?<=<tool_call>)[^<]*+(?:<(?!/tool_call>)[^<]*+)*+(?=</tool_call>)")
_NUMBER = re.compile(r"[\[,: ]-?[0-9]++(?:\.[0-9]++)?[\],} \n]")
"""A number as it stands in JSON, with what is before and behind it."""
_NO_PLACE = "JSON has no place for what replaces a value"
_LISTED = ("deny", "known")
"""Rules that find what stands on a list."""
_SHORTEST, _PLAIN_SHORTEST = 6, 12
"""Characters of a value that is looked for in all of its session; with letters of one case only it has more."""


class UnsearchedError(Exception):
    """A text on which a search fails."""


class Redactor:
    """Finds values in texts, and replaces them where it has placeholders."""

    def __init__(
        self,
        finders: Sequence[Finder],
        placeholders: Placeholders | None = None,
        allows: Callable[[str], bool] = lambda value: False,  # noqa: ARG005
        known: Callable[[Mapping[str, tuple[str, str]]], Finder] | None = None,
        whole: Callable[[str], list[tuple[int, int]]] = lambda text: [],  # noqa: ARG005
    ) -> None:
        self._finders = finders
        self._placeholders = placeholders
        self._allows = allows
        self._known = known
        self._whole = whole
        """Where something stands that is replaced whole by others, so that no part of it is replaced here."""
        self.passed_over = 0
        """Texts that were not searched the last time: media, signatures and ids of the protocol."""

    def hits(self, text: str, finders: Sequence[Finder] | None = None) -> list[Hit]:
        """What is found in a text, also one within another.  Raises ``UnsearchedError``."""
        wanted = finders or self._finders
        hits = [hit for finder in wanted for hit in _search(finder, text)]
        if hits and (blank := blanked(text)) != text:
            hits = [hit for finder in wanted for hit in _search(finder, blank)]
        hits = [hit for hit in hits if not self._allows(hit.value)]
        return [*_not_within(hits, self._whole(text))] if hits else hits

    def remembered(self, findings: Iterable[Hit | Value]) -> Finder | None:
        """Finds values that were found wherever else they stand, as far as they tell enough."""
        values = {each.value: (each.kind, each.rule) for each in findings if _tells(each)}
        return self._known(values) if self._known and values else None

    def look(self, values: Sequence[Json], *, every: bool = False) -> Counter[tuple[int, Value]]:
        """How often what is found stands in which of the values, wherever it stands there, as ``replace`` counts it.

        ``every`` as ``Texts`` has it.
        """
        texts = Texts(values, every=every)
        self.passed_over = texts.passed_over
        counts: Counter[tuple[int, Value]] = Counter()
        for at, _, hits in texts.by_place(apart(texts.clipped(self._everywhere(texts.joined)))):
            counts.update((at, value_of(hit)) for hit in hits)
        return counts

    def replace(self, values: Sequence[Json]) -> Counter[tuple[int, Value]]:
        """Replace what is found in values, in their place, wherever it stands in any of them; how often what was where.

        Raises ``UnsearchedError``, and has then changed nothing.
        """
        texts = Texts(values, every=True)
        self.passed_over = texts.passed_over
        counts: Counter[tuple[int, Value]] = Counter()
        spelled = []
        for at, place, hits in texts.by_place(apart(texts.clipped(self._everywhere(texts.joined)))):
            counts.update((at, value_of(hit)) for hit in hits)
            spelled.append((place, self._spelled(text_at(place), hits, place.what)))
        put(spelled)
        return counts

    def text(self, text: str, also: Finder | None = None) -> str:
        """A text with its values replaced, those as well that ``also`` finds.  Raises ``UnsearchedError``."""
        hits = self.find(text, also)
        return self.put(text, hits) if hits else text

    def find(self, text: str, also: Finder | None = None) -> list[Hit]:
        """What is found in a text, wherever it stands there, and what ``also`` finds; in order, none within another."""
        return apart(self._everywhere(text) + (self.hits(text, [also]) if also else []))

    def _everywhere(self, text: str) -> list[Hit]:
        """What is found in a text, and wherever else it stands there."""
        hits = self.hits(text)
        known = self.remembered(hits)
        return hits + self.hits(text, [known]) if known else hits

    def _spelled(self, text: str, hits: list[Hit], what: str) -> str:
        assert self._placeholders
        if what == "number":
            return self._placeholders.number(text, is_listed=any(hit.rule in _LISTED for hit in hits))
        pieces, done, at = [], 0, 0
        plain: list[Hit] = []
        for start, end in _json_spans(text):
            first = at
            while at < len(hits) and hits[at].end <= end:
                at += 1
            inside = [hit for hit in hits[first:at] if hit.start >= start]
            is_crossed = len(inside) < len([hit for hit in hits[first:at] if hit.end > start])
            plain += hits[first:at] if is_crossed else [hit for hit in hits[first:at] if hit.end <= start]
            if inside and not is_crossed and not (at < len(hits) and hits[at].start < end):
                pieces.append(self.put(text[done:start], _shift(plain, done)))
                pieces.append(self._json(text[start:end], _shift(inside, start)))
                done, plain = end, []
            elif not is_crossed:
                plain += inside
        return "".join([*pieces, self.put(text[done:], _shift([*plain, *hits[at:]], done))])

    def _json(self, text: str, hits: list[Hit]) -> str:
        """JSON with its values replaced, which stays JSON of the same types."""
        before, spelled = jsonio.value(text), self._unparsed(text, hits)
        if before is None or _same_types(before, jsonio.value(spelled)):
            return spelled
        values = {hit.value: (hit.kind, hit.rule) for hit in hits}
        finders = [*self._finders, *([self._known(values)] if self._known else [])]
        Redactor(finders, self._placeholders, self._allows, self._known, self._whole).replace([before])
        spaced = (", ", ": ") if '": ' in text else (",", ":")
        core = text.strip()
        start = text.index(core)
        spelled = json.dumps(before, ensure_ascii=False, separators=spaced)
        if any(text[hit.start : hit.end] in spelled for hit in hits):
            raise UnsearchedError(_NO_PLACE)  # as what a pattern finds that has parts of JSON in it
        return text[:start] + spelled + text[start + len(core) :]

    def _unparsed(self, text: str, hits: list[Hit]) -> str:
        """What begins like JSON and is none for us, but may be for others: what looks like a number there stays one."""
        assert self._placeholders
        pieces, done = [], 0
        for hit in hits:
            is_number = bool(_NUMBER.match(text, max(0, hit.start - 1), hit.end + 1))
            value = text[hit.start : hit.end]
            is_listed = hit.rule in _LISTED
            spelled = self._placeholders.number(value, is_listed=is_listed) if is_number else self._placeholders.of(hit)
            pieces += [text[done : hit.start], spelled]
            done = hit.end
        return "".join([*pieces, text[done:]])

    def put(self, text: str, hits: list[Hit]) -> str:
        """A text with placeholders for what was found in it."""
        assert self._placeholders
        pieces, done = [], 0
        for hit in hits:
            pieces += [text[done : hit.start], self._placeholders.of(hit)]
            done = hit.end
        return "".join([*pieces, text[done:]]) if pieces else text


def _not_within(hits: list[Hit], spans: list[tuple[int, int]]) -> Iterator[Hit]:
    """Hits without those that are a part of a span, but not all of it; spans are in order, and apart."""
    starts = [start for start, _ in spans]
    for hit in hits:
        at = bisect_right(starts, hit.start) - 1
        if at < 0 or hit.end > spans[at][1] or (hit.start, hit.end) == spans[at]:
            yield hit


def _search(finder: Finder, text: str) -> list[Hit]:
    """What a finder finds, piece by piece where it fails on the whole."""
    try:
        return finder(text)
    except Exception:  # noqa: BLE001 - what is not searched is not written, whatever the reason
        return [*_in_pieces(finder, text)]


def _in_pieces(finder: Finder, text: str) -> Iterator[Hit]:
    for start in range(0, len(text), _PIECE):
        try:
            hits = finder(text[start : start + _PIECE + _OVERLAP])
        except Exception as problem:  # noqa: BLE001
            raise UnsearchedError(type(problem).__name__) from None
        yield from (hit._replace(start=hit.start + start, end=hit.end + start) for hit in hits)


def _tells(hit: Hit | Value) -> bool:
    value = hit.value
    is_plain = value.isalpha() and value in (value.lower(), value.upper())
    return hit.kind != "USER" and len(value) >= (_PLAIN_SHORTEST if is_plain else _SHORTEST)


def _json_spans(text: str) -> list[tuple[int, int]]:
    """Where JSON stands in a text: all of it, or its inlined calls."""
    if text.lstrip()[:1] in ("{", "["):
        return [(0, len(text))]
    return [match.span() for match in _CALL.finditer(text)] if "<tool_call>" in text else []


def _shift(hits: Iterable[Hit], by: int) -> list[Hit]:
    return [hit._replace(start=hit.start - by, end=hit.end - by) for hit in hits]


def _same_types(before: Json, after: Json) -> bool:
    """Whether two values have the same types at the same places."""
    pairs = [(before, after)]
    while pairs:
        one, other = pairs.pop()
        if type(one) is not type(other):
            return False
        if isinstance(one, (dict, list)):
            if len(one) != len(other):
                return False
            members = (one.values(), other.values()) if isinstance(one, dict) else (one, other)
            pairs += zip(*members, strict=True)
    return True
