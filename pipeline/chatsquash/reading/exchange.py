"""The exchange in a line: its request as raw members, its reply, its time and its session.

``msgspec`` skips over what nobody reads several times faster than any parser makes objects of it.  Where it refuses a
line (NaN and lone surrogates among other things), ``json``'s own scanner splits it the same way, so that a line is
JSON exactly when Python's ``json`` accepts it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from functools import cache, lru_cache
from operator import attrgetter
from types import SimpleNamespace
from typing import Any

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import asdict

from chatsquash.core import jsonio
from chatsquash.core.model import Message, Response
from chatsquash.formats import PLAIN, get_format
from chatsquash.formats.base import Format
from chatsquash.reading import envelopes, replies, scan
from chatsquash.reading.members import MARK, NOTHING, NUL, REFUSED, kind

_ID_STARTS = tuple(bytes([digit]) for digit in b'"-0123456789')


class LineError(Exception):
    """A line that cannot be an entry: the code of the finding, and why."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


_MISSING = Raw()
REQUEST = "request"
LIMITS = (
    *("max_tokens", "max_completion_tokens", "max_output_tokens"),
    *("generationConfig", "generation_config", "options"),
)
"""The members of a request that say how many tokens a reply may have, or hold what does."""
OUTPUT_FORMATS = "response_format", "text"
"""Those that hold the schema of a reply, in Chat Completions and Responses."""


class _OuterMembers(Struct, gc=False):
    """What stands beside the request of a line in the envelope that is read; no other place names these members."""

    response: Raw = Raw()
    status: Raw = Raw()
    timestamp: Raw = Raw()
    session_id: Raw = Raw()
    truncated_by_logger: Raw = Raw()


BESIDE = _OuterMembers.__struct_fields__


class Exchange(Struct, frozen=True, gc=False):
    """One request and its response, whatever envelope they came in."""

    request: Mapping[str, Raw | bytes]
    """The raw members of the request's body."""
    turns: bytes
    """The raw list of turns, unless they were parsed with the line."""
    timestamp: bytes
    session_id: str | None
    reply: Response
    tools: list[bytes] | None = None
    """The raw elements of the tools, where they were split with the line."""
    line: Any = None
    """The line as it was split."""

    @property
    def cut(self) -> str | None:
        """What of it the logger cut, in words, as its envelope tells it."""
        raw = bytes(self.line.truncated_by_logger) if self.line is not None else NOTHING
        return str(jsonio.loads(raw)) if raw[:1] == b'"' else None

    def first(self, names: tuple[str, ...]) -> bytes:
        """The first of these members of the request that is there and not null, else the first that is null."""
        null = NOTHING
        for name in names:
            raw = bytes(self.request[name]) if name in self.request else NOTHING
            if raw and raw != b"null":
                return raw
            null = null or raw
        return null


@cache
def claims(folders: tuple[str, ...]) -> list[str]:
    """The members that envelopes in these folders need, and the one that is read has not."""
    del folders
    needed = {name for each in envelopes.envelopes() for names in each.NEEDS for name in names}
    return sorted(needed.difference(BESIDE, (REQUEST,)))


def raw_members(line: bytes | bytearray) -> Any:
    """The raw members of a line and of its request; raises ``REFUSED`` for what only Python's ``json`` may accept."""
    return _decoder(None, tuple(envelopes.__path__)).decode(line)


def is_claimed(members: Any) -> bool:
    """Whether a line has a member that only another envelope needs."""
    values = _claimed_members(tuple(envelopes.__path__))(members)
    return values.count(_MISSING) < len(values)


@cache
def _claimed_members(folders: tuple[str, ...]) -> Callable[[Any], tuple[Raw, ...]]:
    """Gets the members of a line that only other envelopes need."""
    return attrgetter(*map(_field, range(len(claims(folders)))))


def _field(at: int) -> str:
    """What holds a member whose name may be none of Python's."""
    return f"claim{at}"


@cache
def _decoder(name: str | None, folders: tuple[str, ...]) -> msgspec.json.Decoder[Any]:
    """What splits lines; of a format, if one is named, it parses the turns and leaves all else that is read raw."""
    names = {_field(at): claimed for at, claimed in enumerate(claims(folders))}
    others = [(other, Raw, _MISSING) for other in names]
    fields: list[Any] = [(REQUEST, dict[str, Raw] if name is None else _request(get_format(name))), *others]
    line = msgspec.defstruct("Line", fields, bases=(_OuterMembers,), gc=False, kw_only=True, rename=names)
    return jsonio.decoder(line)


def _request(form: Format) -> type[Struct]:
    others = dict.fromkeys((*form.SYSTEM, *form.REFERS, replies.ASKED, *LIMITS, *OUTPUT_FORMATS))
    tools = ((name, list[Raw] | None, None) for name in form.TOOLS)
    fields: list[Any] = [(form.TURNS, list[Any]), *tools, *((other, Raw, Raw()) for other in others)]
    return msgspec.defstruct("Request", fields, gc=False)


def split(line: bytes | bytearray, form: Format, answers: Format | None = None) -> Exchange:
    """The exchange in a line; raises ``LineError`` for what is none, and ``ValueError`` for a bad reply.

    ``answers`` is the format of the response if that is not the one of the request.
    """
    members: Any
    try:
        members = raw_members(line)
    except REFUSED:
        members = _split_slowly(bytes(line))
    turns = bytes(members.request.get(form.TURNS, NOTHING))
    exchange = _exchange(members, members.request, turns, answers or form)
    first = turns[:1]
    if first == b"[":
        return exchange
    if first in (b'"', b"{") and form.NAME != PLAIN:  # one turn, as some clients may write it
        return msgspec.structs.replace(exchange, turns=b"[%b]" % turns)
    what = "is missing" if turns == NOTHING else f"is {kind(turns)}, not a list"
    raise LineError("bad-entry", f"request.{form.TURNS} {what}")


def parse(
    line: bytes | bytearray, form: Format, answers: Format | None = None
) -> tuple[list[Message], Exchange] | None:
    """The turns of a line as objects, parsed in one go with the rest; ``None`` where ``split`` has to decide."""
    try:
        members = _decoder(form.NAME, tuple(envelopes.__path__)).decode(line)
    except REFUSED:
        return None
    request = asdict(members.request)
    turns = request.pop(form.TURNS)
    tools = [request.pop(name) for name in form.TOOLS]
    first = next((list(map(bytes, each)) for each in tools if each is not None), None)
    return turns, _exchange(members, request, NOTHING, answers or form, first)


def _exchange(
    line: Any, request: Mapping[str, Raw | bytes], turns: bytes, answers: Format, tools: list[bytes] | None = None
) -> Exchange:
    model = bytes(request.get(replies.ASKED, NOTHING))
    reply = replies.reply(bytes(line.response), answers, bytes(line.status), model)
    return Exchange(request, turns, bytes(line.timestamp), session_id(bytes(line.session_id)), reply, tools, line)


def is_blank(line: bytes | bytearray) -> bool:
    """Whether a line has nothing but JSON's white space and NULs, perhaps after a byte order mark."""
    return not line.removeprefix(MARK).strip(b" \t\r\n\0")


@lru_cache(maxsize=16)  # neighbours mostly name the same one
def session_id(raw: bytes) -> str | None:
    """A session's id: a string that is not empty, or the digits of an integer; a number too large for any is none."""
    try:
        value = jsonio.loads(raw) if raw[:1] in _ID_STARTS else None
    except jsonio.NotFiniteError:
        return None
    return str(value) if isinstance(value, (str, int)) and value != "" else None


def _split_slowly(line: bytes) -> SimpleNamespace:
    """The raw members of a line and of its request."""
    try:
        outer = scan.members(line.removeprefix(MARK).lstrip(NUL))
        request = outer.get("request", NOTHING)
        inner = scan.members(request) if request[:1] == b"{" else {}
    except RecursionError:
        raise LineError("bad-line", "nested too deeply") from None
    except json.JSONDecodeError as problem:
        at = f"{problem.msg.removesuffix(' at')} at byte {problem.pos + 1}"
        raise LineError("bad-line", f"no JSON object: {at}") from None
    except ValueError as problem:
        raise LineError("bad-line", f"no JSON object: {type(problem).__name__}") from None
    if request[:1] != b"{":
        what = "is missing" if request == NOTHING else f"is {kind(request)}, not an object"
        raise LineError("bad-entry", f"request {what}")
    beside = {name: outer.get(name, NOTHING) for name in BESIDE}
    claimed = {_field(at): outer.get(name, NOTHING) for at, name in enumerate(claims(tuple(envelopes.__path__)))}
    return SimpleNamespace(request=inner, **beside, **claimed)
