"""What a logged response answers: a body of its format, whole, or as the events that it was streamed in."""

from __future__ import annotations

import json
from typing import Any

import msgspec
from msgspec import Struct

from pipeline import codec
from pipeline.formats import PLAIN
from pipeline.formats.base import Format
from pipeline.model import Json, Reply, WrongType

_DONE = "[DONE]"
_RAW, _BODY = "body_raw", "body"


class _Choice(Struct, gc=False):
    message: dict[str, Any]
    finish_reason: str | None = None


class _Response(Struct, gc=False):
    """A chat response as nearly all are."""

    choices: list[_Choice]
    error: None = None


_chat = codec.decoder(_Response)


def reply(raw: bytes, form: Format, status: bytes = b"") -> Reply:
    """What a raw response answers, or why it answers nothing; raises ``ValueError`` for what is no JSON after all.

    ``status`` is the raw one of HTTP, or the word of a logger.
    """
    code = _failure(status.strip(b'"')) if status else ""
    if raw in (b"", b"null"):
        return Reply(problem=f"there is no response{code}")
    if form.NAME == PLAIN and not code and (quick := _of_chat(raw)):
        return quick
    try:
        found, code = _read(_loads(raw), form, code)
    except UnicodeDecodeError:  # which matters in what is kept of the response only
        found, code = _read(_loads(raw.decode("latin-1")), form, code)
        if found.message is not None and not code:
            raise
    return Reply(problem=f"the response is an error body{code}") if code else found


def _of_chat(raw: bytes) -> Reply | None:
    """The reply of a chat response that is as nearly all are; ``None`` for one that its format has to judge."""
    try:
        choices = _chat.decode(raw).choices
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None
    if not choices or type(choices[0].message.get("role")) is not str:
        return None
    return Reply(choices[0].message, len(choices), choices[0].finish_reason)  # type: ignore[arg-type]


def _read(response: Json, form: Format, code: str) -> tuple[Reply, str]:
    """The reply in a response, and why it is none all the same, which its own status may say, too."""
    wrapped = isinstance(response, dict) and unwrapped(response) is not response
    own = response.get("status", response.get("status_code")) if wrapped else None
    return read(response, form), code or _failure(str(own).encode())


def _failure(status: bytes) -> str:
    """What a status that is none of success says of a response; empty for any other, and for none."""
    if status.isdigit() and not 200 <= int(status) < 300:
        return f", with status {int(status)}"
    return ", with status failure" if status == b"failure" else ""


def read(response: Json, form: Format) -> Reply:
    """The reply in a response that may be a body, one wrapped in ``body`` or ``body_raw``, a list or text of events."""
    body = unwrapped(response)
    found = events(body)
    if found is None:
        return _answer(body, form)
    streamed, whole = found
    if not streamed:
        seen = "an empty list" if isinstance(body, list) else "a string without events"
        return Reply(problem=f"the response is {seen}", wrong=WrongType("response", seen))
    stream = form.assemble(streamed)
    return _answer(stream.body, form)._replace(cut=not (stream.whole and whole))


def _answer(body: Json, form: Format) -> Reply:
    found = form.reply(body)
    if found.message is None and isinstance(body, dict) and not body.get("error"):
        return found._replace(foreign=True)
    return found._replace(body=body) if hasattr(form, "previous") else found


def unwrapped(response: Json) -> Json:
    """The body of a response that a logger wrapped."""
    if isinstance(response, dict) and not response.keys() & {"choices", "content", "candidates", "output", "message"}:
        for name in (_RAW, _BODY):
            if isinstance(response.get(name), str | dict | list):
                return _parsed(response[name])
    return _parsed(response)


def _parsed(body: Json) -> Json:
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
    if isinstance(body, list):
        return [each for each in map(_event, body) if each is not None], True
    return _from_text(body) if isinstance(body, str) else None


def _event(item: Json) -> Json:
    """An item of a list of events, some of which are logged as text."""
    found = _from_text(item)[0] if isinstance(item, str) else [item]
    return found[0] if found else None


def _from_text(text: str) -> tuple[list[Json], bool]:
    """The events of server-sent events, or of JSON lines; what was cut in the middle ends them."""
    found: list[Json] = []
    for data in _data(text):
        if data == _DONE:
            return found, True
        try:
            found.append(_loads(data))
        except (ValueError, RecursionError):
            return found, False
    return found, True


def _data(text: str) -> list[str]:
    """The data of each event; the lines of one event are joined."""
    blocks: list[list[str]] = [[]]
    for line in text.splitlines() if "\r" in text else text.split("\n"):
        if not line.strip():
            blocks.append([])
        elif line.startswith("data:"):
            blocks[-1].append(line[5:].removeprefix(" "))
        elif line[:1] in "{[":
            blocks += [[line], []]
    return ["\n".join(block) for block in blocks if block]


def _loads(data: bytes | str) -> Any:
    """Parse; a number that is not finite matters only in what is kept of the response, which its format judges."""
    try:
        return codec.loads(data)
    except codec.NotFiniteError:
        return json.loads(data)
