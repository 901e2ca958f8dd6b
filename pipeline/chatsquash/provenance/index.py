"""Find the texts of records among the strings of a log, completely or in pieces."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterator
from functools import cached_property
from itertools import accumulate, chain, islice
from typing import NamedTuple

from chatsquash.provenance.tokens import JSON, QUOTE, STRINGS, Leaf, Scan, Steps, compact, decode_string, quote, spell

_SEED = 16
"""The number of bytes that a piece shares with a string at least, unless the string is a piece as a whole."""
_STRIDE = 4
_CANDIDATES = 4
_MOST_SEEDS = 4 << 20
"""The number of places at which pieces may begin; longer logs are searched for complete strings only."""
_JSON_FACTOR = 8
"""The total size of the values that are spelled compactly, as a multiple of the size of the log."""
_SEPARATORS = ((",", ":"), (", ", ": "))
_SHORTEST, _NEAR = 3, 50
"""The length of parts that are found in strings near the last one, and the number of these strings."""
_MOST_ALIGNED = 20_000
"""The number of strings that are compared with a text in which values were replaced."""


class Copy(NamedTuple):
    """A part of a text that is a part of a string."""

    leaf: Leaf | None
    steps: Steps
    """The steps to the part, from the bytes of the file."""
    text: bytes
    is_complete: bool
    """Whether it is the complete string."""

    def in_quotes(self) -> Copy:
        """Return the part as a string of JSON."""
        return self._replace(steps=(*self.steps, QUOTE), text=quote(self.text))


class Inserted(NamedTuple):
    """A part of a text that no string contains."""

    text: bytes


Piece = Copy | Inserted


class _Strand(NamedTuple):
    """The strings with the same key, in order, as one text; for replies that are logged in many parts."""

    text: bytes
    starts: list[int]
    leaves: list[int]


class StringIndex:
    """The strings of a log, by content."""

    def __init__(self, scan: Scan, size: int, raw: bytes = b"") -> None:
        """Index the strings of some text; ``raw`` is a complete file that is not JSON, such as a database."""
        self.scan, self._size = scan, size
        self._by_text: dict[bytes, list[int]] = {}
        for number, leaf in enumerate(scan.leaves):
            self._by_text.setdefault(leaf.text, []).append(number)
        self._cursor = self._raw_cursor = 0
        self._raw = len(scan.leaves) if raw else -1
        if raw:
            scan.leaves.append(Leaf(raw, (), 0, len(raw), b""))

    def rewind(self) -> None:
        """Begin with another record: equal strings are used in the order in which they are logged."""
        self._cursor = self._raw_cursor = 0

    def complete(self, text: bytes) -> list[Piece]:
        """Return the strings that are together a text, or an empty list."""
        if exact := self._exact(text) or self._value(text):
            return [exact]
        return self._strands(text) or self._in_raw(text, text)

    def around(self, segments: list[bytes]) -> list[Copy]:
        """Return the parts of one string that begins, continues and ends with some segments; the next such string."""
        leaves = self.scan.leaves
        order = chain(range(self._cursor, len(leaves)), range(self._cursor))
        for number in islice(order, _MOST_ALIGNED):
            places = _align(leaves[number].text, segments)
            if places:
                self._cursor = number + 1
                return [self._part(number, start, stop) for start, stop in places]
        return []

    def pieces(self, text: bytes) -> list[Piece]:
        """Return the longest parts of strings that a text consists of, and the text between them."""
        if text[:1] in (b"{", b"[") and (structure := self._structure(text)):
            return structure
        return list(self._pieces(text))

    def _in_raw(self, text: bytes, spelled: bytes) -> list[Piece]:
        """Return the place of a spelling of a text in a file that is not JSON."""
        if self._raw < 0:
            return []
        raw = self.scan.leaves[self._raw].text
        at = raw.find(spelled, self._raw_cursor)
        at = raw.find(spelled) if at < 0 else at
        if at < 0:
            return []
        self._raw_cursor = at + len(spelled)
        part = self._part(self._raw, at, at + len(spelled))
        return [part if spelled is text else part._replace(steps=(*part.steps, JSON), text=text)]

    def _structure(self, text: bytes) -> list[Piece]:
        """Return the pieces of a JSON value whose strings are in the log; it may be spelled differently in the file."""
        try:
            value = json.loads(text.decode("utf-8", "surrogatepass"))
        except (ValueError, RecursionError):
            return []
        if spell(value) != text:
            return []
        for separators in _SEPARATORS:
            for is_ascii in (False, True):
                spelled = json.dumps(value, ensure_ascii=is_ascii, separators=separators)
                if copies := self._in_raw(text, spelled.encode("utf-8", "surrogatepass")):
                    return copies
        pieces: list[Piece] = []
        at = 0
        for match in STRINGS.finditer(text):
            is_key = text[match.end() : match.end() + 1] == b":"
            copies = [] if is_key else self.complete(decode_string(match[0]) or b"")
            if len(copies) == 1 and isinstance(copies[0], Copy) and quote(copies[0].text) == match[0]:
                pieces += [Inserted(text[at : match.start()]), copies[0].in_quotes()]
                at = match.end()
        return [*pieces, Inserted(text[at:])] if pieces else []

    def _exact(self, text: bytes) -> Copy | None:
        numbers = self._by_text.get(text)
        if not numbers:
            return None
        number = numbers[min(bisect_right(numbers, self._cursor - 1), len(numbers) - 1)]
        if number < self._cursor:
            number = numbers[0]
        else:
            self._cursor = number + 1
        leaf = self.scan.leaves[number]
        return Copy(leaf, leaf.steps, text, is_complete=True)

    # Values

    def _value(self, text: bytes) -> Copy | None:
        """Return a JSON value with a compact spelling that is the text."""
        if text[:1] not in (b"{", b"["):
            return None
        steps = self._values.get(text)
        return Copy(None, steps, text, is_complete=True) if steps else None

    @cached_property
    def _values(self) -> dict[bytes, Steps]:
        """The steps to JSON values, by their compact spelling."""
        result: dict[bytes, Steps] = {}
        budget = _JSON_FACTOR * self._size
        for leaf in self.scan.leaves:
            if leaf.text[:1] in (b"{", b"[") and (spelled := compact(leaf.text)) is not None:
                result.setdefault(spelled, (*leaf.steps, JSON))
        for data, start, stop, steps in sorted(self.scan.values, key=lambda value: value[2] - value[1]):
            budget -= stop - start
            if budget < 0:
                break
            if (spelled := compact(bytes(data[start:stop]))) is not None:
                result.setdefault(spelled, (*steps, [start, stop], JSON))
        return result

    # Texts in several strings

    @cached_property
    def _by_key(self) -> list[_Strand]:
        groups: dict[bytes, list[int]] = {}
        for number, leaf in enumerate(self.scan.leaves):
            groups.setdefault(leaf.key, []).append(number)
        strands = []
        for numbers in groups.values():
            if len(numbers) > 1:
                texts = [self.scan.leaves[number].text for number in numbers]
                strands.append(_Strand(b"".join(texts), [0, *accumulate(map(len, texts))], numbers))
        return strands

    def _strands(self, text: bytes) -> list[Piece]:
        """Return the strings that are together the text, if consecutive strings with one key are."""
        for strand in self._by_key:
            at = strand.text.find(text)
            while at >= 0:
                first = bisect_right(strand.starts, at) - 1
                if strand.starts[first + 1] < at + len(text):  # more than one string
                    return list(self._parts(strand, at, at + len(text)))
                at = -1
        return []

    def _parts(self, strand: _Strand, start: int, stop: int) -> Iterator[Piece]:
        number = bisect_right(strand.starts, start) - 1
        while number < len(strand.leaves) and strand.starts[number] < stop:
            begin = strand.starts[number]
            low, high = max(0, start - begin), min(strand.starts[number + 1], stop) - begin
            if high > low:
                yield self._part(strand.leaves[number], low, high)
            number += 1

    def _part(self, number: int, start: int, stop: int) -> Copy:
        leaf = self.scan.leaves[number]
        if number == self._raw:
            place = leaf._replace(start=start, stop=stop)
            return Copy(place, ([start, stop],), leaf.text[start:stop], is_complete=True)
        is_complete = (start, stop) == (0, len(leaf.text))
        steps = leaf.steps if is_complete else (*leaf.steps, [start, stop])
        return Copy(leaf, steps, leaf.text[start:stop], is_complete)

    # Parts of strings

    @cached_property
    def _seeds(self) -> dict[bytes, list[tuple[int, int]]]:
        seeds: dict[bytes, list[tuple[int, int]]] = {}
        count = 0
        for number, leaf in enumerate(self.scan.leaves):
            text = leaf.text
            for at in range(0, len(text) - _SEED + 1, _STRIDE):
                places = seeds.setdefault(text[at : at + _SEED], [])
                if len(places) < _CANDIDATES:
                    places.append((number, at))
                count += 1
            if count > _MOST_SEEDS:
                break
        return seeds

    def _pieces(self, text: bytes) -> Iterator[Piece]:
        at = pending = 0
        while at <= len(text) - _SEED:
            places = self._seeds.get(text[at : at + _SEED])
            best = max((self._extend(text, at, pending, *place) for place in places), default=None) if places else None
            if best is None:
                at += 1
                continue
            length, start, number, offset = best
            yield from self._short(text[pending:start])
            yield self._part(number, offset, offset + length)
            at = pending = start + length
        yield from self._short(text[pending:])

    def _extend(self, text: bytes, at: int, least: int, number: int, offset: int) -> tuple[int, int, int, int]:
        """Return the length of the longest common part around a seed, its offset in the text, and its place."""
        source = self.scan.leaves[number].text
        start, begin = at, offset
        while start > least and begin > 0 and text[start - 1] == source[begin - 1]:
            start, begin = start - 1, begin - 1
        length = at - start + _common(text, at, source, offset)
        # Letters must not be divided, since steps lead to valid text.
        while length and start + length < len(text) and text[start + length] & 0xC0 == 0x80:
            length -= 1
        while length and text[start] & 0xC0 == 0x80:
            start, begin, length = start + 1, begin + 1, length - 1
        return length, start, number, begin

    def _short(self, text: bytes) -> Iterator[Piece]:
        """Yield the pieces of a text without long common parts: complete strings, or lines that are strings."""
        if not text:
            return
        core = text.strip()
        exact = self._exact(core) or next(iter(self._in_raw(core, core) or self._near(core)), None) if core else None
        if exact:
            before, after = text[: text.find(core)], text[text.find(core) + len(core) :]
            yield from (Inserted(before),) if before else ()
            yield exact
            yield from (Inserted(after),) if after else ()
        elif b"\n" in core:
            head, feed, rest = text.partition(b"\n")
            yield from self._short(head)
            yield Inserted(feed)
            yield from self._short(rest)
        else:
            yield Inserted(text)

    def _near(self, text: bytes) -> list[Piece]:
        """Return a part of a string near the last one."""
        if len(text) < _SHORTEST:
            return []
        stop = min(self._cursor + _NEAR, len(self.scan.leaves))
        for number in range(max(0, self._cursor - _NEAR), stop):
            at = self.scan.leaves[number].text.find(text)
            if at >= 0:
                return [self._part(number, at, at + len(text))]
        return []


def _align(text: bytes, segments: list[bytes]) -> list[tuple[int, int]]:
    """Return the ranges of segments in a text that they begin, continue and end; an empty list if they do not."""
    first, *rest = segments
    last = rest.pop()
    stop = len(text) - len(last)
    if not text.startswith(first) or not text.endswith(last) or len(first) > stop:
        return []
    places, at = [(0, len(first))], len(first)
    for segment in rest:
        start = text.find(segment, at + 1, stop)
        if start < 0:
            return []
        at = start + len(segment)
        places.append((start, at))
    return [*places, (stop, len(text))] if at < stop else []


def _common(text: bytes, at: int, source: bytes, offset: int) -> int:
    """Return the length of the common beginning of two texts from some offsets."""
    most = min(len(text) - at, len(source) - offset)
    length, step = 0, most
    while step:
        step = min(step, most - length)
        if step and text[at + length : at + length + step] == source[offset + length : offset + length + step]:
            length += step
        else:
            step //= 2
    return length
