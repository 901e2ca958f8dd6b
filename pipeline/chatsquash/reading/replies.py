"""What a logged response answers: a body of its format, whole, or as the events that it was streamed in."""

from __future__ import annotations

import json
import re
from functools import cache, partial
from typing import Any

import msgspec
from msgspec import UNSET, Struct
from msgspec.structs import asdict, replace

from chatsquash.core import jsonio
from chatsquash.core.model import Json, Response, WrongType
from chatsquash.formats import PLAIN, get_format
from chatsquash.formats.base import Format
from chatsquash.formats.providers.openai_chat.foreign import is_foreign
from chatsquash.formats.providers.openai_chat.response import FIELDS, has_service_fields
from chatsquash.reading import usage

_LINE = re.compile(r"\r\n|\n|\r")  # str.splitlines knows more ends of lines, which may stand in the text
_GAP = re.compile(r"[\s,]*")
_CODE = re.compile(rb"\d{3}(?!\d)")
_STARTS = re.compile(r"\s*(data:|event:|id:|retry:|:|\{)")
_FIELD = re.compile(r":|(event|id|retry)\b|data\b|\[DONE\]")
_DONE = "[DONE]"
_RAW, _BODY = "body_raw", "body"
ASKED = "model"
"""The member of a request that names the model that is asked for."""
_MODEL = ("model", "modelVersion")
_STATUS = ("status", "status_code", "statusCode")


class Choice(Struct, gc=False):
    """A choice of a chat response, without what is not read."""

    message: dict[str, Any]
    finish_reason: str | None = None


class _Chat(Struct, gc=False):
    """A chat response as nearly all are."""

    choices: list[Choice]
    error: None = None
    id: Any = None
    model: Any = None
    usage: Any = None


_chat = jsonio.decoder(_Chat)


def reply(raw: bytes, form: Format, status: bytes = b"", model: bytes = b"") -> Response:
    """What a raw response answers, or why it answers nothing; raises ``ValueError`` for what is no JSON after all.

    ``status`` is the raw one of HTTP, or the word of a logger; ``asked`` is the raw model of the request.
    """
    code = _failure(status.strip(b'"')) if status else ""
    if not code and (quick := _quick(raw, model) if form.NAME == PLAIN else _lean(raw, model, form)):
        return quick
    if raw in (b"", b"null"):
        return Response(problem=f"there is no response{code}", requested_model=model)
    try:
        response, code = _read(_loads(raw), form, code)
    except UnicodeDecodeError:  # which matters in what is kept of the response only
        response, code = _read(_loads(raw.decode("latin-1")), form, code)
        if response.message is not None and not code:
            raise
    response = Response(problem=f"the response is an error body{code}") if code else response
    return replace(response, raw=raw, requested_model=model)


def _quick(raw: bytes, requested: bytes) -> Response | None:
    """The reply in a chat response that is as nearly all are; ``None`` for any other."""
    try:
        response = _chat.decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    choices = response.choices
    if not choices or type(choices[0].message.get("role")) is not str or is_foreign(choices[0].message):
        return None
    first = choices[0]
    if FIELDS in first.message and has_service_fields(first.message):
        return None
    model = response.model if type(response.model) is str else None
    message: Any = first.message
    own = response.id if type(response.id) is str else None
    used = usage.of_usage(response.usage)
    return Response(
        message, len(choices), first.finish_reason, model=model, id=own, raw=raw, requested_model=requested, tokens=used
    )


@cache
def _body(name: str) -> msgspec.json.Decoder[Any] | None:
    """What parses of a response's body of a format no more than is read; it may repeat tools and system prompt."""
    first, *others = get_format(name).READS
    if not first:
        return None
    members = dict.fromkeys((*others, "error", *usage.IDS, *_MODEL, *usage.WITHIN, *usage.MEMBERS))
    members.pop(first, None)
    return jsonio.decoder(
        msgspec.defstruct("Body", [(first, Any), *((each, Any, UNSET) for each in members)], gc=False)
    )


def _lean(raw: bytes, requested: bytes, form: Format) -> Response | None:
    """The reply in a whole body that has one; ``None`` for anything else."""
    lean = _body(form.NAME)
    if lean is None:
        return None
    try:
        parsed = lean.decode(raw)
        str(raw, "utf-8")  # what is not read, too
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    body = {name: value for name, value in asdict(parsed).items() if value is not UNSET}
    response = _answer(body, form)
    if response.message is None:
        return None
    own = next((body[name] for name in usage.IDS if type(body.get(name)) is str), "")
    return replace(
        response, model=model([body]), id=own, raw=raw, requested_model=requested, tokens=usage.of_bodies([body])
    )


def _read(response: Json, form: Format, code: str) -> tuple[Response, str]:
    """The reply in a response, and why it is none all the same, which its own status may say, too."""
    wrapped = isinstance(response, dict) and unwrapped(response) is not response
    own = next((response[key] for key in _STATUS if key in response), None) if wrapped else None
    return read(response, form), code or _failure(str(own).encode())


def _failure(status: bytes) -> str:
    """What a status that is none of success says of a response; empty for any other, and for none."""
    code = _CODE.match(status)
    if code and not 200 <= int(code[0]) < 300:
        return f", with status {int(code[0])}"
    word = status.decode("utf-8", "replace").lower()
    return f", with status {word}" if word in ("failure", "failed", "error") else ""


def read(response: Json, form: Format) -> Response:
    """The reply in a response that may be a body, one wrapped in ``body`` or ``body_raw``, a list or text of events."""
    body = unwrapped(response)
    stream_events = events(body)
    if stream_events is None:
        return replace(_answer(body, form), model=model([body]), tokens=usage.of_bodies([body]))
    streamed, whole = stream_events
    if not streamed:
        seen = "an empty list" if isinstance(body, list) else "a string without events"
        return Response(problem=f"the response is {seen}", wrong=WrongType("response", seen))
    stream = form.assemble(streamed)
    answer = stream.answer(partial(_answer, form=form))
    return replace(answer, cut=not (stream.is_complete and whole), **_beside(streamed))


def _answer(body: Json, form: Format) -> Response:
    response = form.reply(body)
    if response.message is None and isinstance(body, dict) and not body.get("error"):
        return replace(response, foreign=True)
    return replace(response, body=body) if form.reply_turns else response


def _beside(events: list[Json]) -> dict[str, Any]:
    """What events say beside the turn."""
    return {"model": model(events), "tokens": usage.of_bodies(events), "id": _id(events)}


def _id(events: list[Json]) -> str | None:
    """The id of a response that was streamed in events, each of which may have it."""
    holders = (holder for event in events for holder in usage.holders(event))
    named = (holder[name] for holder in holders for name in usage.IDS if isinstance(holder.get(name), str))
    return next(named, None)


def model(bodies: list[Json]) -> str | None:
    """The first model that is named in these: a response's body, or the events of a stream."""
    for body in bodies:
        for holder in usage.holders(body):
            for name in _MODEL:
                if isinstance(named := holder.get(name), str) and named:
                    return named
    return None


def unwrapped(response: Json) -> Json:
    """The body of a response that a logger wrapped."""
    if isinstance(response, dict) and not response.keys() & {"choices", "content", "candidates", "output", "message"}:
        for name in (_RAW, _BODY):
            if isinstance(response.get(name), str | dict | list):
                return _parse(response[name])
    return _parse(response)


def _parse(body: Json) -> Json:
    """A body that was logged as text, where the text is one JSON value."""
    if not isinstance(body, str) or body.lstrip()[:1] not in ("{", "["):
        return body
    try:
        value = _loads(body)
    except (ValueError, RecursionError):
        return body  # several objects, or one that was cut
    return value


def events(body: Json) -> tuple[list[Json], bool] | None:
    """The events of a streamed response, and whether all could be read; ``None`` for what was not streamed."""
    if isinstance(body, str):
        return _from_text(body)
    if not isinstance(body, list):
        return None
    values: list[Json] = []
    pieces: list[str] = []  # of text, since the last event that is none
    whole = True
    for item in [*body, None]:
        if isinstance(item, str):
            pieces.append(item)
            continue
        if pieces:
            read, complete = _from_text(_join_message(pieces))
            values += read
            whole = whole and complete
            pieces = []
        values += [] if item is None else [item]
    return values, whole


def _join_message(pieces: list[str]) -> str:
    """Pieces of a stream as one text: as they were received, or events that were taken apart at their ends."""
    text: list[str] = []
    for piece in pieces:
        if text and _STARTS.match(piece) and _is_whole(text[-1]):
            text.append("\n\n")
        text.append(piece)
    return "".join(text)


def _is_whole(piece: str) -> bool:
    """Whether a piece ends with an event as it stands, and not with the beginning of one."""
    last = piece.rpartition("\n")[2].strip().removeprefix("data:").strip()
    if not last.startswith("{"):
        return True
    try:
        _loads(last)
    except (ValueError, RecursionError):
        return False
    return True


def _from_text(text: str) -> tuple[list[Json], bool]:
    """The events of server-sent events, of JSON lines or of a JSON array; what was cut in the middle ends them."""
    text = text.removeprefix("\ufeff")
    if text.lstrip().startswith("["):
        return _from_array(text)
    values: list[Json] = []
    blocks, whole = _data(text)
    for data in blocks:
        if data == _DONE:
            return values, whole
        try:
            values.append(_loads(data))
        except (ValueError, RecursionError):
            return values, False
    return values, whole


def _from_array(text: str) -> tuple[list[Json], bool]:
    """The elements of an array as far as it goes."""
    values: list[Json] = []
    decoder = json.JSONDecoder()
    at = text.index("[") + 1
    while gap := _GAP.match(text, at):
        at = gap.end()
        if text[at : at + 1] == "]":
            return values, True
        try:
            value, at = decoder.raw_decode(text, at)
        except (ValueError, RecursionError):
            break
        values.append(value)
    return values, False


def _data(text: str) -> tuple[list[str], bool]:
    """The data of each event, whose lines are joined, and whether every line was one of a stream."""
    blocks: list[list[str]] = [[]]
    whole = True
    for line in _LINE.split(text):
        if not line.strip():
            blocks.append([])
        elif line.startswith("data:"):
            blocks[-1].append(line[5:].removeprefix(" "))
        elif line.lstrip().startswith("{"):
            blocks += [[line], []]
        elif not _FIELD.match(line):
            whole = False
    return ["\n".join(block) for block in blocks if block], whole


def _loads(data: bytes | str) -> Any:
    """Parse; a number that is not finite matters only in what is kept of the response, which its format judges."""
    try:
        return jsonio.loads(data)
    except jsonio.NotFiniteError:
        return json.loads(data)
