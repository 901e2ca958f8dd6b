"""A search in every form of a text: as it is, without escapes, without breaks of the line, and decoded from base64."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from chatsquash.redact import encodings
from chatsquash.redact.encodings import Reading, View
from chatsquash.redact.hits import Hit

_DEEPEST = 3
"""Times that base64 is decoded within base64."""
_SURE = 6
"""Characters of a value that do not stand in bytes by chance."""
_UNKNOWN = -1

Search = Callable[[Reading], Iterable[Hit]]
"""Finds values in what a text reads like; the places are those of the text itself."""


class _Decoded(NamedTuple):
    """What a run of base64 decodes to."""

    run: tuple[int, int]
    """Where the run stands in the reading that it was found in."""
    first: int
    """The character of the run from which on it was decoded, if that is known."""
    text: str
    is_text: bool


def everywhere(text: str, search: Search) -> list[Hit]:
    """What a search finds in any form of a text, in order, none within another.

    What stands in base64 is replaced with all of its run, or with its lines where the run has several, since half a run
    is no base64: the placeholder stands for all of it.
    """
    return apart(_found(_readings(text), search, _DEEPEST))


def unescaped(text: str, search: Search) -> list[Hit]:
    """What a search finds in a text as it is and without escapes, in order, none within another; not in base64."""
    return apart(_found(_readings(text), search, 0))


def texts(text: str, deep: int = _DEEPEST) -> Iterator[str]:
    """Every form of a text by itself, with its lines as they are."""
    found = encodings.readings(text)
    for reading in found:
        yield reading.text
    for reading in found[1:] or found if deep else ():
        for each in (reading, *encodings.unbroken(reading)):
            if parts := [*_decoded(each)]:
                yield from texts("\0".join(part.text for part in parts), deep - 1)


def apart(hits: Iterable[Hit]) -> list[Hit]:
    """Hits in order that leave nothing of each other: of those that meet the first, as long as all of them."""
    found: list[Hit] = []
    for hit in sorted(hits, key=lambda each: (each.start, -each.end)):
        if found and hit.start < found[-1].end:
            found[-1] = found[-1]._replace(end=max(found[-1].end, hit.end))
        else:
            found.append(hit)
    return found


@lru_cache(maxsize=1)
def _readings(text: str) -> list[Reading]:
    """The readings of a text, which one finder after the other looks at."""
    return encodings.readings(text)


def _found(readings: list[Reading], search: Search, deep: int) -> Iterator[Hit]:
    for reading in readings:
        yield from search(reading)
    for reading in (readings[1:] or readings) if deep else ():
        yield from _encoded(reading, search, deep - 1)
        for whole in encodings.unbroken(reading):
            yield from _encoded(whole, search, deep - 1, whole.views[-1])


def _encoded(reading: Reading, search: Search, deep: int, breaks: View | None = None) -> Iterator[Hit]:
    """What a search finds in the runs of base64 of a reading: in those over breaks of the line where these are told."""
    parts = [*_decoded(reading, breaks)]
    starts, length = [], 0
    for part in parts:
        starts.append(length)
        length += len(part.text) + 1
    met: dict[tuple[int, int], list[tuple[Hit, _Decoded, int]]] = {}
    decoded = encodings.readings("\0".join(part.text for part in parts)) if parts else []
    for hit in _found(decoded, search, deep):
        at = bisect_right(starts, hit.start) - 1
        if parts[at].is_text or len(hit.value) >= _SURE:
            met.setdefault(parts[at].run, []).append((hit, parts[at], starts[at]))
    for run, inside in met.items():
        start, end = reading.span(*(_lines(breaks, run, inside) if breaks else run))
        yield inside[0][0]._replace(start=start, end=end)


def _decoded(reading: Reading, breaks: View | None = None) -> Iterator[_Decoded]:
    """What the runs of base64 in a reading decode to."""
    for start, end in encodings.run_spans(reading.text):
        if breaks and breaks.piece(start)[1] >= end:
            continue
        for first, data in encodings.decoded_bytes(reading.text[start:end]):
            yield _Decoded((start, end), first, data.decode("utf-8", "surrogateescape"), encodings.is_text(data))
            if data.count(0) * 4 > len(data):
                plain = data.replace(b"\0", b"")  # of UTF-16, as PowerShell takes it
                yield _Decoded((start, end), _UNKNOWN, plain.decode("utf-8", "replace"), encodings.is_text(plain))


def _lines(breaks: View, run: tuple[int, int], inside: list[tuple[Hit, _Decoded, int]]) -> tuple[int, int]:
    """The lines of a run that hold what was found in it."""
    if any(part.first == _UNKNOWN for _, part, _ in inside):
        return run
    spans = [_characters(hit, part, start) for hit, part, start in (inside[0], inside[-1])]
    first, last = min(first for first, _ in spans), max(after for _, after in spans)
    start = breaks.piece(run[0] + first)[0]
    end = breaks.piece(min(run[1], run[0] + last) - 1)[1]
    return max(start, run[0]), min(end, run[1])


def _characters(hit: Hit, part: _Decoded, start: int) -> tuple[int, int]:
    """The characters of a run that encode what was found."""
    before = len(part.text[: hit.start - start].encode("utf-8", "surrogateescape"))
    after = len(part.text[: hit.end - start].encode("utf-8", "surrogateescape"))
    return part.first + before // 3 * 4, part.first + -(-after // 3) * 4
