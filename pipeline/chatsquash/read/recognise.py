"""Which format and which envelope a log has, by its first lines."""

from __future__ import annotations

from functools import cache
from typing import Annotated, Any, BinaryIO, Literal, NamedTuple

import msgspec
from msgspec import Meta, Raw, Struct

from chatsquash import footprint, jsonio
from chatsquash.formats import PLAIN, PLAIN_RANK, Recognised, look_alike, named, recognise, recognise_file
from chatsquash.model import Seen
from chatsquash.read import envelopes, replies
from chatsquash.read.envelopes import Envelope
from chatsquash.read.lines import LONGEST
from chatsquash.read.replies import Chat
from chatsquash.read.slices import LineError, Slicer, Slices, decoder

_ANSWERED = 4
"""The rank up to which evidence stands in the response."""
_BEYOND_DOUBT = 6
"""The rank up to which evidence stands beside the messages, not in them."""
AGREEING = 5
"""Lines that decide where they agree."""
_GLANCE = 1 << 16
"""Bytes in which these are looked for; the first one is looked at in any case."""
_LINES, _BYTES = 50, 4 << 20
"""How much of a file is looked at where its first line does not tell."""


class Shape(NamedTuple):
    """How the lines of a log are to be read."""

    format: str = PLAIN
    envelope: Envelope = envelopes.PLAIN
    forced: bool = False
    """Whether the user named the format."""


PLAIN_LOG = Shape(), Seen(PLAIN, envelopes.PLAIN.name, f"{PLAIN} (choices[].message in the response)")
"""What is seen of a log whose first line is chat with an answer, as that of most is."""


_Never = Annotated[str, Meta(min_length=1, max_length=0)]
"""What no value is: a member of this type must not be there."""


class _PlainChat(Chat, gc=False):
    object: Literal["chat.completion"] = "chat.completion"
    output: _Never = ""
    candidates: _Never = ""
    done: _Never = ""
    stop_reason: _Never = ""


class _Choice(Struct, gc=False):
    message: dict[str, Raw]


class _Response(Struct, gc=False):
    choices: list[_Choice]
    object: str = "chat.completion"
    output: Raw = Raw()
    candidates: Raw = Raw()
    done: Raw = Raw()
    stop_reason: Raw = Raw()


class _Request(Struct, gc=False):
    messages: list[Raw]
    body: Raw = Raw()


class _Plain(Struct, gc=False):
    request: _Request
    response: _Response
    call_type: Raw = Raw()
    kwargs: Raw = Raw()


_plain = msgspec.json.Decoder(_Plain)


def is_plain(line: bytes | bytearray) -> bool:
    """Whether a line is chat with an answer and nothing else, told without parsing it."""
    try:
        found = _plain.decode(line)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return False
    response = found.response
    others = (found.request.body, found.call_type, found.kwargs, response.output, response.candidates)
    named = response.object == "chat.completion" and bool(response.choices)
    return named and not any(map(bytes, (*others, response.done, response.stop_reason)))


class PlainSlicer(Slicer):
    """Splits lines that are plain chat beyond doubt, and no others: ``is_plain``, told by the way."""

    def __init__(self) -> None:
        super().__init__(named(PLAIN))
        self._line = decoder(self.request(Raw, body=_Never), response=_PlainChat, call_type=_Never, kwargs=_Never)

    def _parse(self, line: bytes | bytearray, way: Any) -> None:
        """``split`` has to decide, whichever way a line would be parsed whole."""

    def _split_odd(self, line: bytes) -> Slices:
        del line
        raise LineError("bad-line", "no plain chat")


@cache
def plain_slicer() -> PlainSlicer:
    """The one that there is."""
    return PlainSlicer()


def shape_of(line: bytes) -> Shape | None:
    """The shape that one line has beyond doubt: by its response, or by a member that no other format has."""
    found = _exchange(line)
    if found is None:
        return None
    envelope, exchange = found
    return Shape(exchange.name, envelope) if exchange.name and exchange.rank <= _BEYOND_DOUBT else None


def look(file: BinaryIO, forced: str | None = None, memory: int = footprint.MOST) -> tuple[Shape, Seen]:
    """What the first lines of a file tell; it stands where it stood before.

    A few decide where their responses tell the same; else most of many decide.  Lines whose parsed form would take more
    ``memory`` tell nothing.
    """
    data = beginning(file, _GLANCE)
    quick = [_exchange(line) for line in _lines(data, memory)[:AGREEING]]
    envelope, first = quick[0] if quick and quick[0] else (envelopes.PLAIN, None)
    if forced:
        return Shape(forced, envelope, forced=True), Seen(forced, envelope.name, f"{forced}, as --from says")
    if first and first.name and first.rank <= _ANSWERED and not any(_tells_other(each, first) for each in quick):
        return Shape(first.name, envelope), Seen(first.name, envelope.name, f"{first.name} ({first.why})")
    lines = _lines(data if len(data) >= _BYTES else beginning(file, _BYTES), memory)
    found = [each for each in map(_exchange, lines) if each]
    envelope = found[0][0] if found else envelopes.PLAIN
    whole = recognise_file([exchange for _, exchange in found])
    if whole.name:
        envelope = next(each for each, exchange in found if exchange.name == whole.name)
        return Shape(whole.name, envelope), Seen(whole.name, envelope.name, whole.why)
    instead = next((words for line in lines if (words := look_alike(_object(line)))), None)
    why = instead or (whole.why if found else "")
    # Requests and responses all of which are of nothing known, such as counts of tokens, are no chat either.
    unknown = 0 < len(found) == len(lines)
    return Shape(envelope=envelope), Seen(None, envelope.name, why, conflict=whole.mixed or unknown)


def _tells_other(line: tuple[Envelope, Recognised] | None, first: Recognised) -> bool:
    """Whether a line has evidence that it is not of the first one's format."""
    return line is not None and line[1].name != first.name and line[1].rank < PLAIN_RANK


def first_lines(file: BinaryIO, most: int, memory: int = footprint.MOST) -> list[bytes]:
    """The lines that are not blank in so many bytes, the very first one whole; the file stands as before."""
    return _lines(beginning(file, most), memory)


def beginning(file: BinaryIO, most: int) -> bytes:
    """So many bytes of a file, or all of its first line where that has more; the file stands as before."""
    place = file.tell()
    file.seek(0)
    pieces = [file.read(most)]
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
        if (line := data[at:stop]).strip():
            lines.append(b"" if footprint.exceeds(line, memory) else line)
        at = stop + 1
    return lines


def _exchange(line: bytes) -> tuple[Envelope, Recognised] | None:
    envelope = envelopes.recognise(line)
    if envelope is None:
        return None
    exchange = _object(envelopes.unwrap(line, envelope))
    if exchange is None:
        return None
    request, response = exchange.get("request"), replies.unwrapped(exchange.get("response"))
    streamed = replies.events(response)
    body = request if isinstance(request, dict) else None
    return envelope, recognise(body, response if streamed is None else None, streamed[0] if streamed else None)


def _object(line: bytes) -> dict[str, Any] | None:
    try:
        value = jsonio.loads(line)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None
