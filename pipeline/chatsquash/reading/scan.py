"""JSON split into raw members by ``json``'s own scanner, which is slow, and decides what is JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from json.decoder import scanstring  # type: ignore[attr-defined]

_space = re.compile(r"[ \t\n\r]*")
# What is skipped is not judged, so numbers of any size pass.
_scan = json.JSONDecoder(parse_int=str, parse_float=str).raw_decode


def members(raw: bytes) -> dict[str, bytes]:
    """The raw members of a JSON object, the last of equal keys, as ``json`` splits them."""
    text = raw.decode("latin-1")  # a character a byte, and no byte of JSON's own syntax changes
    return {key: text[start:stop].encode("latin-1") for key, start, stop in _walk(text, "{")}


def elements(raw: bytes) -> list[bytes]:
    """The raw elements of a JSON array, as ``json`` splits them."""
    text = raw.decode("latin-1")
    return [text[start:stop].encode("latin-1") for _, start, stop in _walk(text, "[")]


def _walk(text: str, bracket: str) -> Iterator[tuple[str, int, int]]:
    """Key, start and stop of each value in an object or (with empty keys) an array that fills the whole text."""
    at = _skip(text, 0)
    if text[at : at + 1] != bracket:
        raise json.JSONDecodeError(f"Expecting {bracket!r}", text, at)
    close = "}" if bracket == "{" else "]"
    at = _skip(text, at + 1)
    if text[at : at + 1] != close:
        while True:
            key = ""
            if bracket == "{":
                key, at = _key(text, at)
            _, stop = _scan(text, at)
            yield key, at, stop
            at = _skip(text, stop)
            if text[at : at + 1] != ",":
                break
            at = _skip(text, at + 1)
    if text[at : at + 1] != close:
        raise json.JSONDecodeError(f"Expecting ',' or {close!r}", text, at)
    if (end := _skip(text, at + 1)) != len(text):
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
