"""JSON in and out: a fast parser where it agrees with Python's ``json``, and Python's where only that one decides."""

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
    """NaN, Infinity or a number too large for a double, none of which JSON can write."""


class TooLargeError(ValueError):
    """Text whose parsed form would take more memory than anything may; the bounds of a run are held to before."""


def refusal(problem: ValueError) -> str:
    """Why ``loads`` refused what it was given, in words that do not change with the version of Python."""
    if isinstance(problem, UnicodeDecodeError):
        return "it is no UTF-8"
    if str(problem).startswith("Exceeds the limit"):
        return "an integer has more digits than are read"
    return str(problem)


class Rounded(float):
    """A float that was written with more digits than a double holds."""

    spelled: str


def _float(spelled: str) -> float:
    value = float(spelled)
    # 15 significant digits always survive a double, unless it is tiny; so only other spellings can lose anything.
    if (len(spelled) > 16 or abs(value) < float_info.min) and isfinite(value) and _differs(spelled, value):
        value = Rounded(value)
        value.spelled = spelled
    return value


def _differs(spelled: str, value: float) -> bool:
    digits = len(spelled.lower().partition("e")[0].lstrip("-0.").replace(".", ""))
    try:
        # At its shortest or at as many digits, since 0.10000000000000001 is what some write for 0.1.
        return Decimal(spelled) not in (Decimal(repr(value)), Decimal(f"{value:.{max(digits, 1) - 1}e}"))
    except InvalidOperation:  # an exponent beyond those of decimals, which leaves 0 of any number
        return any(digit in "123456789" for digit in spelled.lower().partition("e")[0])


def finite(spelled: str) -> float:
    """The float of a spelling, ``Rounded`` if it lost digits; raises ``NotFiniteError``."""
    value = _float(spelled)
    if not isfinite(value):
        raise NotFiniteError(spelled[:40])
    return value


def decoder(kind: type[T]) -> msgspec.json.Decoder[T]:
    """A decoder that makes what ``loads`` makes, and raises where that would ask Python's ``json``."""
    return msgspec.json.Decoder(kind, float_hook=finite)


_fast = decoder(Any)
_LARGE = footprint.MOST // footprint.FACTOR


def loads(data: bytes | str) -> Any:
    """Parse what ``json.loads`` accepts, NaN and Infinity aside.

    Integers keep all digits, lone surrogates stay in the strings, floats that lost digits are ``Rounded``.  Raises
    ``ValueError`` for what is no JSON (``NotFiniteError`` for numbers that are none) and ``RecursionError`` for what is
    nested too deeply.
    """
    if len(data) > _LARGE and footprint.exceeds(data, footprint.MOST):
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


def value(text: bytes | str, otherwise: Any = None) -> Any:
    """What a text is as JSON; ``otherwise`` for one that is none."""
    try:
        return loads(text)
    except (ValueError, RecursionError):
        return otherwise


def dumps(value: Any, *, sort_keys: bool = False) -> bytes:
    """``orjson.dumps``, also for integers beyond 64 bits, lone surrogates and deep nesting, which that refuses."""
    try:
        return orjson.dumps(value, default=_turn, option=orjson.OPT_SORT_KEYS if sort_keys else None)
    except orjson.JSONEncodeError:
        return b"".join(_pieces(value, sort_keys=sort_keys))


def _turn(value: Any) -> Any:
    """A turn, beside the message that was made of it; raises ``TypeError`` for anything else."""
    if isinstance(value, msgspec.Struct):
        return msgspec.to_builtins(value)
    raise TypeError


def rounded(value: Any) -> list[str]:
    """The spellings of all numbers in a value that lost digits."""
    return [leaf.spelled for leaf in leaves(value) if isinstance(leaf, Rounded)]


def encode(value: Any) -> tuple[bytes, list[str]]:
    """What ``dumps`` gives, and what ``rounded`` finds."""
    try:
        return orjson.dumps(value), []  # refuses Rounded, so what it takes has none
    except orjson.JSONEncodeError:
        return dumps(value), rounded(value)


def leaves(value: Any, *, keys: bool = False) -> Iterator[Any]:
    """All strings, numbers, booleans and nulls in a JSON value, in order, without recursion.

    With ``keys``, those of objects, too, before their values.
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
        if type(item) is bytes:  # punctuation, put there below; JSON values are never bytes
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
    except orjson.JSONEncodeError:  # a lone surrogate, for which "backslashreplace" writes just JSON's escape
        return json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace")
