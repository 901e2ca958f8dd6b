"""The format and the envelope of lines: what is found in each of them, and what the first ones of a file agree on."""

from __future__ import annotations

from collections import Counter
from typing import Any, BinaryIO, Literal, NamedTuple

import msgspec
from msgspec import Raw, Struct

from chatsquash.core import footprint, jsonio
from chatsquash.core.model import Json, LogHead
from chatsquash.formats import (
    PLAIN,
    PLAIN_RANK,
    Recognised,
    get_format,
    recognise,
    recognise_file,
    recognise_request,
    recognise_response,
)
from chatsquash.formats.providers.openai_chat import TURNS, foreign
from chatsquash.formats.providers.openai_chat.members import RESPONSE
from chatsquash.reading import envelopes, replies
from chatsquash.reading.appearance import of_lines
from chatsquash.reading.endpoints import other_endpoint
from chatsquash.reading.envelopes import Envelope
from chatsquash.reading.exchange import LineError, is_blank, is_claimed, raw_members, split
from chatsquash.reading.members import NOTHING, REFUSED
from chatsquash.sources.beginnings import read_from_start
from chatsquash.sources.lines import LONGEST

_ANSWERED = 4
"""The rank up to which evidence stands in the response."""
_BEYOND_DOUBT = 6
"""The rank up to which evidence stands beside the messages, not in them."""
AGREEING = 5
"""Lines that decide where they agree."""
_GLANCE = 1 << 16
"""Bytes in which these are looked for; the first one is looked at in any case."""
_LINES, _NEAR, _BYTES = 50, 1 << 19, 4 << 20
"""How much of a file is looked at where its first line does not tell."""


class Shape(NamedTuple):
    """How the lines of a log are read."""

    request: str = PLAIN
    """The format of requests."""
    response: str = PLAIN
    """That of responses."""
    envelope: Envelope = envelopes.PLAIN
    forced: bool = False
    """Whether the user named the format."""
    is_mixed: bool = False
    """Whether requests of plain chat have content of other formats, which is rewritten message by message."""

    @classmethod
    def of(cls, name: str, envelope: Envelope = envelopes.PLAIN, *, forced: bool = False) -> Shape:
        """The shape of lines with the same format on both sides."""
        return cls(name, name, envelope, forced)


class _Evidence(NamedTuple):
    """What one line shows."""

    shape: Shape
    """How it is read; each side of the exchange is of the format that it shows itself."""
    exchange: Recognised
    """The strongest evidence on either side."""


class _RawChoice(Struct, gc=False):
    message: dict[str, Raw]


def _answer_decoder(choice: type[Struct], members: dict[str, Any]) -> msgspec.json.Decoder[Any]:
    """A decoder of chat responses that accepts no member that chat does not have."""
    types = {**dict.fromkeys(RESPONSE, Raw), **members}
    others = [(name, kind, Raw()) for name, kind in types.items() if name not in ("choices", "object")]
    fields: list[Any] = [("choices", list[choice]), ("object", Literal["chat.completion"], "chat.completion"), *others]  # type: ignore[valid-type]
    return jsonio.decoder(msgspec.defstruct("Answer", fields, forbid_unknown_fields=True, gc=False))


_answer = _answer_decoder(replies.Choice, dict.fromkeys(("id", "model", "usage"), Any))
"""Parses of a response what is read of it."""
_raw_answer = _answer_decoder(_RawChoice, {})
_line = msgspec.json.Decoder(dict[str, Raw])


def is_chat(line: bytes | bytearray) -> bool:
    """Whether a line is a chat exchange and nothing else, which is decided without considering other formats.

    It has no member that another envelope needs, and its response none that chat does not have.
    """
    try:
        members = raw_members(line)
        is_read, choices = _choices(members.response)
    except REFUSED:
        return False
    if is_claimed(members) or not choices or bytes(members.request.get(TURNS, NOTHING))[:1] != b"[":
        return False
    if not members.request.keys().isdisjoint(foreign.SYSTEM) or b'"input_schema"' in bytes(
        members.request.get("tools", NOTHING)
    ):
        return False
    if is_read and not bytes(members.status) and type(choices[0].message.get("role")) is str:
        return True
    try:
        split(line, get_format(PLAIN))
    except (LineError, ValueError):
        return False
    return True


def _choices(response: Raw) -> tuple[bool, list[Any]]:
    """Whether what is read of a response can be parsed, and its choices; raises ``REFUSED`` for what is not chat."""
    try:
        return True, _answer.decode(response).choices
    except REFUSED:
        return False, _raw_answer.decode(response).choices


def shape_of(line: bytes) -> Shape | None:
    """The shape that one line has beyond doubt: by its response, or by a member that no other format has."""
    evidence = _evidence(line)
    if evidence is None:
        return None
    shape, exchange = evidence
    is_certain = exchange.rank <= _BEYOND_DOUBT or shape.is_mixed or shape.request != shape.response
    return shape if exchange.name and is_certain else None


def look(file: BinaryIO, forced: str | None = None, memory: int = footprint.MOST) -> tuple[Shape, LogHead]:
    """What the first lines of a file tell; it stands where it stood before.

    A few decide where their responses tell the same; else most of many decide.  Lines whose parsed form would take more
    ``memory`` tell nothing.
    """
    data = beginning(file, _GLANCE)
    quick = [_evidence(line) for line in _lines(data, memory)[:AGREEING]]
    first = quick[0] if quick else None
    envelope = first.shape.envelope if first else envelopes.PLAIN
    if forced:
        is_mixed = forced == PLAIN and any(each is not None and each.shape.is_mixed for each in quick)
        shape = Shape.of(forced, envelope, forced=True)._replace(is_mixed=is_mixed)
        return shape, LogHead(forced, envelope.NAME, f"{forced}, as --from says")
    is_clear = first is not None and first.exchange.name is not None and first.exchange.rank <= _ANSWERED
    if first and is_clear and not any(_tells_other(each, first) for each in quick):
        return first.shape, _head(first.shape, f"{first.exchange.name} ({first.exchange.why})")
    return _of_most(_first_lines(file, data, memory))


def _head(shape: Shape, why: str) -> LogHead:
    """What reports show of a shape, by the format of requests."""
    if shape.request != shape.response:
        why = f"requests of {shape.request}, responses of {shape.response}; {why}"
    return LogHead(shape.request, shape.envelope.NAME, why)


def _of_most(lines: list[bytes]) -> tuple[Shape, LogHead]:
    """What most of many lines tell, or what was seen instead."""
    count, first = len(lines), lines[:_LINES]
    asides = list(map(_is_aside, lines))
    if count and all(asides):
        envelope = envelopes.recognise(first[0]) or envelopes.PLAIN
        return Shape(envelope=envelope), LogHead(None, envelope.NAME, "")
    lines = [line for line, is_aside in zip(lines, asides, strict=True) if not is_aside]
    seen = [each for each in map(_evidence, lines) if each]
    exchanges = [each.exchange for each in seen]
    envelope = seen[0].shape.envelope if seen else envelopes.PLAIN
    whole = recognise_file(exchanges)
    if whole.name:
        shape = _usual([each.shape for each in seen if each.exchange.name == whole.name])
        return shape, _head(shape, whole.why)
    instead = of_lines(first, list(map(_value, lines))) if len(lines) == count else None
    why = instead or (whole.why if seen else "")
    # Requests and responses all of which are of nothing known, such as counts of tokens, are no chat either.
    unknown = 0 < len(seen) == len(lines)
    return Shape(envelope=envelope), LogHead(None, envelope.NAME, why, conflict=whole.is_mixed or unknown)


def _is_aside(line: bytes) -> bool:
    """Whether a line is a call of another endpoint, or no exchange as its envelope tells."""
    envelope = envelopes.recognise(line) or envelopes.PLAIN
    return bool(other_endpoint(line, envelope) or envelopes.aside(line, envelope))


def _usual(shapes: list[Shape]) -> Shape:
    """The shape of most lines; if one request of plain chat has content of other formats, all are searched for it."""
    votes = Counter(shape._replace(is_mixed=False) for shape in shapes)
    usual = max(votes, key=lambda shape: votes[shape])
    return usual._replace(is_mixed=any(shape.is_mixed for shape in shapes if shape.request == usual.request))


def _tells_other(line: _Evidence | None, first: _Evidence) -> bool:
    """Whether a line has evidence that it is not of the first one's format."""
    if line is None:
        return False
    is_other = line.exchange.name != first.exchange.name or line.shape != first.shape
    return is_other and line.exchange.rank < PLAIN_RANK


def first_lines(file: BinaryIO, most: int, memory: int = footprint.MOST) -> list[bytes]:
    """The lines that are not blank in so many bytes, the very first one whole; the file stands as before."""
    return _lines(beginning(file, most), memory)


def _first_lines(file: BinaryIO, glanced: bytes, memory: int) -> list[bytes]:
    """The lines that are looked at where the first one does not tell; of a file with short ones little is read."""
    if len(glanced) >= _BYTES:
        return _lines(glanced, memory)
    for data in (glanced, beginning(file, _NEAR)):
        lines = _lines(data, memory)
        if len(lines) == _LINES and len(data) < _BYTES and not data.endswith(lines[-1]):
            return lines
    return _lines(beginning(file, _BYTES), memory)


def beginning(file: BinaryIO, most: int) -> bytes:
    """So many bytes of a file, or all of its first line where that has more; the file stands as before."""
    place = file.tell()
    pieces = [read_from_start(file, most, lambda file, size: file.read(size))]
    size = len(pieces[0])
    while b"\n" not in pieces[-1] and size < LONGEST and (more := file.read(_BYTES)):
        pieces.append(more)
        size += len(more)
    file.seek(place)
    return b"".join(pieces)


def _lines(data: bytes, memory: int) -> list[bytes]:
    """The first lines that are not blank; nothing stands for one whose parsed form would take too much memory."""
    lines: list[bytes] = []
    at = 0
    while at < len(data) and len(lines) < _LINES:
        stop = data.find(b"\n", at)
        stop = len(data) if stop < 0 else stop
        if not is_blank(line := data[at:stop]):
            lines.append(b"" if footprint.exceeds(line, memory) else line)
        at = stop + 1
    return lines


def _evidence(line: bytes) -> _Evidence | None:
    """How a line is wrapped, and the format of each side; ``None`` for a truncated line or one without an exchange."""
    if not line.rstrip().endswith(b"}"):
        return None
    envelope = envelopes.recognise(line)
    unwrapped = envelopes.unwrap(line, envelope) if envelope else b""
    exchange = _value(unwrapped)
    if envelope and not isinstance(exchange, dict):
        exchange = _sides(unwrapped)
    if envelope is None or not isinstance(exchange, dict):
        return None
    request = exchange.get("request")
    request = request if isinstance(request, dict) else None
    response = replies.unwrapped(exchange.get("response"))
    streamed = replies.events(response)
    body, events = (response, None) if streamed is None else (None, streamed[0])
    strongest = recognise(request, body, events)
    return _Evidence(_shape(request, recognise_response(body, events), envelope), strongest)


def _sides(line: bytes) -> Json:
    """A request and a response of which only one can be parsed, since the other has what JSON has not."""
    try:
        raw = _line.decode(line)
        str(line, "utf-8")
    except REFUSED:
        return None
    return {name: _value(bytes(value)) for name, value in raw.items() if name in ("request", "response")}


def _shape(request: dict[str, Any] | None, answered: Recognised, envelope: Envelope) -> Shape:
    """How a line is read: its request in the format of its response, unless the request shows another one."""
    answer = answered.name if answered.rank <= _ANSWERED else None
    if answer and _is_of(request, answer):
        return Shape.of(answer, envelope)
    asked = recognise_request(request).name
    if asked and _is_of(request, asked):
        return Shape(asked, answer or asked, envelope)
    has_turns = request is not None and isinstance(request.get(TURNS), list)
    name = PLAIN if has_turns else asked or answered.name or PLAIN
    is_mixed = name == PLAIN and request is not None and foreign.has_foreign(request)
    return Shape(name, answer or name, envelope, is_mixed=is_mixed)


def _is_of(request: dict[str, Any] | None, name: str) -> bool:
    """Whether a request may be of a format."""
    form = get_format(name)
    return request is not None and form.TURNS in request and form.accepts(request)


def _value(raw: bytes) -> Json:
    try:
        return jsonio.loads(raw)
    except (ValueError, RecursionError):
        return None
