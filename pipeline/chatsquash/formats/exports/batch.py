"""Batches of OpenAI and Anthropic: a file of results, whose requests are in another file next to it."""

from __future__ import annotations

from chatsquash import formats
from chatsquash.core.model import Conversation, Json, Origin, OriginReply, Response
from chatsquash.formats import bodies
from chatsquash.formats.base import TurnError
from chatsquash.formats.evidence import Unread, moment, numbers
from chatsquash.formats.threads import with_unread
from chatsquash.formats.values import Object, at, count, members, objects, string

NAME = "batch"
HOLDS_TOOLS = True
MEMBERS = ("custom_id", "requests")

_ID = "custom_id"
_SUCCEEDED = "succeeded"
_WITHOUT = "result whose request is in no file next to it"


def fits(values: list[Json]) -> str | None:
    """Check for results, or requests, each with a custom id."""
    rows = _rows(values)
    if not rows or not all(string(row, _ID) for row in rows):
        return None
    if all(_is_result(row) for row in rows):
        return "custom_id, and response or result"
    return "custom_id, and body or params" if all(_body(row) for row in rows) else None


def _rows(values: list[Json]) -> list[Object]:
    """The lines of a file, or the requests of a body that creates a batch of Anthropic."""
    listed = at(values[0], "requests") if len(values) == 1 else None
    rows = listed if isinstance(listed, list) else values
    return objects(rows) if len(objects(rows)) == len(rows) else []


def _is_result(row: Object) -> bool:
    return isinstance(row.get("result"), dict) or "response" in row or "error" in row


def _body(row: Object) -> Object:
    """The body of a request: of OpenAI's ``body``, of Anthropic's ``params``."""
    return members(row.get("body")) or members(row.get("params"))


def beside(name: str) -> str | None:
    """Return a glob for the files that may have the requests of results."""
    return "*.json*" if name.endswith((".jsonl", ".ndjson", ".json")) else None


BESIDE_MARK = b'"custom_id"'
"""What such files have in their beginning."""


def conversations(values: list[Json], lines: list[int] | None = None, meta: Json = None) -> list[Conversation]:
    """Return a conversation for each result whose request is known; a file of requests has none.

    ``meta`` are the contents of the files next to it.
    """
    unread = Unread()
    requests = {
        string(row, _ID): _body(row)
        for content in (meta if isinstance(meta, list) else [])
        for row in _rows(content if isinstance(content, list) else [content])
        if not _is_result(row)
    }
    made = list[Conversation]()
    rows = _rows(values)
    if values and not rows:
        raise TurnError("has values that are not results")
    for row, line in zip(rows, _lines(values, len(rows), lines), strict=True):
        if not _is_result(row):
            unread.one("request")
            continue
        name, answered = string(row, _ID), _answer(row)
        if not answered:
            unread.one("result with an error")
        elif not requests.get(name):
            unread.one(_WITHOUT)
        else:
            made += _conversation(name, requests[name], answered, line, unread)
    if not made and unread.counts[_WITHOUT]:
        raise TurnError("the requests of its results are in no file next to it")
    return with_unread(made, unread)


def _lines(values: list[Json], rows: int, lines: list[int] | None) -> list[int]:
    """Return the line of each row; those of a list are in one value."""
    return [1] * rows if len(values) == 1 and rows != 1 else list(numbers(values, lines))


def _answer(row: Object) -> Object:
    """The body of a response; empty for an error."""
    if isinstance(row.get("result"), dict):
        return members(at(row, "result", "message")) if at(row, "result", "type") == _SUCCEEDED else {}
    status = at(row, "response", "status_code")
    is_error = row.get("error") is not None or (isinstance(status, int) and not 200 <= status < 300)
    return {} if is_error else members(at(row, "response", "body"))


def _conversation(name: str, request: Object, answered: Object, line: int, unread: Unread) -> list[Conversation]:
    form = formats.recognise(request, answered, None).name
    if form is None:
        unread.one("result of another endpoint")
        return []
    own = formats.named(form)
    try:
        asked = bodies.load(own, request)
    except TurnError as problem:
        raise TurnError(f"line {line}: {problem}") from None
    reply = own.reply(answered)
    if reply.message is None:
        unread.one("result without a reply")
        return []
    messages = [*asked.messages, reply.message]
    known = _evidence(reply, answered, line, len(asked.messages))
    origin = Origin(
        id=name, session_id=name, started=known.time, ended=known.time, replies=(known,), lines=(line,) * len(messages)
    )
    return [Conversation(messages, asked.tools, origin=origin)]


def _evidence(reply: Response, answered: Object, line: int, place: int) -> OriginReply:
    used, began = answered.get("usage"), moment(answered.get("created") or answered.get("created_at"))
    return OriginReply(
        place,
        line,
        began.at if began else None,
        string(answered, "model") or None,
        count(at(used, "prompt_tokens")) or count(at(used, "input_tokens")),
        count(at(used, "completion_tokens")) or count(at(used, "output_tokens")),
        reply.finish_reason,
        string(answered, "id") or None,
    )
