"""Count what presets drop, change or cannot represent, and detect floats that loaders round.

Hugging Face ``datasets`` reads JSON with the parser of pandas. The parser reads the digits before and after the decimal
point as two integers, the latter with up to fifteen digits, and multiplies by a power of ten. From JSON Lines, numbers
are first rewritten with ten decimals. Some floats are therefore loaded as different numbers.
"""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, field

import orjson

from chatsquash.checks import reading, shapes
from chatsquash.core.jsonio import Rounded
from chatsquash.core.model import Violation


class CannotHoldError(Exception):
    """A preset cannot represent content that must not be dropped; ``violation`` describes it."""

    def __init__(self, violation: Violation) -> None:
        super().__init__(violation.text)
        self.violation = violation


@dataclass(slots=True)
class Notes:
    """Counts by description, and the floats in a record."""

    dropped: Counter[str] = field(default_factory=Counter)
    changed: Counter[str] = field(default_factory=Counter)
    media_replaced: Counter[str] = field(default_factory=Counter)
    """The media that were replaced by placeholders."""
    floats: list[float] = field(default_factory=list)
    users_after_results: int = 0
    """The number of user messages directly after results, for presets of trainers that reject these."""

    def add(self, other: Notes) -> None:
        """Add other notes."""
        for counts, more in (
            (self.dropped, other.dropped),
            (self.changed, other.changed),
            (self.media_replaced, other.media_replaced),
        ):
            if more:
                counts.update(more)
        self.floats += other.floats

    def findings(self, *, as_text: bool = False) -> list[Violation]:
        """Return at most one finding of each kind; with ``as_text``, floats are part of text and never rounded."""
        findings = [shapes.shape_dropped(self.dropped)] if self.dropped else []
        findings += [shapes.shape_changed(self.changed)] if self.changed else []
        findings += [shapes.media_replaced(self.media_replaced)] if self.media_replaced else []
        findings += [shapes.user_after_result(self.users_after_results)] if self.users_after_results else []
        if changed_numbers := [each.spelled for each in self.floats if isinstance(each, Rounded)]:
            findings.append(reading.number_changed(changed_numbers, len(changed_numbers)))
        if not as_text and (rounded := [float_text(each) for each in self.floats if is_rounded(each)]):
            findings.append(shapes.float_rounded(rounded, len(rounded)))
        return findings


_NUMBER = re.compile(r"-?(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?", re.ASCII)
_DECIMALS, _DECIMALS_REWRITTEN = 15, 10
_LARGE = 1e16
"""The number above which numbers are written with an exponent."""


def is_rounded(value: float) -> bool:
    """Return whether a float changes when loaded from JSON Lines or from Parquet."""
    read = _read_float(float_text(value))
    if abs(read) > _LARGE:
        rewritten_text = f"{read:.{_DECIMALS_REWRITTEN}g}"
    else:
        rewritten_text = f"{read:.{_DECIMALS_REWRITTEN}f}".rstrip("0").rstrip(".")
    return value != read or value != _read_float(rewritten_text)


def float_text(value: float) -> str:
    """Return a float as it is written in a record."""
    return orjson.dumps(float(value)).decode()


def _read_float(text: str) -> float:
    number = _NUMBER.fullmatch(text)
    assert number, text
    decimals = (number[2] or "")[:_DECIMALS]
    value = float(int(number[1])) + (float(int(decimals)) * 10.0 ** -len(decimals) if decimals else 0.0)
    value *= 10.0 ** int(number[3] or 0)
    return -value if text.startswith("-") else value
