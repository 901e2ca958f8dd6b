"""JSON objects and arrays as raw slices: ``msgspec`` splits them, and ``scan`` where that refuses what is JSON."""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec import Raw

from chatsquash.core import jsonio
from chatsquash.reading import scan

Members = dict[str, bytes]
"""The raw members of an object, those that are there and not null."""

NOTHING = b""
"""The raw slice of a member that is not there."""
REFUSED = (msgspec.MsgspecError, ValueError, RecursionError)
"""What a parser raises; another one decides then."""
MARK = b"\xef\xbb\xbf"
"""The byte order mark, which some editors put before a text."""
NUL = b"\0"
"""What a crash leaves of lines that were not written yet."""

_object = msgspec.json.Decoder(dict[str, Raw])
_array = msgspec.json.Decoder(list[Raw])


def members(raw: bytes) -> Members | None:
    """The members of an object; ``None`` for what is no JSON object."""
    decoded: dict[str, Any]
    try:
        decoded = _object.decode(raw)
    except REFUSED:
        try:
            decoded = scan.members(raw.removeprefix(MARK).lstrip(NUL))
        except (ValueError, RecursionError):
            return None
    return {name: bytes(value) for name, value in decoded.items() if bytes(value) != b"null"}


def within(raw: bytes | None) -> Members:
    """The members of an object in an object; none of anything else."""
    return (members(raw) or {}) if raw and raw[:1] == b"{" else {}


def first_present(line: Members, names: tuple[str, ...]) -> bytes | None:
    """The first of these members that is there and not empty."""
    return next((line[name] for name in names if name in line and line[name] not in (b'""', b"{}")), None)


def present(**parts: bytes | None) -> Members:
    """Those of these members that are there."""
    return {name: raw for name, raw in parts.items() if raw is not None}


def join_members(parts: Members) -> bytes:
    """The object that has these members."""
    return b"{%b}" % b",".join(b'"%b":%b' % (name.encode(), raw) for name, raw in parts.items())


def unquoted(raw: bytes | None) -> bytes | None:
    """JSON that is logged as text, as JSON; anything else as it is."""
    if raw is None or raw[:1] != b'"':
        return raw
    try:
        text = jsonio.loads(raw).encode("utf-8", "surrogatepass")
        jsonio.loads(text)
    except (ValueError, RecursionError):
        return raw
    return bytes(text)


def elements(raw: bytes) -> list[bytes]:
    """The raw elements of an array."""
    try:
        return list(map(bytes, _array.decode(raw)))
    except REFUSED:
        return scan.elements(raw)


def kind(raw: bytes) -> str:
    """The JSON type of a raw value, in words."""
    first = raw[:1]
    names = {b"{": "an object", b"[": "a list", b'"': "a string", b"t": "a boolean", b"f": "a boolean", b"n": "null"}
    return names.get(first, "a number")
