"""Parse the reply in a logged response: a complete body in its format, or the events of a stream."""

from __future__ import annotations

import json
from functools import cache, partial
from typing import Any, TypedDict

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from chatsquash.core import jsonio
from chatsquash.core.lazy import lazy_compile
from chatsquash.core.model import Json, Response, WrongType
from chatsquash.formats import PLAIN, get_format
from chatsquash.formats.base import Format
from chatsquash.formats.providers.openai_chat import FIELDS, has_service_fields
from chatsquash.formats.providers.openai_chat.members import is_foreign
from chatsquash.reading import usage

_GAP = lazy_compile(r"[\s,]*")
_CODE = lazy_compile(rb"\d{3}(?!\d)")
_STARTS = lazy_compile(r"\s*(data:|event:|id:|retry:|:|\{)")
_FIELD = lazy_compile(r":|(event|id|retry)\b|data\b|\[DONE\]")
_DONE = "[DONE]"
_RAW, _BODY = "body_raw", "body"
REQUESTED_MODEL = "model"
"""The request member with the name of the requested model."""
_MODEL = ("model", "modelVersion")
_STATUS = ("status", "status_code", "statusCode")


class Choice(Struct, gc=False):
    """A choice of a chat response, without unused members."""

    message: dict[str, Any]
    finish_reason: str | None = None


class Chat(Struct, gc=False):
    """The most frequent kind of chat response."""

    choices: list[Choice]
    error: None = None
    id: Any = None
    model: Any = None
    usage: Any = None


@cache  # plain logs need none, and creating one takes time
def _chat() -> msgspec.json.Decoder[Chat]:
    return jsonio.decoder(Chat)


def reply(raw: bytes, form: Format, status: bytes = b"", model: bytes = b"") -> Response:
    """Return the reply in a raw response, or the reason why there is none.

    Args:
        raw: The response.
        form: Its format.
        status: The raw HTTP status, or the status word of a logger.
        model: The raw model of the request.

    Raises:
        ValueError: The response is not valid JSON.
    """
    code = _failure(status.strip(b'"')) if status else ""
    if not code and raw[:1] == b"{":
        quick = _read_chat(raw, model) if form.NAME == PLAIN else _read_body(raw, model, form)
        if quick:
            return quick
    if raw in (b"", b"null"):
        return Response(problem=f"there is no response{code}", requested_model=model)
    try:
        response, code = _read_with_status(_loads(raw), form, code)
    # Invalid bytes matter only in the parts of the response that are used.
    except UnicodeDecodeError:
        response, code = _read_with_status(_loads(raw.decode("latin-1")), form, code)
        if response.message is not None and not code:
            raise
    response = Response(problem=f"the response is an error body{code}") if code else response
    return replace(response, raw=raw, requested_model=model)


def _read_chat(raw: bytes, requested_model: bytes) -> Response | None:
    """Return the reply in a chat response of the most frequent kind, or ``None`` for any other response."""
    try:
        response = _chat().decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    return of_chat(response, raw, requested_model)


def of_chat(response: Chat, raw: bytes, requested_model: bytes) -> Response | None:
    """Return the reply in a chat response, or ``None`` if it is not of the most frequent kind after all."""
    choices = response.choices
    if not choices or type(choices[0].message.get("role")) is not str or is_foreign(choices[0].message):
        return None
    first = choices[0]
    if FIELDS in first.message and has_service_fields(first.message):
        return None
    model = response.model if type(response.model) is str else None
    message: Any = first.message
    own = response.id if type(response.id) is str else None
    tokens = usage.of_usage(response.usage)
    return Response(
        message,
        len(choices),
        first.finish_reason,
        model=model,
        id=own,
        raw=raw,
        requested_model=requested_model,
        tokens=tokens,
    )


@cache
def _body_decoder(name: str) -> msgspec.json.Decoder[Any] | None:
    """Return a decoder of the members used in a format's body."""
    # Bodies may repeat tools and the system prompt, which are skipped in this way.
    first, *others = get_format(name).READS
    if not first:
        return None
    members = dict.fromkeys((*others, "error", *usage.IDS, *_MODEL, *usage.RESPONSE_HOLDERS, *usage.MEMBERS))
    make: Any = TypedDict
    return jsonio.decoder(make("Body", dict.fromkeys((first, *members), Any), total=False))


def _read_body(raw: bytes, requested_model: bytes, form: Format) -> Response | None:
    """Return the reply in a complete body, or ``None`` for anything else."""
    decoder = _body_decoder(form.NAME)
    if decoder is None:
        return None
    try:
        body = decoder.decode(raw)
        raw.isascii() or str(raw, "utf-8")  # the decoder does not check unused members
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    if form.READS[0] not in body:
        return None
    response = _answer(body, form)
    if response.message is None:
        return None
    own, name = "", body.get("model")
    for member in usage.IDS:
        if type(body.get(member)) is str:
            own = body[member]
            break
    return replace(
        response,
        model=name if name and type(name) is str else model([body]),
        id=own,
        raw=raw,
        requested_model=requested_model,
        tokens=usage.of_bodies([body]),
    )


def _read_with_status(response: Json, form: Format, code: str) -> tuple[Response, str]:
    """Return the reply in a response, and the reason if it failed."""
    # A wrapped response may have its own status.
    is_wrapped = isinstance(response, dict) and unwrapped(response) is not response
    own = next((response[key] for key in _STATUS if key in response), None) if is_wrapped else None
    return read(response, form), code or _failure(str(own).encode())


def _failure(status: bytes) -> str:
    """Describe an unsuccessful status; return an empty string for success or no status."""
    code = _CODE.match(status)
    if code and not 200 <= int(code[0]) < 300:
        return f", with status {int(code[0])}"
    word = status.decode("utf-8", "replace").lower()
    return f", with status {word}" if word in ("failure", "failed", "error") else ""


def read(response: Json, form: Format) -> Response:
    """Return the reply in a body, a body wrapped in ``body`` or ``body_raw``, or a list or string of events."""
    body = unwrapped(response)
    stream_events = events(body)
    if stream_events is None:
        return replace(_answer(body, form), model=model([body]), tokens=usage.of_bodies([body]))
    streamed, is_complete = stream_events
    if not streamed:
        seen = "an empty list" if isinstance(body, list) else "a string without events"
        return Response(problem=f"the response is {seen}", wrong=WrongType("response", seen))
    stream = form.assemble(streamed)
    answer = stream.answer(partial(_answer, form=form))
    return replace(answer, cut=not (stream.is_complete and is_complete), **_stream_metadata(streamed))


def _answer(body: Json, form: Format) -> Response:
    response = form.reply(body)
    if response.message is None and isinstance(body, dict) and not body.get("error"):
        return replace(response, foreign=True)
    return replace(response, body=body) if form.reply_turns else response


def _stream_metadata(events: list[Json]) -> dict[str, Any]:
    """Return the parts of a streamed response other than the turn."""
    return {"model": model(events), "tokens": usage.of_bodies(events), "id": _id(events)}


def _id(events: list[Json]) -> str | None:
    """Return the id of a streamed response, which any of its events may contain."""
    holders = (holder for event in events for holder in usage.holders(event))
    ids = (holder[name] for holder in holders for name in usage.IDS if isinstance(holder.get(name), str))
    return next(ids, None)


def model(bodies: list[Json]) -> str | None:
    """Return the first model in a response body or in the events of a stream."""
    for body in bodies:
        for holder in usage.holders(body):
            for name in _MODEL:
                if isinstance(name_of_model := holder.get(name), str) and name_of_model:
                    return name_of_model
    return None


def unwrapped(response: Json) -> Json:
    """Return the response body without the wrapper that a logger added."""
    if isinstance(response, dict) and not response.keys() & {"choices", "content", "candidates", "output", "message"}:
        for name in (_RAW, _BODY):
            if isinstance(response.get(name), str | dict | list):
                return _parse(response[name])
    return _parse(response)


def _parse(body: Json) -> Json:
    """Parse a body that was logged as a string, if the string is one JSON value; otherwise return it unchanged."""
    if not isinstance(body, str) or body.lstrip()[:1] not in ("{", "["):
        return body
    try:
        value = _loads(body)
    except (ValueError, RecursionError):
        return body  # several objects, or a truncated one
    return value


def events(body: Json) -> tuple[list[Json], bool] | None:
    """Return the events of a streamed response and whether all are readable, or ``None`` if it was not streamed."""
    if isinstance(body, str):
        return _from_text(body)
    if not isinstance(body, list):
        return None
    values: list[Json] = []
    pieces: list[str] = []  # text since the last event that is not text
    is_complete = True
    for item in [*body, None]:
        if isinstance(item, str):
            pieces.append(item)
            continue
        if pieces:
            read, is_text_complete = _from_text(_join_message(pieces))
            values += read
            is_complete = is_complete and is_text_complete
            pieces = []
        values += [] if item is None else [item]
    return values, is_complete


def _join_message(pieces: list[str]) -> str:
    """Join the pieces of a stream, which are arbitrary chunks of text or events without their line ends."""
    text: list[str] = []
    for piece in pieces:
        if text and _STARTS.match(piece) and _is_complete_event(text[-1]):
            text.append("\n\n")
        text.append(piece)
    return "".join(text)


def _is_complete_event(piece: str) -> bool:
    """Return whether a piece ends with a complete event, and not with the beginning of one."""
    last = piece.rpartition("\n")[2].strip().removeprefix("data:").strip()
    if not last.startswith("{"):
        return True
    try:
        _loads(last)
    except (ValueError, RecursionError):
        return False
    return True


def _from_text(text: str) -> tuple[list[Json], bool]:
    """Return the events in server-sent events, JSON lines or a JSON array, up to the first truncated event."""
    text = text.removeprefix("\ufeff")
    if text.lstrip().startswith("["):
        return _from_array(text)
    values: list[Json] = []
    blocks, is_complete = _data(text)
    if blocks and (known := _objects(blocks)) is not None:
        return known, is_complete
    for data in blocks:
        if data == _DONE:
            return values, is_complete
        try:
            values.append(_loads(data))
        except (ValueError, RecursionError):
            return values, False
    return values, is_complete


def _objects(blocks: list[str]) -> list[Json] | None:
    """Return the values of blocks that are all objects, parsed in one pass, or ``None`` for other blocks."""
    if blocks[-1] == _DONE:
        blocks = blocks[:-1]
    for block in blocks:
        # No two such blocks can be parts of one value.
        if not (block.startswith("{") and block.endswith("}")):
            return None
    values = jsonio.lines("\n".join(blocks))
    return values if values is not None and len(values) == len(blocks) else None


def _from_array(text: str) -> tuple[list[Json], bool]:
    """Return the elements of an array, up to the first invalid one."""
    values: list[Json] = []
    decoder = json.JSONDecoder()
    position = text.index("[") + 1
    while gap := _GAP.match(text, position):
        position = gap.end()
        if text[position : position + 1] == "]":
            return values, True
        try:
            value, position = decoder.raw_decode(text, position)
        except (ValueError, RecursionError):
            break
        values.append(value)
    return values, False


def _data(text: str) -> tuple[list[str], bool]:
    """Return the joined data lines of each event, and whether every line belongs to a stream."""
    blocks: list[str] = []
    block: list[str] = []
    is_complete = True
    if "\r" in text:  # a regular expression for line ends takes much longer
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    for line in text.split("\n"):
        if line.startswith("data:"):
            block.append(line[6:] if line.startswith("data: ") else line[5:])
            continue
        start = line.lstrip()[:1]
        if block and start in ("", "{"):
            blocks.append("\n".join(block))
            block = []
        if start == "{":
            blocks.append(line)
        elif start and not _FIELD.match(line):
            is_complete = False
    return [*blocks, "\n".join(block)] if block else blocks, is_complete


def _loads(data: bytes | str) -> Any:
    """Parse JSON that may contain non-finite numbers."""
    # Non-finite numbers matter only in used members, which the format checks.
    try:
        return jsonio.loads(data)
    except jsonio.NotFiniteError:
        return json.loads(data)
