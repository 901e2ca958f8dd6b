"""Detect secrets in texts: by shape in random-looking runs, and by context after certain words.

Texts are searched as they are, without escapes, with lines joined, and decoded from base64.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, cached_property, partial
from itertools import chain
from typing import TYPE_CHECKING

from chatsquash.core.lazy import LazyModule, lazy_compile
from chatsquash.redaction import contexts
from chatsquash.redaction.rules import Rule, builtin
from chatsquash.redaction.shapes import Bytes, Shapes, Words, kind_of
from chatsquash.redaction.values import Hit

if TYPE_CHECKING:
    from chatsquash.redaction import encodings, forms
else:
    encodings = LazyModule("chatsquash.redaction.encodings")
    forms = LazyModule("chatsquash.redaction.forms")

__all__ = ["Secrets", "kind_of"]
_DEEPEST = 3
"""The maximum depth of nested texts."""
_BEFORE_RUN = 48
"""The number of characters before a run in which a word may identify it."""
_USERINFO = 300
"""The maximum length of the userinfo of a URL."""
_NO_USERINFO = (b" ", b"\n", b'"', b"'", b"/", b"(", b"")
_REST = 8
"""The number of characters on the next line that may belong to a value rather than to other text."""

_UNKNOWN = (None, "SECRET")
_NO_VALUE_AFTER = lazy_compile(r"(?![ \t]{0,8}+(?:=|:[ =]))")
"""A condition for the text after the last line of a value: it must not make that line a name."""
_SETTING = lazy_compile(r"[A-Za-z_][\w.-]{0,80}+(?:=[^\s=]|:[ ]?[^\s])")
"""The name of a setting at the start of a line, with its value."""


class Secrets:
    """Finds the matches of rules in texts."""

    def __init__(self, rules: Sequence[Rule] | None = None) -> None:
        rules = builtin() if rules is None else rules
        self._commands = contexts.Commands(rule for rule in rules if rule.commands)
        built_in = [rule for rule in rules if not rule.is_own and not rule.commands]
        self._rules_by_shape = [rule for rule in built_in if rule.value == "shape"]
        by_word: dict[str, list[Rule]] = {}
        by_name: dict[str, Rule] = {}
        before_runs: dict[str, list[Rule]] = {}
        for rule in built_in:
            if rule.value != "shape" or rule.before:
                for literal in rule.literals:
                    if rule.begins_with_name:
                        by_name[literal] = rule
                    else:
                        (before_runs if rule.run else by_word).setdefault(literal, []).append(rule)
        self._literals = words = {*by_word, *by_name, *self._commands.literals}
        self.rules_by_word: dict[str, tuple[Rule | None, Sequence[Rule] | None]] = {
            word: (by_name.get(word), None if word in self._commands.literals else by_word.get(word, ()))
            for word in map(str.lower, words)
        }
        """The rule for names with a word, and the other rules: ``None`` for a flag, whose command decides them."""
        self._before_runs = {
            literal: list(
                {rule.name: rule for each in before_runs if each in literal for rule in before_runs[each]}.values()
            )
            for literal in before_runs
        }
        self._telling = lazy_compile(
            ("|".join(map(re.escape, sorted(self._before_runs, reverse=True))) or "(?!)").encode()
        )
        self._own = OwnRules([rule for rule in rules if rule.is_own])
        self.has_own_rules = any(rule.is_own for rule in rules)

    # Records without any candidate need neither.
    @cached_property
    def _shapes(self) -> Shapes:
        return Shapes(self._rules_by_shape)

    @cached_property
    def _words(self) -> Words:
        return Words(self._literals)

    def find(self, text: str) -> list[Hit]:
        """Return the secrets in a text, sorted and without overlaps."""
        return merge_overlapping([*self._search(text, _DEEPEST), *self._own.find(text)])

    def may_find(
        self, text: str, words: Iterable[tuple[int, str]], runs: Sequence[tuple[int, int]], *, has_escapes: bool
    ) -> bool:
        """Return whether there may be secrets at some words and runs of a text, or in its escapes.

        A text that may continue a zone of escapes in another text counts as well.
        """
        if self._at_words(text, words, None):
            return True
        if not runs and not has_escapes:
            return False
        data = Bytes(text)
        if self._in_runs(data, runs, _DEEPEST, []):
            return True
        zones = [*encodings.zones(data.lower)] if has_escapes else []
        if any(start == 0 or end == len(text) for start, end in zones):
            return True
        return any(self._search(encodings.unescaped(text, *zone).text, _DEEPEST - 1) for zone in zones)

    def may_find_in_runs(self, text: str) -> bool:
        """Return whether there are secrets in and around runs."""
        data = Bytes(text)
        return bool(self._in_runs(data, data.runs(), _DEEPEST, []))

    def _search(self, text: str, deep: int) -> list[Hit]:
        data = Bytes(text)
        hits = [] if text.isascii() else [*contexts.native_hits(text, data)]
        hits += self._at_words(text, self._words.places(data), data)
        hits += self._in_runs(data, data.runs(), deep, hits)
        zones = encodings.zones(data.lower) if deep else ()
        hits_in_zones = [self._search_rendering(encodings.unescaped(text, start, end), deep) for start, end in zones]
        return [*chain.from_iterable(reversed(hits_in_zones)), *hits]

    def _at_words(self, text: str, places: Iterable[tuple[int, str]], data: Bytes | None) -> list[Hit]:
        """Return the secrets at words, the likely ones of which are determined by ``data``."""
        hits: list[Hit] = []
        done: set[int] = set()
        # A text that is not searched completely has few places, of which each is examined.
        possible = cache(partial(_may_begin, text)) if data else None
        for at, word in places:
            name_rule, rules = self.rules_by_word[word]
            if name_rule and (data is None or contexts.may_be_named(data.lower, at)):
                hits += contexts.hits_by_name(name_rule, text, at, done)
            elif word == "@" and data and not _is_userinfo(data.plain, at):
                continue
            for rule in self._commands.rules(text, at) if rules is None else rules:
                # Most texts contain none of the beginnings, so the places of the word need not be examined.
                if possible is None or not rule.before or possible(rule.begins):
                    hits += contexts.hits(rule, text, at)
        return hits

    def _in_runs(
        self,
        data: Bytes,
        runs: Iterable[tuple[int, int]],
        deep: int,
        other_hits: Sequence[Hit],
    ) -> list[Hit]:
        """Return the secrets in and around runs."""
        text = data.text
        hits: list[Hit] = []
        joined_to, known_hits = 0, 0
        kinds_by_start = {hit.start: hit.kind for hit in other_hits}
        for start, end in runs:
            kind = forms.kind_of_run(text, start, end)
            if kind == "checksum":
                continue
            shapes = [] if kind == "digest" else self._shapes.around(text, start, end)
            hits += shapes or self._before(text, data, start, end)
            if deep and kind == "any" and not shapes:
                hits += self._search_base64(text, data, start, end, deep)
            if deep and kind == "any" and start >= joined_to:
                kinds_by_start.update((hit.start, hit.kind) for hit in hits[known_hits:])
                known_hits = len(hits)
                broken_hits, joined_to = self._search_joined(text, start, end, kinds_by_start, deep)
                hits += broken_hits
        return hits

    def _before(self, text: str, data: Bytes, start: int, end: int) -> list[Hit]:
        """Return the runs that are secrets according to a word before them."""
        low = max(0, start - _BEFORE_RUN)
        words = {match[0].decode() for match in self._telling.finditer(data.lower, low, start + 1)}
        rules = (rule for word in words for rule in self._before_runs[word])
        return [hit for rule in rules for hit in contexts.before_run(rule, text, start, end)]

    def _search_base64(self, text: str, data: Bytes, start: int, end: int, deep: int) -> list[Hit]:
        """Return the secrets that are encoded in a run."""
        encoded: list[Hit] = []
        for first, plain in forms.decoded_ascii(data.plain, start, end):
            hits = self._search(plain, deep - 1) or contexts.login_hits(plain)
            encoded += (hit._replace(start=first, end=_with_padding(text, end)) for hit in merge_overlapping(hits)[:1])
        return encoded

    def _search_joined(
        self, text: str, start: int, end: int, unjoined_kinds: dict[int, str], deep: int
    ) -> tuple[list[Hit], int]:
        """Return the secrets in a token whose lines are joined, and the end of these lines."""
        last = start
        for layer in forms.joined_lines(text, start, end):
            last = layer.spans[-1][1]
            hits = self._broken_hits(text, layer, unjoined_kinds, deep) if self._may_contain_secret(layer) else []
            if hits:
                return hits, last
        return [], last

    def _broken_hits(self, text: str, layer: forms.JoinedLines, unjoined_kinds: dict[int, str], deep: int) -> list[Hit]:
        """Return the hits that only exist in the joined token and cannot end with the first line."""
        return [
            hit
            for hit in self._search_rendering(layer, deep)
            if _is_continued(text, layer, hit, unjoined_kinds) and not self._is_complete(text, layer, hit)
        ]

    def _is_complete(self, text: str, layer: forms.JoinedLines, hit: Hit) -> bool:
        """Return whether the first line of a value satisfies a shape, whether as a secret or an example."""
        end = next((end for _, end in layer.spans if end > hit.start), hit.end)
        return end < hit.end and hit.value in layer.text and self._shapes.fits(text, hit.start, end)

    def _may_contain_secret(self, layer: forms.JoinedLines) -> bool:
        """Return whether a joined token starts like a shape, is encoded, or follows a word for a secret."""
        lower = Bytes(layer.text).lower
        if self._words.any_in(lower) or self._telling.search(lower):
            return True
        return forms.has_base64(layer.text) or self._shapes.may_begin(layer.text, layer.before)

    def _search_rendering(self, layer: encodings.Rendering, deep: int) -> list[Hit]:
        hits = ((layer.span(hit.start, hit.end), hit) for hit in self._search(layer.text, deep - 1))
        return [hit._replace(start=start, end=end) for (start, end), hit in hits]


class OwnRules:
    """Finds the matches of user-defined rules, with an engine that takes linear time for any pattern."""

    def __init__(self, rules: Sequence[Rule]) -> None:
        self._rules = rules

    def find(self, text: str) -> Iterator[Hit]:
        """Yield the matches near a literal."""
        from chatsquash.redaction.lookalikes import CHECKS
        from chatsquash.redaction.patterns import spans

        lower = text.lower() if self._rules else ""
        for rule in self._rules:
            if not any(literal.lower() in lower for literal in rule.literals):
                continue
            for start, end in spans(rule.shape, text):
                near = lower[max(0, start - rule.reach) : end + rule.reach]
                value = text[start:end]
                if any(each.lower() in near for each in rule.literals) and CHECKS[rule.value](value, rule.entropy):
                    yield Hit(start, end, rule.kind, rule.name, value)


def merge_overlapping(hits: Iterable[Hit]) -> list[Hit]:
    """Sort hits and merge overlapping ones; the first and longest is extended over all of them.

    If a value identified by its shape starts like a hit by context and is nearly as long, it takes precedence.
    """
    separate: list[Hit] = []
    for hit in sorted(hits, key=lambda each: (each.start, -each.end)):
        last = separate[-1] if separate else None
        if not last or hit.start >= last.end:
            separate.append(hit)
        elif hit.start == last.start and last.kind == "SECRET" != hit.kind and last.end - hit.end < _REST:
            separate[-1] = hit
        elif hit.end > last.end:
            separate[-1] = last._replace(end=hit.end)
    return separate


def _may_begin(text: str, begins: tuple[str, ...]) -> bool:
    return any(each in text for each in begins)


def _is_userinfo(data: bytes, at: int) -> bool:
    """Return whether an at sign may end the userinfo of a URL."""
    return data[at - 1 : at] not in _NO_USERINFO and data.rfind(b"://", max(0, at - _USERINFO), at) >= 0


def _is_continued(text: str, layer: forms.JoinedLines, hit: Hit, unjoined_kinds: dict[int, str]) -> bool:
    """Return whether a hit in a joined token continues across a line end, rather than into another value or name.

    A value that is only identified by a name ends with its line.
    """
    starts = [start for start, _ in layer.spans[1:-1] if hit.start < start < hit.end]
    if not starts:
        return hit.start not in unjoined_kinds
    is_encoded = hit.value not in layer.text
    if not is_encoded and hit.kind == "SECRET":
        return False
    if any(_SETTING.match(text, start) or text.startswith("--", start) for start in starts):
        return False
    if not _NO_VALUE_AFTER.match(text, hit.end):
        return False
    return not any(starts[0] <= start < hit.end for start in unjoined_kinds) and (
        is_encoded or unjoined_kinds.get(hit.start) in _UNKNOWN
    )


def _with_padding(text: str, end: int) -> int:
    return end + len(text[end : end + 2]) - len(text[end : end + 2].lstrip("="))
