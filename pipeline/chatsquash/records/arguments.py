"""Arguments of calls as presets require them, JSON objects or their text, and call ids of nine characters."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from itertools import count
from typing import Any

import msgspec
import orjson
from xxhash import xxh3_64_intdigest

from chatsquash.checks import shapes
from chatsquash.core import chat, jsonio
from chatsquash.core.model import Json
from chatsquash.core.text import json_type
from chatsquash.records.notes import CannotHoldError, Notes

_MISSING = "missing arguments become {}"


Arguments = Callable[[Json, str, int, Notes], Json]
"""How a preset has the arguments of a call of a named tool in a message; raises ``UnparsableError``."""


class UnparsableError(CannotHoldError):
    """Arguments are not a JSON object, and the preset requires one."""

    def __init__(self, name: str, seen: str, at: int) -> None:
        super().__init__(shapes.arguments_unparsable(name, seen, at))


def texts(given: Json, name: str, at: int, notes: Notes) -> str:
    """JSON text: as it was logged where it was text, unless that is empty."""
    del name, at
    if chat.are_missing(given):
        notes.changed[_MISSING] += 1
        return "{}"
    if isinstance(given, str):
        return given
    notes.changed["arguments become JSON text"] += 1
    return jsonio.dumps(given).decode("utf-8", "surrogatepass")


def objects(given: Json, name: str, at: int, notes: Notes) -> dict[str, Any]:
    """Objects; any other value, and a text that does not parse to an object, is never guessed."""
    if chat.are_missing(given):
        notes.changed[_MISSING] += 1
        return {}
    if isinstance(given, str):
        value = _parse(given, name, at, notes)
    else:
        value = given
        notes.floats += floats(value)
    if not isinstance(value, dict):
        raise UnparsableError(name, json_type(value), at)
    return value


def objects_or_texts(given: Json, name: str, at: int, notes: Notes) -> Json:
    """Objects; a text that does not parse to an object remains a text, for presets whose calls are JSON in a text."""
    try:
        return objects(given, name, at, notes)
    except UnparsableError:
        if not isinstance(given, str):
            raise
        notes.changed["arguments that are not a JSON object remain text"] += 1
        return given


_met: list[float] = []


def _float(spelled: str) -> float:
    value = jsonio.finite(spelled)
    _met.append(value)
    return value


_decoder = msgspec.json.Decoder(float_hook=_float)  # so that floats are met without a look at every value


def floats(value: Json) -> list[float]:
    """The floats in a value; to write it and read it again is faster than to look."""
    _met.clear()
    try:
        _decoder.decode(orjson.dumps(value))
    except (orjson.JSONEncodeError, msgspec.MsgspecError, ValueError, RecursionError):
        return [leaf for leaf in jsonio.leaves(value) if isinstance(leaf, float)]
    return list(_met)


def _parse(text: str, name: str, at: int, notes: Notes) -> Json:
    _met.clear()
    try:
        value = _decoder.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        try:
            value = jsonio.loads(text)  # which knows what is rare
        except (ValueError, RecursionError):
            raise UnparsableError(name, "not valid JSON", at) from None
        notes.floats += floats(value)
        return value
    if _met:
        notes.floats += _met
    return value


PATTERN = "^[a-zA-Z0-9]{9}$"
_SHORT = re.compile("[a-zA-Z0-9]{9}")
_CHARACTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def short_ids(idents: Iterable[str]) -> dict[str, str]:
    """For each id a short one: itself if it is short, else one that follows from it; no two get the same."""
    distinct = list(dict.fromkeys(idents))
    short = {ident: ident for ident in distinct if _SHORT.fullmatch(ident)}
    taken = set(short)
    for ident in distinct:
        if ident not in short:
            short[ident] = next(made for number in count() if (made := _derive_id(ident, number)) not in taken)
            taken.add(short[ident])
    return short


def _derive_id(ident: str, number: int) -> str:
    rest = xxh3_64_intdigest(ident.encode("utf-8", "surrogatepass"), number)
    made = []
    for _ in range(9):
        rest, place = divmod(rest, len(_CHARACTERS))
        made.append(_CHARACTERS[place])
    return "".join(made)
