"""Which floats Hugging Face ``datasets`` gives back as another number.

It reads JSON with the parser of pandas, which takes the digits before and behind the point as two whole numbers, the
latter up to fifteen, and multiplies by a power of ten; from JSON lines it first writes them anew with ten decimals.
"""

from __future__ import annotations

import re

import orjson

_SPELLED = re.compile(r"-?(\d+)(?:\.(\d+))?(?:e([+-]?\d+))?", re.ASCII)
_DECIMALS, _DECIMALS_WRITTEN = 15, 10
_LARGE = 1e16
"""Beyond it, numbers are written with an exponent."""


def changes(value: float) -> bool:
    """Whether a float of a record comes back as another one from JSON lines, or from Parquet, or both."""
    read = _read(spelled(value))
    if abs(read) > _LARGE:
        written = f"{read:.{_DECIMALS_WRITTEN}g}"
    else:
        written = f"{read:.{_DECIMALS_WRITTEN}f}".rstrip("0").rstrip(".")
    return value != read or value != _read(written)


def spelled(value: float) -> str:
    """A float as a record has it."""
    return orjson.dumps(float(value)).decode()


def _read(text: str) -> float:
    number = _SPELLED.fullmatch(text)
    assert number, text
    decimals = (number[2] or "")[:_DECIMALS]
    value = float(int(number[1])) + (float(int(decimals)) * 10.0 ** -len(decimals) if decimals else 0.0)
    value *= 10.0 ** int(number[3] or 0)
    return -value if text.startswith("-") else value
