"""Replace the hits of finders in the strings of JSON values, or only count them."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from xxhash import xxh3_128_digest

from chatsquash.core import jsonio
from chatsquash.core.lazy import lazy_compile
from chatsquash.core.model import Json
from chatsquash.redaction.forms import merge_overlapping
from chatsquash.redaction.placeholders import blank_placeholders
from chatsquash.redaction.texts import Texts, insert, text_at
from chatsquash.redaction.values import (
    Finder,
    Hit,
    Placeholders,
    UnsearchedError,
    Value,
    value_of,
)

_MOST_CLEAN = 20_000
"""The number of clean values that are remembered."""
_PIECE, _OVERLAP = 1 << 14, 1 << 12
"""The length and overlap of the pieces in which a text is searched if the search for all of it fails."""
_CALL = lazy_compile(r"(?<=<tool_call>)[^<]*+(?:<(?!/tool_call>)[^<]*+)*+(?=</tool_call>)")
_NUMBER = lazy_compile(r"[\[,: ]-?[0-9]++(?:\.[0-9]++)?[\],} \n]")
"""A number in JSON with the characters around it."""
_NO_PLACE = "a placeholder does not fit into the JSON"
_LIST_RULES = ("deny", "known")
"""The rules for listed values."""
_SHORTEST, _PLAIN_SHORTEST = 6, 12
"""The minimum lengths of a value to replace throughout its session, in general and if its letters have one case."""


class Redactor:
    """Finds values in texts, and replaces them if it has placeholders."""

    def __init__(
        self,
        finders: Sequence[Finder],
        placeholders: Placeholders | None = None,
        allows: Callable[[str], bool] = lambda value: False,  # noqa: ARG005
        known: Callable[[Mapping[str, tuple[str, str]]], Finder] | None = None,
        protected: Callable[[str], list[tuple[int, int]]] = lambda text: [],  # noqa: ARG005
    ) -> None:
        self._finders = finders
        self._placeholders = placeholders
        self._allows = allows
        self._known = known
        self._protected = protected
        """Returns spans that are replaced as a unit elsewhere, so that no part of them is replaced here."""
        self._clean: dict[bytes, int] = {}
        """Digests of values without hits, which other records often contain too, with their texts that were skipped."""
        self.passed_over = 0
        """The number of texts that were not searched in the last call: media, signatures and protocol ids."""

    def hits(self, text: str, finders: Sequence[Finder] | None = None) -> list[Hit]:
        """Return the hits in a text, which may be nested.

        Raises:
            UnsearchedError: A finder fails.
        """
        finders_to_run = finders or self._finders
        hits = [hit for finder in finders_to_run for hit in _search(finder, text)]
        if hits and (blank := blank_placeholders(text)) != text:
            hits = [hit for finder in finders_to_run for hit in _search(finder, blank)]
        hits = [hit for hit in hits if not self._allows(hit.value)]
        return [*_not_within(hits, self._protected(text))] if hits else hits

    def find_everywhere(self, findings: Iterable[Hit | Value]) -> Finder | None:
        """Create a finder for detected values wherever else they occur, if they are distinctive."""
        values = {each.value: (each.kind, each.rule) for each in findings if _is_distinctive(each)}
        return self._known(values) if self._known and values else None

    def count(self, values: Sequence[Json], *, every: bool = False) -> Counter[tuple[int, Value]]:
        """Count the occurrences of detected values by the index of the value, like ``replace``.

        See ``Texts`` for ``every``.
        """
        digests = [xxh3_128_digest(jsonio.dumps(value)) + bytes([every]) for value in values]
        new = {digest: value for digest, value in zip(digests, values, strict=True) if digest not in self._clean}
        texts = Texts(new.values(), every=every)
        hits_in_new = self._everywhere(texts.joined)
        if not hits_in_new:
            self._clean.update(zip(new, texts.passed_over_by_value, strict=True))
            self.passed_over = sum(map(self._clean.__getitem__, digests))
            if len(self._clean) > _MOST_CLEAN:
                self._clean.clear()
            return Counter()
        # The detected values may also be in values that are clean by themselves.
        if len(new) < len(values):
            texts = Texts(values, every=every)
            hits_in_new = self._everywhere(texts.joined)
        self.passed_over = sum(texts.passed_over_by_value)
        counts: Counter[tuple[int, Value]] = Counter()
        for at, _, hits in texts.by_place(merge_overlapping(texts.clipped(hits_in_new))):
            counts.update((at, value_of(hit)) for hit in hits)
        return counts

    def replace(self, values: Sequence[Json]) -> Counter[tuple[int, Value]]:
        """Replace detected values in place, wherever they occur, and count them by index.

        Raises:
            UnsearchedError: A text cannot be searched; nothing has been changed.
        """
        texts = Texts(values, every=True)
        self.passed_over = sum(texts.passed_over_by_value)
        counts: Counter[tuple[int, Value]] = Counter()
        replacements = []
        for at, place, hits in texts.by_place(merge_overlapping(texts.clipped(self._everywhere(texts.joined)))):
            counts.update((at, value_of(hit)) for hit in hits)
            replacements.append((place, self._redact(text_at(place), hits, place.what)))
        insert(replacements)
        return counts

    def text(self, text: str, also: Finder | None = None) -> str:
        """Replace the detected values and the hits of ``also`` in a text.

        Raises:
            UnsearchedError: The text cannot be searched.
        """
        hits = self.find(text, also)
        return self.insert(text, hits) if hits else text

    def find(self, text: str, also: Finder | None = None) -> list[Hit]:
        """Return all occurrences of detected values and the hits of ``also``, sorted and without overlaps."""
        return merge_overlapping(self._everywhere(text) + (self.hits(text, [also]) if also else []))

    def _everywhere(self, text: str) -> list[Hit]:
        """Return the hits in a text and all other occurrences of their values."""
        hits = self.hits(text)
        known = self.find_everywhere(hits)
        return hits + self.hits(text, [known]) if known else hits

    def _redact(self, text: str, hits: list[Hit], what: str) -> str:
        assert self._placeholders
        if what == "number":
            return self._placeholders.number(text, is_listed=any(hit.rule in _LIST_RULES for hit in hits))
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
                pieces.append(self.insert(text[done:start], _shift(plain, done)))
                pieces.append(self._redact_json(text[start:end], _shift(inside, start)))
                done, plain = end, []
            elif not is_crossed:
                plain += inside
        return "".join([*pieces, self.insert(text[done:], _shift([*plain, *hits[at:]], done))])

    def _redact_json(self, text: str, hits: list[Hit]) -> str:
        """Replace values in JSON so that it remains JSON of the same types."""
        before, result = jsonio.value(text), self._redact_unparsed(text, hits)
        if before is None or _same_types(before, jsonio.value(result)):
            return result
        values = {hit.value: (hit.kind, hit.rule) for hit in hits}
        finders = [*self._finders, *([self._known(values)] if self._known else [])]
        Redactor(finders, self._placeholders, self._allows, self._known, self._protected).replace([before])
        spaced = (", ", ": ") if '": ' in text else (",", ":")
        core = text.strip()
        start = text.index(core)
        result = json.dumps(before, ensure_ascii=False, separators=spaced)
        if any(text[hit.start : hit.end] in result for hit in hits):
            raise UnsearchedError(_NO_PLACE)  # for example because a pattern matches JSON syntax
        return text[:start] + result + text[start + len(core) :]

    def _redact_unparsed(self, text: str, hits: list[Hit]) -> str:
        """Replace values in text that resembles JSON but is not valid; numbers remain numbers."""
        assert self._placeholders
        pieces, done = [], 0
        for hit in hits:
            is_number = bool(_NUMBER.match(text, max(0, hit.start - 1), hit.end + 1))
            value = text[hit.start : hit.end]
            is_listed = hit.rule in _LIST_RULES
            replacement = (
                self._placeholders.number(value, is_listed=is_listed) if is_number else self._placeholders.of(hit)
            )
            pieces += [text[done : hit.start], replacement]
            done = hit.end
        return "".join([*pieces, text[done:]])

    def insert(self, text: str, hits: list[Hit]) -> str:
        """Replace hits in a text with their placeholders."""
        assert self._placeholders
        pieces, done = [], 0
        for hit in hits:
            pieces += [text[done : hit.start], self._placeholders.of(hit)]
            done = hit.end
        return "".join([*pieces, text[done:]]) if pieces else text


def _not_within(hits: list[Hit], spans: list[tuple[int, int]]) -> Iterator[Hit]:
    """Drop the hits that are only part of a span; spans are sorted and do not overlap."""
    starts = [start for start, _ in spans]
    for hit in hits:
        at = bisect_right(starts, hit.start) - 1
        if at < 0 or hit.end > spans[at][1] or (hit.start, hit.end) == spans[at]:
            yield hit


def _search(finder: Finder, text: str) -> list[Hit]:
    """Run a finder on a text, or on its pieces if that fails."""
    try:
        return finder(text)
    except Exception:  # noqa: BLE001 - unsearched text is never written, whatever the error
        return [*_in_pieces(finder, text)]


def _in_pieces(finder: Finder, text: str) -> Iterator[Hit]:
    for start in range(0, len(text), _PIECE):
        try:
            hits = finder(text[start : start + _PIECE + _OVERLAP])
        except Exception as problem:  # noqa: BLE001
            raise UnsearchedError(type(problem).__name__) from None
        yield from (hit._replace(start=hit.start + start, end=hit.end + start) for hit in hits)


def _is_distinctive(hit: Hit | Value) -> bool:
    value = hit.value
    is_plain = value.isalpha() and value in (value.lower(), value.upper())
    return hit.kind != "USER" and len(value) >= (_PLAIN_SHORTEST if is_plain else _SHORTEST)


def _json_spans(text: str) -> list[tuple[int, int]]:
    """Return the spans of JSON in a text: all of it, or inlined calls."""
    if text.lstrip()[:1] in ("{", "["):
        return [(0, len(text))]
    return [match.span() for match in _CALL.finditer(text)] if "<tool_call>" in text else []


def _shift(hits: Iterable[Hit], by: int) -> list[Hit]:
    return [hit._replace(start=hit.start - by, end=hit.end - by) for hit in hits]


def _same_types(before: Json, after: Json) -> bool:
    """Return whether two values have the same types in the same places."""
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
