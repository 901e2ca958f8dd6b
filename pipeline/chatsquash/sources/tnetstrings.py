"""Tagged netstrings, in which mitmproxy keeps its flows: a length, a colon, so many bytes, and what these are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from chatsquash.sources.arrays import LONGEST, Readable

_DIGITS = 10
_DEEPEST = 20


def values(file: Readable) -> Iterator[Any]:
    """The values that stand one behind the other in a file; raises ``ValueError`` for one that is none."""
    number = 0
    while first := file.read(1):
        number += 1
        try:
            yield _value(*_next(file, first), 0)
        except ValueError as problem:
            raise ValueError(f"flow {number:,} is broken: {problem}") from None


def _next(file: Readable, first: bytes) -> tuple[bytes, int]:
    """The bytes of the next value, and its type."""
    length = first
    while not length.endswith(b":"):
        digit = file.read(1)
        if not digit or len(length) > _DIGITS:
            raise ValueError("it has no length")
        length += digit
    size = _number(length[:-1])
    if size > LONGEST:
        raise ValueError(f"it has more than {LONGEST:,} bytes")
    data = file.read(size)
    kind = file.read(1)
    if len(data) < size or not kind:
        raise ValueError("the file ends within it")
    return data, kind[0]


def _number(digits: bytes) -> int:
    if not digits.isdigit() or len(digits) > _DIGITS:
        raise ValueError("a length is no number")
    return int(digits)


def _value(data: bytes, kind: int, depth: int) -> Any:  # noqa: PLR0911 - one for each type
    if depth > _DEEPEST:
        raise ValueError("it is nested too deeply")
    match chr(kind):
        case ",":
            return data
        case ";":
            return data.decode("utf-8", "replace")
        case "#":
            return int(data) if len(data) < 2 * _DIGITS else None
        case "^":
            return float(data)
        case "!":
            return data == b"true"
        case "~":
            return None
        case "]":
            return list(_inside(data, depth + 1))
        case "}":
            values = list(_inside(data, depth + 1))
            names = (name.decode("utf-8", "replace") if isinstance(name, bytes) else name for name in values[::2])
            return {name: value for name, value in zip(names, values[1::2], strict=False) if isinstance(name, str)}
    raise ValueError("it has a type that is not known")


def _inside(data: bytes, depth: int) -> Iterator[Any]:
    """The values within one."""
    at = 0
    while at < len(data):
        colon = data.find(b":", at, at + _DIGITS + 1)
        if colon < 0:
            raise ValueError("a part of it has no length")
        stop = colon + 1 + _number(data[at:colon])
        if stop >= len(data):
            raise ValueError("a part of it is too long")
        yield _value(data[colon + 1 : stop], data[stop], depth)
        at = stop + 1
