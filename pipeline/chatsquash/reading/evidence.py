"""Detect the format and envelope of lines from the evidence in each line and the agreement of a file's first lines."""

from __future__ import annotations

from collections import Counter
from functools import cache
from typing import TYPE_CHECKING, Any, BinaryIO, Literal

import msgspec
from msgspec import Raw, Struct, structs

from chatsquash.core import footprint, jsonio
from chatsquash.core.lazy import LazyModule
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
from chatsquash.formats.base import Format, accept
from chatsquash.formats.providers.openai_chat import TURNS
from chatsquash.formats.providers.openai_chat.members import RESPONSE, SYSTEM, has_foreign
from chatsquash.reading import envelopes, replies
from chatsquash.reading.envelopes import Envelope
from chatsquash.reading.exchange import Exchange, LineError, exchange_of, is_blank, standard_members
from chatsquash.reading.members import NOTHING, PARSE_ERRORS
from chatsquash.sources.beginnings import read_from_start
from chatsquash.sources.lines import LONGEST, Line

if TYPE_CHECKING:
    from chatsquash.reading import appearance, endpoints
else:
    appearance = LazyModule("chatsquash.reading.appearance")
    endpoints = LazyModule("chatsquash.reading.endpoints")

_RESPONSE_RANK = 4
"""The highest rank that evidence in a response can have; lower ranks are stronger."""
_CERTAIN_RANK = 6
"""The highest rank that evidence outside the messages can have."""
AGREEING = 5
"""The number of lines that are decisive if they agree."""
_GLANCE = 1 << 16
"""The number of bytes in which these lines are searched; the first line is examined whatever its length."""
_PIECE = 1 << 18
"""The number of bytes to read at a time if the first line is longer than expected."""
_LINES, _NEAR, _BYTES = 50, 1 << 19, 4 << 20
"""How much of a file is examined if its first lines are inconclusive."""


class Shape(Struct, frozen=True):
    """The formats and the envelope in which the lines of a log are read."""

    request: str = PLAIN
    """The format of requests."""
    response: str = PLAIN
    """The format of responses."""
    envelope: Envelope = envelopes.PLAIN
    forced: bool = False
    """Whether the user specified the format."""
    is_mixed: bool = False
    """Whether plain chat requests contain content of other formats, which is converted message by message."""

    @classmethod
    def of(cls, name: str, envelope: Envelope = envelopes.PLAIN, *, forced: bool = False) -> Shape:
        """Return the shape of lines with the same format on both sides."""
        return cls(name, name, envelope, forced)


class _Evidence(Struct, frozen=True):
    """The evidence in one line."""

    shape: Shape
    """The shape of the line; the two sides of the exchange may have different formats."""
    exchange: Recognised
    """The strongest evidence on either side."""


class _RawChoice(Struct, gc=False):
    message: dict[str, Raw]


def _answer_decoder(choice: type[Struct], base: type[Struct] = Struct) -> msgspec.json.Decoder[Any]:
    """Return a decoder of chat responses that rejects members unknown in chat responses."""
    names = [name for name in RESPONSE if name not in ("choices", "object", *base.__struct_fields__)]
    fields: list[Any] = [
        ("choices", list[choice]),  # type: ignore[valid-type]  # a parameter
        ("object", Literal["chat.completion"], "chat.completion"),
        *((name, Raw, Raw()) for name in names),
    ]
    answer = msgspec.defstruct("Answer", fields, bases=(base,), forbid_unknown_fields=True, gc=False, kw_only=True)
    return jsonio.decoder(answer)


_answer = _answer_decoder(replies.Choice, replies.Chat)
"""Decodes the most frequent kind of these responses."""
PLAIN_CHAT = LogHead(PLAIN, envelopes.PLAIN.NAME, f"{PLAIN} (choices[].message in the response)")
"""The head of a log whose first lines are plain chat with responses, the most frequent case."""
_line = msgspec.json.Decoder(dict[str, Raw])
_SYSTEM = frozenset(SYSTEM)


@cache
def _plain() -> Format:
    return get_format(PLAIN)


# Such a line has no member that another envelope requires, and its response has only members known in chat.
def chat_exchange(line: bytes | bytearray) -> Exchange | None:
    """Return the exchange in a line that is certainly chat, so that other formats need not be considered."""
    try:
        members = standard_members(line)
        request = members.request
        answer = _decode_answer(members.response)
        if not answer.choices or not _SYSTEM.isdisjoint(request):
            return None
        if "tools" in request and b'"input_schema"' in bytes(request["tools"]):
            return None
        reply = None
        if isinstance(answer, replies.Chat) and not members.status:
            model = bytes(request.get(replies.REQUESTED_MODEL, NOTHING))
            reply = replies.of_chat(answer, bytes(members.response), model)
        return exchange_of(members, _plain(), reply=reply)
    except (*PARSE_ERRORS, LineError):
        return None


@cache
def _raw_answer() -> msgspec.json.Decoder[Any]:
    """Return the decoder of all of these responses."""
    return _answer_decoder(_RawChoice)


def are_chat(head: list[Line]) -> bool:
    """Return whether a log's first lines are all certainly plain chat."""
    return all(chat_exchange(line.buffer[line.start : line.stop]) is not None for line in head)


def _decode_answer(raw: Raw) -> Any:
    """Return a response that only chat has; raise ``PARSE_ERRORS`` for any other response."""
    try:
        return _answer.decode(raw)
    except PARSE_ERRORS:
        return _raw_answer().decode(raw)


def shape_of(line: bytes) -> Shape | None:
    """Return the shape of a single line if its response, or a member that no other format has, makes it certain."""
    evidence = _evidence(line)
    if evidence is None:
        return None
    shape, exchange = evidence.shape, evidence.exchange
    is_certain = exchange.rank <= _CERTAIN_RANK or shape.is_mixed or shape.request != shape.response
    return shape if exchange.name and is_certain else None


def detect_shape(file: BinaryIO, forced: str | None = None, memory: int = footprint.MOST) -> tuple[Shape, LogHead]:
    """Detect the shape of a file from its first lines; the file position is preserved.

    The responses of a few lines are decisive if they agree; otherwise the majority of many lines is. Lines that would
    need more than ``memory`` bytes when parsed are ignored. ``describe`` adds the contents of lines of unknown formats.
    """
    data = beginning(file, _GLANCE)
    # The last line is usually truncated, and to search it for members takes longer than the others.
    quick = [_evidence(line) if _may_be_complete(line) else None for line in _lines(data, memory, AGREEING)]
    first = quick[0] if quick else None
    envelope = first.shape.envelope if first else envelopes.PLAIN
    if forced:
        is_mixed = forced == PLAIN and any(each is not None and each.shape.is_mixed for each in quick)
        shape = structs.replace(Shape.of(forced, envelope, forced=True), is_mixed=is_mixed)
        return shape, LogHead(forced, envelope.NAME, f"{forced}, set by --from")
    is_clear = first is not None and first.exchange.name is not None and first.exchange.rank <= _RESPONSE_RANK
    if first and is_clear and not any(_contradicts(each, first) for each in quick):
        return first.shape, _head(first.shape, f"{first.exchange.name} ({first.exchange.why})")
    return _majority_shape(_first_lines(file, data, memory))


def describe(head: LogHead, file: BinaryIO, memory: int) -> LogHead:
    """Return the head of a log with a description of its lines if their format is unknown."""
    if head.format is not None:
        return head
    lines = _first_lines(file, beginning(file, _GLANCE), memory)
    if any(_is_non_exchange(line, envelopes.recognise(line)) for line in lines):
        return head
    fitting = appearance.of_lines(lines, list(map(_value, lines)))
    return structs.replace(head, why=fitting) if fitting else head


def _head(shape: Shape, why: str) -> LogHead:
    """Return the head of a log for reports."""
    if shape.request != shape.response:
        why = f"requests of {shape.request}, responses of {shape.response}; {why}"
    return LogHead(shape.request, shape.envelope.NAME, why)


def _majority_shape(lines: list[bytes]) -> tuple[Shape, LogHead]:
    """Return the shape of most of many lines; if the format is unknown, describe the lines."""
    line_envelopes = list(map(envelopes.recognise, lines))
    if not any(line_envelopes):  # as in documents
        return Shape(), LogHead(None, envelopes.PLAIN.NAME, "")
    both = list(zip(lines, line_envelopes, strict=True))
    exchange_lines = [(line, envelope) for line, envelope in both if not _is_non_exchange(line, envelope)]
    if lines and not exchange_lines:
        envelope = line_envelopes[0] or envelopes.PLAIN
        return Shape(envelope=envelope), LogHead(None, envelope.NAME, "")
    evidence = [each for line, envelope in exchange_lines if (each := _evidence(line, envelope))]
    exchanges = [each.exchange for each in evidence]
    envelope = evidence[0].shape.envelope if evidence else envelopes.PLAIN
    verdict = recognise_file(exchanges)
    if verdict.name:
        shape = _usual([each.shape for each in evidence if each.exchange.name == verdict.name])
        return shape, _head(shape, verdict.why)
    why = verdict.why if evidence else ""
    # If both sides of every line have unknown formats, such as token counts, the file is not chat either.
    unknown = 0 < len(evidence) == len(exchange_lines)
    return Shape(envelope=envelope), LogHead(None, envelope.NAME, why, conflict=verdict.is_mixed or unknown)


def _is_non_exchange(line: bytes, envelope: Envelope | None) -> bool:
    """Return whether a line is a call to another endpoint, or not an exchange according to its envelope."""
    envelope = envelope or envelopes.PLAIN
    return bool(endpoints.other_endpoint(line, envelope) or envelopes.describe_non_exchange(line, envelope))


def _usual(shapes: list[Shape]) -> Shape:
    """Return the most frequent shape, which is mixed if any plain chat request has content of other formats."""
    votes = Counter(structs.replace(shape, is_mixed=False) for shape in shapes)
    usual = max(votes, key=lambda shape: votes[shape])
    is_mixed = any(shape.is_mixed for shape in shapes if shape.request == usual.request)
    return structs.replace(usual, is_mixed=is_mixed)


def _contradicts(line: _Evidence | None, first: _Evidence) -> bool:
    """Return whether a line has evidence of a different format from the first line's."""
    if line is None:
        return False
    is_other = line.exchange.name != first.exchange.name or line.shape != first.shape
    return is_other and line.exchange.rank < PLAIN_RANK


def first_lines(file: BinaryIO, limit: int, memory: int = footprint.MOST, most: int = _LINES) -> list[bytes]:
    """Return the non-blank lines in the first ``limit`` bytes, the first one complete; the position is preserved."""
    return _lines(beginning(file, limit), memory, most)


def _first_lines(file: BinaryIO, glanced: bytes, memory: int) -> list[bytes]:
    """Return the lines to examine if the first one is inconclusive."""
    if len(glanced) >= _BYTES:
        return _lines(glanced, memory)
    data, lines = glanced, _lines(glanced, memory)
    # A file with short lines has enough of them in its first bytes.
    for limit in (_NEAR, _BYTES):
        if len(lines) == _LINES and len(data) < _BYTES and not data.endswith(lines[-1]):
            break
        more = beginning(file, limit)
        if len(more) != len(data):
            data, lines = more, _lines(more, memory)
    return lines


def beginning(file: BinaryIO, limit: int) -> bytes:
    """Return the first ``limit`` bytes, or the complete first line if it is longer; the position is preserved."""
    place = file.tell()
    pieces = [read_from_start(file, limit, lambda file, size: file.read(size))]
    size = len(pieces[0])
    while b"\n" not in pieces[-1] and size < LONGEST and (more := file.read(_PIECE)):
        pieces.append(more)
        size += len(more)
    file.seek(place)
    return b"".join(pieces)


def _lines(data: bytes, memory: int, most: int = _LINES) -> list[bytes]:
    """Return the first non-blank lines; a line whose parsed form would need too much memory is returned empty."""
    lines: list[bytes] = []
    at = 0
    while at < len(data) and len(lines) < most:
        stop = data.find(b"\n", at)
        stop = len(data) if stop < 0 else stop
        if not is_blank(line := data[at:stop]):
            lines.append(b"" if footprint.exceeds(line, memory) else line)
        at = stop + 1
    return lines


def _may_be_complete(line: bytes) -> bool:
    """Return whether a line ends like an object."""
    return line.rstrip().endswith(b"}")


def _evidence(line: bytes, envelope: Envelope | None = None) -> _Evidence | None:
    """Return the shape and evidence of a line, or ``None`` for a truncated line or one without an exchange.

    Args:
        line: The line.
        envelope: Its envelope, if it is known.
    """
    envelope = envelope or envelopes.recognise(line)
    if envelope is None or not _may_be_complete(line):
        return None
    sides = _sides(envelopes.unwrap(line, envelope))
    if sides is None:
        return None
    response = replies.unwrapped(_side(sides, "response"))
    streamed = replies.events(response)
    body, events = (response, None) if streamed is None else (None, streamed[0])
    answer = recognise_response(body, events)
    is_decisive = answer.rank <= _RESPONSE_RANK  # no request has evidence that strong
    # Parsing the request, which has the history, takes most of the time.
    if answer.name and is_decisive and _may_be_of(sides.get("request"), answer.name):
        return _Evidence(Shape.of(answer.name, envelope), answer)
    request = _side(sides, "request")
    request = request if isinstance(request, dict) else None
    return _Evidence(_shape(request, answer, envelope), answer if is_decisive else recognise(request, body, events))


def _sides(line: bytes) -> dict[str, Any] | None:
    """Return the request and response of a line, raw if it can be split; one of them may then be invalid JSON."""
    try:
        raw = _line.decode(line)
        if not line.isascii():
            str(line, "utf-8")  # the decoder does not check unused members
    except PARSE_ERRORS:
        exchange = _value(line)
        return exchange if isinstance(exchange, dict) else None
    return raw


def _side(sides: dict[str, Any], name: str) -> Json:
    """Return the request or the response, or ``None`` if it is missing or invalid."""
    value = sides.get(name)
    return _value(bytes(value)) if isinstance(value, Raw) else value


def _may_be_of(request: Any, name: str) -> bool:
    """Return whether a raw request has the turns of a format that accepts all requests with its turns."""
    form = get_format(name)
    if form.accepts is not accept or not isinstance(request, Raw):
        return False
    try:
        return form.TURNS in _line.decode(request)
    except PARSE_ERRORS:
        return False


def _shape(request: dict[str, Any] | None, response_evidence: Recognised, envelope: Envelope) -> Shape:
    """Return the shape of a line; its request has the format of the response unless its evidence is for another one."""
    response_format = response_evidence.name if response_evidence.rank <= _RESPONSE_RANK else None
    if response_format and _is_of(request, response_format):
        return Shape.of(response_format, envelope)
    request_format = recognise_request(request).name
    if request_format and _is_of(request, request_format):
        return Shape(request_format, response_format or request_format, envelope)
    has_turns = request is not None and isinstance(request.get(TURNS), list)
    name = PLAIN if has_turns else request_format or response_evidence.name or PLAIN
    is_mixed = name == PLAIN and request is not None and has_foreign(request)
    return Shape(name, response_format or name, envelope, is_mixed=is_mixed)


def _is_of(request: dict[str, Any] | None, name: str) -> bool:
    """Return whether a request may have a format."""
    form = get_format(name)
    return request is not None and form.TURNS in request and form.accepts(request)


def _value(raw: bytes) -> Json:
    try:
        return jsonio.loads(raw)
    except (ValueError, RecursionError):
        return None
