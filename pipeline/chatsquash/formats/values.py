"""Safe access to members of JSON values of any type."""

from __future__ import annotations

from typing import Any, TypeVar

import orjson

from chatsquash.core import jsonio
from chatsquash.core.lazy import lazy_compile
from chatsquash.core.model import Json
from chatsquash.core.text import json_type

Object = dict[str, Any]
T = TypeVar("T")
_MOST = 1 << 36
"""The limit for plausible token counts; their sums over a session still fit into 64 bits."""
kind = json_type
"""Describe the type of a value in words."""
_PLAIN_NAME = lazy_compile(r"[0-9A-Za-z_-]{1,100}")


def compact(value: Json) -> str:
    """Return a value as compact JSON, with members in order and non-ASCII characters unescaped."""
    try:
        return orjson.dumps(value).decode()
    except orjson.JSONEncodeError:  # such as lone surrogates
        return jsonio.dumps(value).decode("utf-8", "surrogatepass")


def is_plain_name(value: Json) -> bool:
    """Return whether a value is a string that may be part of a file name."""
    return isinstance(value, str) and _PLAIN_NAME.fullmatch(value) is not None


def count(value: Json) -> int | None:
    """Return a token count, or ``None`` for other values."""
    # ``type`` excludes booleans, which are integers in Python.
    return value if type(value) is int and 0 <= value < _MOST else None


def total(holder: Json, *names: str) -> int | None:
    """Return the sum of the members that are token counts, or ``None`` without any token counts."""
    tokens: int | None = None
    for name in names if isinstance(holder, dict) else ():
        if (value := count(holder.get(name))) is not None:
            tokens = value if tokens is None else tokens + value
    return tokens


def as_list(value: Json) -> list[Json]:
    """Return a list unchanged, null as an empty list, and any other value as the only element of a list."""
    return value if isinstance(value, list) else [] if value is None else [value]


def objects(value: Json) -> list[Object]:
    """Return the objects in a list, or an empty list for other values."""
    return [each for each in value if isinstance(each, dict)] if isinstance(value, list) else []


def at(value: Json, *path: str) -> Json:
    """Return the member at the end of a path of members, or ``None`` if it is missing."""
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None
    return value


def string(holder: Json, name: str) -> str:
    """Return a string member; an empty string for other values."""
    value = holder.get(name) if isinstance(holder, dict) else None
    return value if isinstance(value, str) else ""


def texts(content: Json) -> list[str]:
    """Return the text of each content part (empty for parts without text); a string counts as one part."""
    return [content] if isinstance(content, str) else [string(part, "text") for part in objects(content)]


def members(value: Json) -> Object:
    """Return an object unchanged; an empty object for other values."""
    return value if isinstance(value, dict) else {}


def without(members: dict[Any, Any], *names: str) -> Object:
    """Return the members of an object, except these members and nulls."""
    return {key: value for key, value in members.items() if key not in names and value is not None}


def rest(holder: Object, *read: str) -> list[Json]:
    """Return the unread members as the only object in a list, or an empty list."""
    unread = without(holder, *read)
    return [unread] if unread else []


def text_members(holder: Object, *names: str) -> list[str]:
    """Return the names of these members that are strings."""
    return [name for name in names if isinstance(holder.get(name), str)]


def index(holder: Object, missing: T, member: str = "index") -> int | T:
    """Return the index of an item in a stream, or ``missing``."""
    place = holder.get(member)
    return place if type(place) is int else missing


def without_prefixes(sequences: list[list[bytes]]) -> list[int]:
    """Return the indices of the sequences that are not prefixes of others; for equal sequences, the first."""
    prefixes: dict[bytes, Json] = {}
    places: list[int] = []
    # Longer sequences come first, so that each prefix of another sequence is already in the trie.
    for place in sorted(range(len(sequences)), key=lambda place: (-len(sequences[place]), place)):
        level: Json = prefixes
        is_known = bool(places)
        for each in sequences[place]:
            is_known = is_known and each in level
            level = level.setdefault(each, {})
        if not is_known:
            places.append(place)
    return sorted(places)
