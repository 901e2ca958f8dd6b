"""Parse and encode JSON: with fast libraries where they agree with Python's ``json``, and otherwise with ``json``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from decimal import Decimal, InvalidOperation
from math import isfinite
from operator import itemgetter
from sys import float_info
from typing import Any, TypeVar

import msgspec
import orjson

from chatsquash.core import footprint

T = TypeVar("T")


class NotFiniteError(ValueError):
    """NaN, Infinity or a number too large for a double, which JSON cannot represent."""


class TooLargeError(ValueError):
    """JSON that would exceed the fixed memory limit when parsed; the limits of a run are checked earlier."""


def refusal(problem: ValueError) -> str:
    """Return why ``loads`` failed, in words that do not depend on the Python version."""
    if isinstance(problem, UnicodeDecodeError):
        return "it is not valid UTF-8"
    if str(problem).startswith("Exceeds the limit"):
        return "an integer has too many digits"
    return str(problem)


class Rounded(float):
    """A float that was written with more digits than a double can represent."""

    spelled: str


def _float(spelled: str) -> float:
    value = float(spelled)
    # Doubles that are not tiny preserve 15 significant digits, so only longer spellings need to be compared.
    if (len(spelled) > 16 or abs(value) < float_info.min) and isfinite(value) and _differs(spelled, value):
        value = Rounded(value)
        value.spelled = spelled
    return value


def _differs(spelled: str, value: float) -> bool:
    digits = len(spelled.lower().partition("e")[0].lstrip("-0.").replace(".", ""))
    try:
        # Compare with the shortest spelling and one of equal length: some writers spell 0.1 as 0.10000000000000001.
        return Decimal(spelled) not in (Decimal(repr(value)), Decimal(f"{value:.{max(digits, 1) - 1}e}"))
    except InvalidOperation:  # an exponent beyond the range of Decimal, for which the double is 0
        return any(digit in "123456789" for digit in spelled.lower().partition("e")[0])


def finite(spelled: str) -> float:
    """Parse a float, as ``Rounded`` if digits are lost; raise ``NotFiniteError`` if it is not finite."""
    value = _float(spelled)
    if not isfinite(value):
        raise NotFiniteError(spelled[:40])
    return value


def decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    """Return a decoder with the results of ``loads``, which raises an error where ``loads`` falls back to ``json``."""
    return msgspec.json.Decoder(kind, float_hook=finite)


_fast = decoder(Any)
LARGE = footprint.MOST // footprint.FACTOR
"""The number of bytes up to which ``loads`` never raises ``TooLargeError``."""


def loads(data: bytes | str) -> Any:
    """Parse everything that ``json.loads`` accepts, except NaN and Infinity.

    Integers keep all digits, lone surrogates stay in strings, and floats that lose digits are ``Rounded``.

    Raises:
        ValueError: Invalid JSON (``NotFiniteError`` for NaN and Infinity, ``TooLargeError`` above the memory limit).
        RecursionError: Values that are nested too deeply.
    """
    if len(data) > LARGE and footprint.exceeds(data, footprint.MOST):
        raise TooLargeError(footprint.refusal(footprint.MOST))
    try:
        return _fast.decode(data)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        text = data if isinstance(data, str) else data.decode("utf-8", "surrogatepass")
        value = json.loads(text, parse_float=_float)
    for leaf in leaves(value):
        if isinstance(leaf, float) and not isfinite(leaf):
            raise NotFiniteError("NaN" if leaf != leaf else "Infinity")  # noqa: PLR0124 - only NaN differs from itself
    return value


def lines(text: str) -> list[Any] | None:
    """Parse lines like ``loads``, as one list; return ``None`` where only ``loads`` decides.

    A value may extend over several lines, and a line may contain several values.
    """
    if len(text) > LARGE:
        return None
    try:
        return _fast.decode_lines(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def value(text: bytes | str, otherwise: Any = None) -> Any:
    """Parse a string as JSON; return ``otherwise`` if it is invalid."""
    try:
        return loads(text)
    except (ValueError, RecursionError):
        return otherwise


def dumps(value: Any, *, sort_keys: bool = False) -> bytes:
    """Encode like ``orjson.dumps``, but support integers beyond 64 bits, lone surrogates and deep nesting."""
    try:
        return orjson.dumps(value, default=_turn, option=orjson.OPT_SORT_KEYS if sort_keys else None)
    except orjson.JSONEncodeError:
        return b"".join(_pieces(value, sort_keys=sort_keys))


def _turn(value: Any) -> Any:
    """Convert a turn in a message; raise ``TypeError`` for anything else."""
    if isinstance(value, msgspec.Struct):
        return msgspec.to_builtins(value)
    raise TypeError


def rounded(value: Any) -> list[str]:
    """Return the spellings of all numbers in a value that lost digits."""
    return [leaf.spelled for leaf in leaves(value) if isinstance(leaf, Rounded)]


def encode(value: Any) -> tuple[bytes, list[str]]:
    """Return the results of ``dumps`` and ``rounded``."""
    try:
        return orjson.dumps(value), []  # orjson rejects subclasses of float, so no value is Rounded
    except orjson.JSONEncodeError:
        return dumps(value), rounded(value)


def leaves(value: Any, *, keys: bool = False) -> Iterator[Any]:
    """Yield all strings, numbers, booleans and nulls in a JSON value in order, without recursion.

    With ``keys``, also yield the keys of each object before its values.
    """
    todo = [value]
    while todo:
        item = todo.pop()
        if isinstance(item, dict):
            todo.extend(reversed(item.values()))
            todo.extend(item if keys else ())
        elif isinstance(item, list):
            todo.extend(reversed(item))
        else:
            yield item


def _pieces(value: Any, *, sort_keys: bool) -> Iterator[bytes]:
    todo: list[Any] = [value]
    while todo:
        item = todo.pop()
        if type(item) is bytes:  # punctuation added below, because JSON values are never bytes
            yield item
        elif isinstance(item, dict):
            items = sorted(item.items(), key=itemgetter(0)) if sort_keys else item.items()
            members = [part for key, member in items for part in (b",", _scalar(key), b":", member)]
            todo += [b"}", *reversed(members[1:]), b"{"]
        elif isinstance(item, list):
            members = [part for member in item for part in (b",", member)]
            todo += [b"]", *reversed(members[1:]), b"["]
        elif isinstance(item, msgspec.Struct):
            todo.append(_turn(item))
        else:
            yield _scalar(item)


def _scalar(value: Any) -> bytes:
    if isinstance(value, float):
        return orjson.dumps(float(value))
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value).encode()
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:  # a lone surrogate, which "backslashreplace" writes as JSON's escape
        return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")
