"""Values that are known, found in a text however they are written: plain, escaped, broken over lines, in base64."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from chatsquash.redact import encodings
from chatsquash.redact.encodings import BREAKS, Reading
from chatsquash.redact.forms import everywhere
from chatsquash.redact.hits import Finder, Hit
from chatsquash.redact.needles import Needles, printed
from chatsquash.redact.stripped import Bare, Filling

_FILLING = Filling(" \t\r\n\\\"'+>|#*-\u00a0\u00ad\u200b\ufeff")
"""What may stand within a value that is broken over lines or quoted in pieces: it is left out of both."""
_OTHERWISE = re.compile(r"[\\%\r\n]")
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


def values(told: Mapping[str, tuple[str, str]]) -> Finder:
    """Finds values, told with kind and rule, in every form of a text; takes time linear in it, whatever their number.

    A value of fewer than six characters is found broken over lines only where nothing but the break is within it, and
    in base64 only of text.
    """
    return _Known(told).found


class _Known:
    """Finds values that are known."""

    def __init__(self, told: Mapping[str, tuple[str, str]]) -> None:
        self._told = {printed(value): (value, *each) for value, each in told.items() if value}
        self._plain = Needles(self._told)
        self._cores: dict[str, list[_Core]] = {}
        for value in self._told:
            for core in _cores(value):
                self._cores.setdefault(_FILLING.out_of(core.text), []).append(core)
        self._bare = Needles(self._cores)

    def found(self, text: str) -> list[Hit]:
        """The values in a text, in order, none within another."""
        return everywhere(text, self._search)

    def _search(self, reading: Reading) -> Iterator[Hit]:
        text = printed(reading.text)
        for start, end in self._plain.places(text):
            yield from self._hit(reading, text, (start, end), text[start:end])
        bare = Bare(text, _FILLING)
        done = 0
        for first, last in self._bare.places(bare.text):
            if first >= done and (found := self._in_core(reading, text, bare.span(first, last), bare.text[first:last])):
                yield found
                done = last

    def _in_core(self, reading: Reading, text: str, span: tuple[int, int], bare: str) -> Hit | None:
        start, end = span
        for core in self._cores[bare]:
            is_sure = len(bare) >= _SURE and (self._told[core.value][1] == _SPACED or _differs(reading, start, end))
            if is_sure or _is_core(text[start:end], core):
                wide = _widened(text, start, end, core)
                return next(self._hit(reading, text, wide, core.value), None)
        return None

    def _hit(self, reading: Reading, text: str, span: tuple[int, int], value: str) -> Iterator[Hit]:
        start, end = span
        told, kind, rule = self._told[value]
        if kind not in _NUMBERS or not (text[start - 1 : start].isdigit() or text[end : end + 1].isdigit()):
            yield Hit(*reading.span(start, end), kind, rule, told)


def _cores(value: str) -> Iterator[_Core]:
    seen = set()
    for reading in encodings.readings(value):
        text = printed(reading.text)
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


def _differs(reading: Reading, start: int, end: int) -> bool:
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
