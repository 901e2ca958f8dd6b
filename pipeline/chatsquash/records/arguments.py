"""Convert arguments of calls to the form that a preset requires, and call ids to nine characters."""

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
"""Converts the arguments of a call, given the arguments, the tool name, the index of the message and notes.

Raises ``UnparsableError``.
"""


class UnparsableError(CannotHoldError):
    """Arguments are not a JSON object although the preset requires one."""

    def __init__(self, name: str, seen: str, at: int) -> None:
        super().__init__(shapes.arguments_unparsable(name, seen, at))


def texts(arguments: Json, name: str, at: int, notes: Notes) -> str:
    """Return arguments as a JSON string; a nonempty string is returned as logged."""
    del name, at
    if chat.are_missing(arguments):
        notes.changed[_MISSING] += 1
        return "{}"
    if isinstance(arguments, str):
        return arguments
    notes.changed["arguments become JSON text"] += 1
    return jsonio.dumps(arguments).decode("utf-8", "surrogatepass")


def objects(arguments: Json, name: str, at: int, notes: Notes) -> dict[str, Any]:
    """Return arguments as a JSON object; raise ``UnparsableError`` for anything else instead of guessing."""
    if chat.are_missing(arguments):
        notes.changed[_MISSING] += 1
        return {}
    if isinstance(arguments, str):
        value = _parse(arguments, name, at, notes)
    else:
        value = arguments
        notes.floats += floats(value)
    if not isinstance(value, dict):
        raise UnparsableError(name, json_type(value), at)
    return value


def objects_or_texts(arguments: Json, name: str, at: int, notes: Notes) -> Json:
    """Return arguments as an object or as the original string, for presets that write calls as text."""
    try:
        return objects(arguments, name, at, notes)
    except UnparsableError:
        if not isinstance(arguments, str):
            raise
        notes.changed["arguments that are not a JSON object remain text"] += 1
        return arguments


_parsed_floats: list[float] = []


def _float(text: str) -> float:
    value = jsonio.finite(text)
    _parsed_floats.append(value)
    return value


_decoder = msgspec.json.Decoder(float_hook=_float)  # collects floats while parsing, without a second pass


_pack = msgspec.msgpack.Encoder().encode
_FLOAT = b"\xcb"
"""The byte before each float in MessagePack; it is rare elsewhere."""


def floats(value: Json) -> list[float]:
    """Return the floats in a value."""
    try:
        if _FLOAT not in _pack(value):
            return []
    except (UnicodeEncodeError, OverflowError, TypeError, RecursionError):  # such as integers beyond 64 bits
        pass
    # Encoding the value and parsing it again is faster than traversing it.
    _parsed_floats.clear()
    try:
        _decoder.decode(orjson.dumps(value))
    except (orjson.JSONEncodeError, msgspec.MsgspecError, ValueError, RecursionError):
        return [leaf for leaf in jsonio.leaves(value) if isinstance(leaf, float)]
    return list(_parsed_floats)


def _parse(text: str, name: str, at: int, notes: Notes) -> Json:
    _parsed_floats.clear()
    try:
        value = _decoder.decode(text)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        try:
            value = jsonio.loads(text)  # also accepts rare cases that msgspec rejects
        except (ValueError, RecursionError):
            raise UnparsableError(name, "not valid JSON", at) from None
        notes.floats += floats(value)
        return value
    if _parsed_floats:
        notes.floats += _parsed_floats
    return value


PATTERN = "^[a-zA-Z0-9]{9}$"
_SHORT = re.compile("[a-zA-Z0-9]{9}")
_CHARACTERS = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


def short_ids(idents: Iterable[str]) -> dict[str, str]:
    """Map each id to a unique short one: the id itself if it is short, otherwise one derived from it."""
    distinct = list(dict.fromkeys(idents))
    short = {ident: ident for ident in distinct if _SHORT.fullmatch(ident)}
    in_use = set(short)
    for ident in distinct:
        if ident not in short:
            short[ident] = next(
                candidate for number in count() if (candidate := _derive_id(ident, number)) not in in_use
            )
            in_use.add(short[ident])
    return short


def _derive_id(ident: str, number: int) -> str:
    rest = xxh3_64_intdigest(ident.encode("utf-8", "surrogatepass"), number)
    characters = []
    for _ in range(9):
        rest, place = divmod(rest, len(_CHARACTERS))
        characters.append(_CHARACTERS[place])
    return "".join(characters)
