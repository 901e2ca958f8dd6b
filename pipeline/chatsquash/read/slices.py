"""A line as raw slices of JSON, not yet parsed: its request's turns, system prompt and tools, its response, its time.

``msgspec`` skips over what nobody reads several times faster than any parser makes objects of it.  Where it refuses a
line (NaN and lone surrogates among other things), ``json``'s own scanner splits it the same way, so that a line is
JSON exactly when Python's ``json`` accepts it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import cache, cached_property
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import astuple, replace

from chatsquash import jsonio
from chatsquash.formats import PLAIN, named
from chatsquash.formats.base import Format
from chatsquash.model import Message, Reply
from chatsquash.read import replies, scan
from chatsquash.read.replies import Chat, of_chat
from chatsquash.read.scan import members

NOTHING = b""
"""The raw slice of a member that is not there."""


Spelled = bytes | list[bytes]
"""A raw list, or its raw elements, where a line was parsed in one go."""


class LineError(Exception):
    """A line that cannot be an entry: the code of the finding, and why."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


class Slices(Struct, frozen=True, gc=False):
    """A line's members of interest, the large ones as raw JSON."""

    turns: bytes
    tools: Spelled
    timestamp: bytes
    session_id: str | None
    reply: Reply
    system: bytes = NOTHING
    refers: bytes = NOTHING
    """What refers to turns that are kept elsewhere, such as ``previous_response_id``."""


_BOM = b"\xef\xbb\xbf"
_ID_STARTS = tuple(bytes([digit]) for digit in b'"-0123456789')
_REFUSED = (msgspec.MsgspecError, ValueError, RecursionError)
_OUTER = ("timestamp", "session_id", "response", "status")
_array = msgspec.json.Decoder(list[Raw])


def _first(found: tuple[Any, ...]) -> bytes:
    """The first member that is there and not null, else the first one that is null."""
    null = NOTHING
    for each in found:
        raw = bytes(each)
        if raw and raw != b"null":
            return raw
        null = null or raw
    return null


def _split(found: tuple[list[Raw] | None, ...]) -> Spelled:
    """The elements of the first member that is there and not null."""
    return next((list(map(bytes, each)) for each in found if each is not None), NOTHING)


class Slicer:
    """Splits the lines of one format."""

    def __init__(self, form: Format) -> None:
        self.form = form
        self.key = b'"%b"' % form.TURNS.encode()
        self._names = (form.TURNS, *form.SYSTEM, *form.TOOLS, *form.REFERS)
        tools = 1 + len(form.SYSTEM)
        refers = tools + len(form.TOOLS)
        self._places = slice(1, tools), slice(tools, refers), slice(refers, None)
        self._fields = [f"m{number}" for number in range(len(self._names))]
        request = self.request(Raw)
        self._line = decoder(request, response=Chat | None if form.NAME == PLAIN else Raw)
        self._odd_line = decoder(request, session_id=Raw)

    @cached_property
    def _whole_line(self) -> msgspec.json.Decoder[Any]:
        return self._whole(dict[str, Any])

    @cached_property
    def _flat_line(self) -> msgspec.json.Decoder[Any]:
        values: Any = jsonio.flat(jsonio.FLAT - 1)
        return self._whole(dict[str, values])

    def _whole(self, turn: Any) -> msgspec.json.Decoder[Any]:
        return decoder(self.request(list[turn], list[Raw] | None))

    def request(self, turns: Any, tools: Any = Raw, **more: Any) -> Any:
        """The type of a request with turns and tools of these types, its other members raw; those more must not be."""
        first, *others = self._fields
        fields: list[Any] = [(first, turns, Raw()) if turns is Raw else (first, turns)]
        kinds = dict.fromkeys(self._fields[self._places[1]], tools)
        fields += ((name, kinds.get(name, Raw), None if kinds.get(name, Raw) is not Raw else Raw()) for name in others)
        rename = dict(zip(self._fields, self._names, strict=True))
        absent = [(name, kind, Raw()) for name, kind in more.items()]
        return msgspec.defstruct("Request", [*fields, *absent], rename=rename, gc=False)

    def split(self, line: bytes | bytearray) -> Slices:
        """The members of a line; raises ``LineError`` for what is no entry, and ``ValueError`` for a bad reply."""
        found = self._split_quickly(line) or self._split_odd(bytes(line))
        first = found.turns[:1]
        if first == b"[":
            return found
        if first in (b'"', b"{") and self.form.NAME != PLAIN:  # one turn, as some clients may write it
            return replace(found, turns=b"[%b]" % found.turns)
        what = "is missing" if found.turns == NOTHING else f"is {kind(found.turns)}, not a list"
        raise LineError("bad-entry", f"request.{self.form.TURNS} {what}")

    def parse(self, line: bytes | bytearray) -> tuple[list[Message], Slices] | None:
        """The turns of a line as objects, and its other members; ``None`` where ``split`` has to decide."""
        return self._parse(line, self._whole_line)

    def parse_flat(self, line: bytes | bytearray) -> tuple[list[Message], Slices] | None:
        """The same where each turn has at most ``jsonio.FLAT`` levels; ``None`` where ``parse`` has to decide."""
        return self._parse(line, self._flat_line)

    def _parse(self, line: bytes | bytearray, way: msgspec.json.Decoder[Any]) -> tuple[list[Message], Slices] | None:
        try:
            parsed = way.decode(line)
        except _REFUSED:
            return None
        turns, *others = astuple(parsed.request)
        return turns, self._slices((NOTHING, *others), parsed, _id(parsed.session_id), self._reply(parsed), _split)

    def _split_quickly(self, line: bytes | bytearray) -> Slices | None:
        """The members of a line as nearly all are, the reply parsed in the same go; ``None`` for any other."""
        try:
            parsed = self._line.decode(line)
        except _REFUSED:
            return None
        reply = of_chat(parsed.response, bytes(parsed.status)) if self.form.NAME == PLAIN else self._reply(parsed)
        return self._slices(astuple(parsed.request), parsed, _id(parsed.session_id), reply) if reply else None

    def _split_odd(self, line: bytes) -> Slices:
        try:
            parsed = self._odd_line.decode(line)
            inner = astuple(parsed.request)
        except _REFUSED:
            outer, within = _split_slowly(line)
            parsed = _Outer(**{name: outer[name] for name in _OUTER if name in outer})
            inner = tuple(within.get(name, NOTHING) for name in self._names)
        return self._slices(inner, parsed, _raw_id(bytes(parsed.session_id)), self._reply(parsed))

    def _slices(
        self,
        inner: tuple[Any, ...],
        outer: Any,
        session_id: str | None,
        reply: Reply,
        listed: Callable[[Any], Spelled] = _first,
    ) -> Slices:
        system, tools, refers = self._places
        found = bytes(inner[0]), listed(inner[tools]), bytes(outer.timestamp), session_id, reply
        if self.form.NAME == PLAIN:  # which has no other members
            return Slices(*found)
        return Slices(*found, _first(inner[system]), _first(inner[refers]))

    def _reply(self, outer: Any) -> Reply:
        return replies.reply(bytes(outer.response), self.form, bytes(outer.status))


class _Outer(NamedTuple):
    """What stands beside the request, where a line had to be split slowly."""

    timestamp: bytes = NOTHING
    session_id: bytes = NOTHING
    response: bytes = NOTHING
    status: bytes = NOTHING


@cache
def slicer(name: str = PLAIN) -> Slicer:
    """What splits lines of the format with a name."""
    return Slicer(named(name))


def decoder(
    request: Any, *, session_id: Any = str | int | None, response: Any = Raw, **more: Any
) -> msgspec.json.Decoder[Any]:
    """What splits lines whose members are of these types; those more must not be there."""
    kinds = {"timestamp": Raw, "session_id": session_id, "response": response, "status": Raw}
    members = [(name, kind, Raw() if kind is Raw else None) for name, kind in kinds.items()]
    absent = [(name, kind, Raw()) for name, kind in more.items()]
    return jsonio.decoder(msgspec.defstruct("Line", [("request", request), *members, *absent], gc=False))


def is_blank(line: bytes | bytearray) -> bool:
    """Whether a line holds nothing but JSON's white space, behind a byte order mark or not."""
    return not line.removeprefix(_BOM).strip(b" \t\r\n")


def elements(raw: bytes) -> list[bytes]:
    """The raw elements of a JSON array."""
    try:
        return list(map(bytes, _array.decode(raw)))
    except _REFUSED:
        return scan.elements(raw)


def kind(raw: bytes) -> str:
    """The JSON type of a raw value, in words."""
    first = raw[:1]
    names = {b"{": "an object", b"[": "a list", b'"': "a string", b"t": "a boolean", b"f": "a boolean", b"n": "null"}
    return names.get(first, "a number")


def _id(value: Any) -> str | None:
    """A session id: a string that is not empty, or the digits of an integer."""
    return str(value) if isinstance(value, (str, int)) and value != "" else None


def _raw_id(raw: bytes) -> str | None:
    """The same of a raw value; a number too large for any id is none."""
    try:
        return _id(jsonio.loads(raw) if raw[:1] in _ID_STARTS else None)
    except jsonio.NotFiniteError:
        return None


def _split_slowly(line: bytes) -> tuple[dict[str, bytes], dict[str, bytes]]:
    """The raw members of a line and of its request."""
    try:
        outer = members(line.removeprefix(_BOM))
        request = outer.get("request", NOTHING)
        inner = members(request) if request[:1] == b"{" else {}
    except RecursionError:
        raise LineError("bad-line", "nested too deeply") from None
    except json.JSONDecodeError as problem:
        raise LineError(
            "bad-line", f"no JSON object: {problem.msg.removesuffix(' at')} at byte {problem.pos + 1}"
        ) from None
    except ValueError as problem:
        raise LineError("bad-line", f"no JSON object: {type(problem).__name__}") from None
    if request[:1] != b"{":
        what = "is missing" if request == NOTHING else f"is {kind(request)}, not an object"
        raise LineError("bad-entry", f"request {what}")
    return outer, inner
