"""The exchange in a line: its request as raw members, its reply, its time and its session id.

``msgspec`` skips unused members several times faster than any parser can build objects from them. Lines that it rejects
(with NaN or lone surrogates, among others) are split by the scanner of ``json``, so that a line is valid exactly if
Python's ``json`` accepts it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from functools import cache, lru_cache
from operator import itemgetter
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Literal

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import asdict

from chatsquash.core import jsonio
from chatsquash.core.lazy import LazyModule
from chatsquash.core.model import Message, Response
from chatsquash.formats import PLAIN, get_format
from chatsquash.formats.base import Format
from chatsquash.reading import envelopes, replies
from chatsquash.reading.members import BYTE_ORDER_MARK, NOTHING, NUL, PARSE_ERRORS, kind

if TYPE_CHECKING:
    from chatsquash.reading import scan
else:
    scan = LazyModule("chatsquash.reading.scan")

_ID_STARTS = tuple(bytes([digit]) for digit in b'"-0123456789')


class LineError(Exception):
    """A line has no entry. The error contains the code of the finding and the reason."""

    def __init__(self, code: str, reason: str) -> None:
        super().__init__(reason)
        self.code, self.reason = code, reason


REQUEST = "request"
LIMITS = (
    *("max_tokens", "max_completion_tokens", "max_output_tokens"),
    *("generationConfig", "generation_config", "options"),
)
"""Request members that limit the number of tokens in a reply, or that contain such a limit."""
OUTPUT_FORMATS = "response_format", "text"
"""Request members that contain the schema of a reply, in Chat Completions and Responses."""


class _OuterMembers(Struct, gc=False):
    """The members next to the request in the standard envelope, the only definition of their names."""

    response: Raw = Raw()
    status: Raw = Raw()
    timestamp: Raw = Raw()
    session_id: Raw = Raw()
    truncated_by_logger: Raw = Raw()


_OUTER_MEMBERS = _OuterMembers.__struct_fields__


class Exchange(Struct, frozen=True, gc=False):
    """One request and its response, whatever the envelope."""

    request: Mapping[str, Raw | bytes]
    """The raw members of the request body."""
    turns: bytes
    """The raw list of turns; empty if they were parsed together with the line."""
    timestamp: bytes
    session_id: str | None
    reply: Response
    tools: list[bytes] | None = None
    """The raw elements of the tools, if they were split together with the line."""
    line: Any = None
    """The line after splitting."""

    @property
    def cut(self) -> str | None:
        """The envelope's description of content truncated by the logger."""
        if self.line is None or not self.line.truncated_by_logger:
            return None
        raw = bytes(self.line.truncated_by_logger)
        return str(jsonio.loads(raw)) if raw[:1] == b'"' else None

    def first(self, names: tuple[str, ...]) -> bytes:
        """Return the first of these request members that is not null, or else the first that is null, or nothing."""
        null, request = NOTHING, self.request
        for name in names:
            if name in request:
                raw = bytes(request[name])
                if raw and raw != b"null":
                    return raw
                null = null or raw
        return null


@cache
def _foreign_members(folders: tuple[str, ...]) -> list[str]:
    """Return the members that other envelopes require and that the standard one does not have."""
    return sorted(envelopes.required_members(folders).difference(_OUTER_MEMBERS, (REQUEST,)))


def standard_members(line: bytes | bytearray) -> Any:
    """Return the raw members of a line and its request if it has no member that only another envelope requires.

    Otherwise, or if only ``json`` may accept the line, ``PARSE_ERRORS`` are raised.
    """
    return _standard_decoder(tuple(envelopes.__path__)).decode(line)


@cache
def _standard_decoder(folders: tuple[str, ...]) -> msgspec.json.Decoder[Any]:
    # No value has this type, so the decoder rejects lines with these members.
    others: list[Any] = [(f"other{at}", Literal[_NO_VALUE], "") for at, _ in enumerate(_foreign_members(folders))]
    return _decoder(
        dict[str, Raw], others, dict(zip(map(itemgetter(0), others), _foreign_members(folders), strict=True))
    )


@cache
def _parser(name: str) -> msgspec.json.Decoder[Any]:
    """Return a decoder that parses the turns of a format, and leaves other used members raw."""
    return _decoder(_request(get_format(name)))


def _decoder(
    request: Any, others: list[Any] | None = None, names: dict[str, str] | None = None
) -> msgspec.json.Decoder[Any]:
    """Return a decoder that splits lines; ``names`` are the names of ``others`` in lines."""
    fields: list[Any] = [(REQUEST, request), *(others or ())]
    line = msgspec.defstruct("Line", fields, bases=(_OuterMembers,), gc=False, kw_only=True, rename=names)
    return jsonio.decoder(line)


_NO_VALUE = os.urandom(16).hex()


@cache
def _splitter() -> msgspec.json.Decoder[Any]:
    return _decoder(dict[str, Raw])


def _request(form: Format) -> type[Struct]:
    others = dict.fromkeys((*form.SYSTEM, *form.REFERS, replies.REQUESTED_MODEL, *LIMITS, *OUTPUT_FORMATS))
    tools = ((name, list[Raw] | None, None) for name in form.TOOLS)
    fields: list[Any] = [(form.TURNS, list[Any]), *tools, *((other, Raw, Raw()) for other in others)]
    return msgspec.defstruct("Request", fields, gc=False)


def split(line: bytes | bytearray, form: Format, answers: Format | None = None) -> Exchange:
    """Return the exchange in a line.

    Args:
        line: The bytes of the line.
        form: The format of the request.
        answers: The format of the response, if it differs.

    Raises:
        LineError: The line is not an exchange.
        ValueError: The response cannot be parsed.
    """
    members: Any
    try:
        members = _splitter().decode(line)
    except PARSE_ERRORS:
        members = _split_slowly(bytes(line))
    return exchange_of(members, form, answers)


def exchange_of(members: Any, form: Format, answers: Format | None = None, reply: Response | None = None) -> Exchange:
    """Return the exchange in the raw members of a line; raise the same errors as ``split``.

    ``reply`` is the reply if it was already parsed.
    """
    turns = bytes(members.request.get(form.TURNS, NOTHING))
    exchange = _exchange(members, members.request, turns, reply or _reply(members, members.request, answers or form))
    first = turns[:1]
    if first == b"[":
        return exchange
    # Some clients send a single turn without a list.
    if first in (b'"', b"{") and form.NAME != PLAIN:
        return msgspec.structs.replace(exchange, turns=b"[%b]" % turns)
    what = "is missing" if turns == NOTHING else f"is {kind(turns)}, expected a list"
    raise LineError("bad-entry", f"request.{form.TURNS} {what}")


def parse(
    line: bytes | bytearray, form: Format, answers: Format | None = None
) -> tuple[list[Message], Exchange] | None:
    """Return the turns of a line, parsed with the rest in one pass, or ``None`` if only ``split`` can decide."""
    try:
        members = _parser(form.NAME).decode(line)
    except PARSE_ERRORS:
        return None
    request = asdict(members.request)
    turns = request.pop(form.TURNS)
    tools = [request.pop(name) for name in form.TOOLS]
    first = next((list(map(bytes, each)) for each in tools if each is not None), None)
    return turns, _exchange(members, request, NOTHING, _reply(members, request, answers or form), first)


def _reply(line: Any, request: Mapping[str, Raw | bytes], answers: Format) -> Response:
    model = bytes(request.get(replies.REQUESTED_MODEL, NOTHING))
    return replies.reply(bytes(line.response), answers, bytes(line.status), model)


def _exchange(
    line: Any, request: Mapping[str, Raw | bytes], turns: bytes, reply: Response, tools: list[bytes] | None = None
) -> Exchange:
    return Exchange(request, turns, bytes(line.timestamp), session_id(bytes(line.session_id)), reply, tools, line)


def is_blank(line: bytes | bytearray) -> bool:
    """Return whether a line contains only JSON white space and NULs, optionally after a byte order mark."""
    return not line.removeprefix(BYTE_ORDER_MARK).strip(b" \t\r\n\0")


@lru_cache(maxsize=16)  # consecutive lines mostly have the same id
def session_id(raw: bytes) -> str | None:
    """Return a session id: a non-empty string or the digits of an integer, or ``None`` for anything else."""
    try:
        value = jsonio.loads(raw) if raw[:1] in _ID_STARTS else None
    except jsonio.NotFiniteError:
        return None
    return str(value) if isinstance(value, (str, int)) and value != "" else None


def _split_slowly(line: bytes) -> SimpleNamespace:
    """Return the raw members of a line and its request, using the scanner of ``json``."""
    try:
        outer = scan.members(line.removeprefix(BYTE_ORDER_MARK).lstrip(NUL))
        request = outer.get("request", NOTHING)
        inner = scan.members(request) if request[:1] == b"{" else {}
    except RecursionError:
        raise LineError("bad-line", "nested too deeply") from None
    except json.JSONDecodeError as problem:
        at = f"{problem.msg.removesuffix(' at')} at byte {problem.pos + 1}"
        raise LineError("bad-line", f"not a JSON object: {at}") from None
    except ValueError as problem:
        raise LineError("bad-line", f"not a JSON object: {type(problem).__name__}") from None
    if request[:1] != b"{":
        what = "is missing" if request == NOTHING else f"is {kind(request)}, expected an object"
        raise LineError("bad-entry", f"request {what}")
    outer_members = {name: outer.get(name, NOTHING) for name in _OUTER_MEMBERS}
    return SimpleNamespace(request=inner, **outer_members)
