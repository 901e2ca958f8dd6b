"""Batches of OpenAI, Anthropic and Gemini: a file with results, next to a file with the requests."""

from __future__ import annotations

from collections.abc import Iterator

from chatsquash import formats
from chatsquash.core.model import Conversation, Json, Origin, OriginReply, Response
from chatsquash.formats import bodies
from chatsquash.formats.base import TurnError
from chatsquash.formats.evidence import Unread, line_numbers, moment
from chatsquash.formats.threads import with_unread
from chatsquash.formats.values import Object, as_list, at, count, members, objects, string

NAME = "batch"
HAS_TOOLS = True
MEMBERS = ("custom_id", "key", "requests")

_SUCCEEDED = "succeeded"
_WITHOUT = "result without a request in the files next to it"
_AMBIGUOUS = "result with the id of several requests"


def fits(values: list[Json]) -> str | None:
    """Check for results or requests with a custom id, or with a key in Gemini's batches."""
    rows = _rows(values)
    if not rows or not all(map(_id, rows)):
        return None
    name = "custom_id" if all("custom_id" in row for row in rows) else "key"
    if all(map(_is_result, rows)):
        # A key with an error is not specific to Gemini's batches.
        is_one = name == "custom_id" or any(_answer(row).keys() & {"candidates", "promptFeedback"} for row in rows)
        return f"{name}, and response or result" if is_one else None
    is_one = all(map(_body, rows)) and (name == "custom_id" or all("contents" in _body(row) for row in rows))
    return f"{name}, and {'body or params' if name == 'custom_id' else 'request'}" if is_one else None


def _rows(values: list[Json]) -> list[Object]:
    """Return the lines of a file, or the requests in the body of an API request that creates an Anthropic batch."""
    request_list = at(values[0], "requests") if len(values) == 1 else None
    rows = request_list if isinstance(request_list, list) else values
    return objects(rows) if len(objects(rows)) == len(rows) else []


def _id(row: Object) -> str:
    return string(row, "custom_id") or string(row, "key")


def _is_result(row: Object) -> bool:
    return "request" not in row and (isinstance(row.get("result"), dict) or "response" in row or "error" in row)


def _body(row: Object) -> Object:
    """Return the body of a request: ``body`` (OpenAI), ``params`` (Anthropic) or ``request`` (Gemini)."""
    if "custom_id" not in row:
        return {} if "response" in row else members(row.get("request"))
    return members(row.get("body")) or members(row.get("params"))


def companions(name: str) -> str | None:
    """Return a glob for files that may contain the requests of results."""
    return "*.json*" if name.endswith((".jsonl", ".ndjson", ".json")) else None


COMPANION_MARKS = (b'"messages"', b'"input"', b'"prompt"', b'"contents"')
"""The members near the beginning of files with requests."""


def conversations(values: list[Json], lines: list[int] | None = None, meta: Json = None) -> list[Conversation]:
    """Return a conversation for each result whose request is known, or an empty list for a file with requests.

    ``meta`` contains the content of other files in the same folder.
    """
    unread = Unread()
    converted = list[Conversation]()
    rows = _rows(values)
    if values and not rows:
        raise TurnError("not a file of batch results")
    requests = _Requests(meta, {_id(row) for row in rows})
    for row, line in zip(rows, _lines(values, len(rows), lines), strict=True):
        if not _is_result(row):
            unread.count("request")
            continue
        name, answer = _id(row), _answer(row)
        if not answer:
            unread.count("result with an error")
        elif name in requests.ambiguous:
            unread.count(_AMBIGUOUS)
        elif not requests.bodies.get(name):
            unread.count(_WITHOUT)
        else:
            converted += _conversation(name, requests.bodies[name], answer, line, unread)
    if not converted and unread.counts[_AMBIGUOUS]:
        raise TurnError(
            "several requests in the folder have the same ids as the results; put each batch in a separate folder"
        )
    if not converted and unread.counts[_WITHOUT]:
        raise TurnError("no file in the same folder contains the requests of the results")
    return with_unread(converted, unread)


class _Requests:
    """The requests for a file with results, from files that contain all of them, or else from all files.

    Clients choose the ids in a batch, so several batches may use the same ids.
    """

    def __init__(self, meta: Json, ids: set[str]) -> None:
        files = [list(_requests(content)) for content in as_list(meta)]
        complete = [each for each in files if ids <= {name for name, _ in each}]
        self.bodies: dict[str, Object] = {}
        self.ambiguous = set[str]()
        for name, body in (pair for each in complete or files for pair in each):
            # An identical request in several files is not ambiguous; a batch may have been sent again, for example.
            if name in ids and self.bodies.setdefault(name, body) != body:
                self.ambiguous.add(name)


def _requests(content: Json) -> Iterator[tuple[str, Object]]:
    for row in _rows(content if isinstance(content, list) else [content]):
        if not _is_result(row):
            yield _id(row), _body(row)


def _lines(values: list[Json], rows: int, lines: list[int] | None) -> list[int]:
    """Return the line number of each row; rows in a list are on the first line."""
    return [1] * rows if len(values) == 1 and rows != 1 else list(line_numbers(values, lines))


def _answer(row: Object) -> Object:
    """Return the body of a response, or an empty object for errors."""
    if "custom_id" not in row:
        return {} if row.get("error") else members(row.get("response"))
    if isinstance(row.get("result"), dict):
        return members(at(row, "result", "message")) if at(row, "result", "type") == _SUCCEEDED else {}
    status = at(row, "response", "status_code")
    is_error = row.get("error") is not None or (isinstance(status, int) and not 200 <= status < 300)
    return {} if is_error else members(at(row, "response", "body"))


def _conversation(name: str, request: Object, answer: Object, line: int, unread: Unread) -> list[Conversation]:
    form = formats.recognise(request, answer, None).name
    if form is None:
        unread.count("result from another endpoint")
        return []
    own = formats.get_format(form)
    try:
        conversation = bodies.load(own, request)
    except TurnError as problem:
        raise TurnError(f"line {line}: {problem}") from None
    reply = own.reply(answer)
    if reply.message is None:
        unread.count("result without a reply")
        return []
    messages = [*conversation.messages, reply.message]
    known = _evidence(reply, answer, line, len(conversation.messages))
    origin = Origin(
        id=name,
        session_id=name,
        started_at=known.time,
        ended_at=known.time,
        replies=(known,),
        lines=(line,) * len(messages),
    )
    return [Conversation(messages, conversation.tools, origin=origin)]


def _evidence(reply: Response, answer: Object, line: int, place: int) -> OriginReply:
    usage, created = (
        answer.get("usage") or answer.get("usageMetadata"),
        moment(answer.get("created") or answer.get("created_at")),
    )
    return OriginReply(
        place,
        line,
        created.at if created else None,
        string(answer, "model") or string(answer, "modelVersion") or None,
        _count(usage, "prompt_tokens", "input_tokens", "promptTokenCount"),
        _count(usage, "completion_tokens", "output_tokens", "candidatesTokenCount"),
        reply.finish_reason,
        string(answer, "id") or string(answer, "responseId") or None,
    )


def _count(usage: Json, *names: str) -> int | None:
    return next((number for name in names if (number := count(at(usage, name)))), None)
