"""Split JSON into raw members with the scanner of ``json``, which is slow but the reference for valid JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]

from chatsquash.core.lazy import lazy_compile

_space = lazy_compile(r"[ \t\n\r]*")
# Skipped values are not checked, so numbers of any size are accepted.
_scan = json.JSONDecoder(parse_int=str, parse_float=str).raw_decode


def members(raw: bytes) -> dict[str, bytes]:
    """Return the raw members of a JSON object; if a key is repeated, the last one counts."""
    text = raw.decode("latin-1")  # one character per byte; the syntax of JSON is ASCII, so it is not affected
    return {key: text[start:stop].encode("latin-1") for key, start, stop in _walk(text, "{")}


def elements(raw: bytes) -> list[bytes]:
    """Return the raw elements of a JSON array."""
    text = raw.decode("latin-1")
    return [text[start:stop].encode("latin-1") for _, start, stop in _walk(text, "[")]


def _walk(text: str, bracket: str) -> Iterator[tuple[str, int, int]]:
    """Yield the key, start and stop of each value in an object or array; the keys of an array are empty."""
    position = _skip(text, 0)
    if text[position : position + 1] != bracket:
        raise json.JSONDecodeError(f"Expecting {bracket!r}", text, position)
    close = "}" if bracket == "{" else "]"
    position = _skip(text, position + 1)
    if text[position : position + 1] != close:
        while True:
            key = ""
            if bracket == "{":
                key, position = _key(text, position)
            _, stop = _scan(text, position)
            yield key, position, stop
            position = _skip(text, stop)
            if text[position : position + 1] != ",":
                break
            position = _skip(text, position + 1)
    if text[position : position + 1] != close:
        raise json.JSONDecodeError(f"Expecting ',' or {close!r}", text, position)
    if (end := _skip(text, position + 1)) != len(text):
        raise json.JSONDecodeError("Extra data", text, end)


def _key(text: str, at: int) -> tuple[str, int]:
    if text[at : at + 1] != '"':
        raise json.JSONDecodeError("Expecting property name enclosed in double quotes", text, at)
    key, at = scanstring(text, at + 1, True)
    at = _skip(text, at)
    if text[at : at + 1] != ":":
        raise json.JSONDecodeError("Expecting ':' delimiter", text, at)
    return key, _skip(text, at + 1)


def _skip(text: str, at: int) -> int:
    match = _space.match(text, at)
    return match.end() if match else at
