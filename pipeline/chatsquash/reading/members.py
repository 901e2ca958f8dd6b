"""JSON objects and arrays as raw slices, split by ``msgspec``, or by ``scan`` if ``msgspec`` rejects valid JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Raw

from chatsquash.core import jsonio
from chatsquash.core.lazy import LazyModule
from chatsquash.core.model import Json

if TYPE_CHECKING:
    from chatsquash.reading import scan
else:
    scan = LazyModule("chatsquash.reading.scan")

Members = dict[str, bytes]
"""The raw members of an object that are not null."""

NOTHING = b""
"""The raw slice of a missing member."""
PARSE_ERRORS = (msgspec.MsgspecError, ValueError, RecursionError)
"""Errors of a fast parser, after which a slower one decides."""
BYTE_ORDER_MARK = b"\xef\xbb\xbf"
"""The byte order mark that some editors write at the beginning of a file."""
NUL = b"\0"
"""The filler in place of lines that were not yet written when the system crashed."""

_EMPTY = (b'""', b"{}")

_object = msgspec.json.Decoder(dict[str, Raw])
_array = msgspec.json.Decoder(list[Raw])


def members(raw: bytes) -> Members | None:
    """Return the members of an object, or ``None`` for anything that is not a JSON object."""
    decoded: dict[str, Any]
    try:
        decoded = _object.decode(raw)
    except PARSE_ERRORS:
        try:
            decoded = scan.members(raw.removeprefix(BYTE_ORDER_MARK).lstrip(NUL))
        except (ValueError, RecursionError):
            return None
    return {name: raw for name, value in decoded.items() if (raw := bytes(value)) != b"null"}


def object_members(raw: bytes | None) -> Members:
    """Return the members of a nested object, or an empty object for anything else."""
    return (members(raw) or {}) if raw and raw[:1] == b"{" else {}


def first_present(line: Members, names: tuple[str, ...]) -> bytes | None:
    """Return the first of these members that is present and not empty."""
    for name in names:
        if name in line and line[name] not in _EMPTY:
            return line[name]
    return None


def present(**parts: bytes | None) -> Members:
    """Return the members that are not ``None``."""
    return {name: raw for name, raw in parts.items() if raw is not None}


def join_members(parts: Members) -> bytes:
    """Return the object with these members."""
    return b"{%b}" % b",".join([b'"%b":%b' % (name.encode(), raw) for name, raw in parts.items()])


def unquoted(raw: bytes | None) -> bytes | None:
    """Return JSON that was logged as a string; anything else is returned unchanged."""
    if raw is None or raw[:1] != b'"':
        return raw
    try:
        text = jsonio.loads(raw).encode("utf-8", "surrogatepass")
        jsonio.loads(text)
    except (ValueError, RecursionError):
        return raw
    return bytes(text)


def unquoted_value(raw: bytes | None) -> Json:
    """Parse a member, once even if it was logged as a string with JSON; return ``None`` for an invalid or missing one.

    The result is that of ``jsonio.value`` for what ``unquoted`` returns.
    """
    if raw is None or raw[:1] != b'"':
        return jsonio.value(raw or b"null")
    try:
        text = jsonio.loads(raw)
    except (ValueError, RecursionError):
        return None
    try:
        return jsonio.loads(text.encode("utf-8", "surrogatepass"))
    except (ValueError, RecursionError):
        return text


def elements(raw: bytes) -> list[bytes]:
    """Return the raw elements of an array."""
    try:
        return list(map(bytes, _array.decode(raw)))
    except PARSE_ERRORS:
        return scan.elements(raw)


def kind(raw: bytes) -> str:
    """Return the JSON type of a raw value in words."""
    first = raw[:1]
    names = {b"{": "an object", b"[": "a list", b'"': "a string", b"t": "a boolean", b"f": "a boolean", b"n": "null"}
    return names.get(first, "a number")
