"""Langfuse observations, scores and traces, as exported to blob storage or returned by the API."""

from __future__ import annotations

from functools import lru_cache

from chatsquash.core import jsonio
from chatsquash.core.model import Json
from chatsquash.core.score_rows import ScoreRow, ScoreSubject
from chatsquash.core.scores import Score, read_score, read_scores
from chatsquash.core.times import read as read_time
from chatsquash.formats.definitions import function_tool
from chatsquash.formats.values import as_list, objects
from chatsquash.reading.envelopes import _bodies
from chatsquash.reading.members import Members, first_present, present, unquoted_value

NAME = "Langfuse"
WHAT = "`{type: GENERATION, trace_id, input, output, start_time}`"
NEEDS = (
    frozenset(("trace_id", "type", "start_time")),
    frozenset(("traceId", "type", "startTime")),
    frozenset(("data_type", "created_at", "updated_at")),
    frozenset(("dataType", "createdAt", "updatedAt")),
    frozenset(("bookmarked", "created_at", "updated_at")),
    frozenset(("bookmarked", "createdAt", "updatedAt")),
)
SESSION = ("session_id", "sessionId", "trace_id", "traceId")
MIXES = True
SCORES = (b'"scores"',)
SCORE_FILES = "../scores/*", "scores/*", "*scores*"
TRACE_FILES = ("../traces/*",)
SCORE_ROWS = b'"data_type"', b'"dataType"'

_KINDS = ("SPAN", "GENERATION", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL")
_TIMES, _MODELS = ("start_time", "startTime"), ("provided_model_name", "model")
_DEFINITIONS = ("tool_definitions", "toolDefinitions", "tools")
_OBSERVATION, _TYPES = ("observation_id", "observationId"), ("data_type", "dataType")
_LABELS = ("string_value", "stringValue")
_TRACE, _SESSION, _PARENT = (
    ("trace_id", "traceId"),
    ("session_id", "sessionId"),
    ("parent_observation_id", "parentObservationId"),
)
_TYPES_OF_SCORES = ("NUMERIC", "CATEGORICAL", "BOOLEAN", "TEXT", "CORRECTION")


def fits(line: Members) -> bool:
    """Return whether a line is an observation or a score, according to its type, or a trace."""
    return _kind(line) in _KINDS or _is_score(line) or _is_trace(line)


def describe_non_exchange(line: Members) -> str | None:
    """Describe a row that is not an exchange."""
    # The rows around a generation repeat its content.
    kind = _kind(line)
    if kind in _KINDS:
        return None if kind == "GENERATION" else f"observation of type {kind}"
    return "scores" if _is_score(line) else "traces"


def unwrap(line: Members) -> Members:
    """Return the input as a request and the output as a response; both are strings that usually contain JSON."""
    request = _request(line)
    return present(
        request=request,
        response=_response(line),
        status=b"500" if line.get("level") == b'"ERROR"' else None,
        timestamp=first_present(line, _TIMES),
        session_id=first_present(line, SESSION),
        problem=b'"its input is not a list of messages"' if not request else None,
    )


def scores(line: Members) -> tuple[Score, ...]:
    """Return the scores of an observation, and those of its trace or session."""
    name = unquoted_value(line.get("id"))
    rows = [each for each in objects(unquoted_value(line.get("scores"))) if _first(each, _OBSERVATION) in (None, name)]
    own = [each for each in rows if _first(each, _OBSERVATION) is not None]
    outer = [each for each in rows if _first(each, _OBSERVATION) is None]
    return (
        *read_scores(map(score_pair, own), NAME),
        *read_scores(map(score_pair, outer), NAME, is_shared=True),
    )


def subject(line: Members) -> ScoreSubject:
    """Return the ids of an observation, with its parent."""
    parent = _text(line, _PARENT)
    return ScoreSubject(
        _text(line, ("id",)), _text(line, _TRACE), _text(line, _SESSION), parents=(parent,) if parent else ()
    )


def step(line: Members) -> ScoreSubject | None:
    """Return the ids of an observation that is not an exchange but may contain some."""
    kind = _kind(line)
    return subject(line) if kind in _KINDS and kind != "GENERATION" else None


def score_rows(line: Members) -> list[ScoreRow]:
    """Return the score in a row."""
    if not _is_score(line) or _kind(line) in _KINDS:
        return []
    row = {name: jsonio.value(raw) for name, raw in line.items()}
    about = _subject_of_score(row)
    name, value = score_pair(row)
    when = read_time(_first(row, ("updated_at", "updatedAt", "timestamp")))
    identity = row.get("id")
    return [
        ScoreRow(
            identity if isinstance(identity, str) and identity else repr((*about, name)),
            about,
            read_score(name, value, NAME),
            when.at if when else 0,
        )
    ]


def session_of_trace(line: Members) -> ScoreSubject | None:
    """Return the ids of a trace and its session; observations of older exports have only the former."""
    ids = ScoreSubject(trace=_text(line, ("id",)), session=_text(line, _SESSION))
    return ids if _is_trace(line) and ids.trace and ids.session else None


def _subject_of_score(row: dict[str, Json]) -> ScoreSubject:
    """Return what a score is about; version 3 of the API has an object for it."""
    about = row.get("subject")
    if not isinstance(about, dict):
        exchange, trace, session = (_string(_first(row, names)) for names in (_OBSERVATION, _TRACE, _SESSION))
        return ScoreSubject(exchange, trace, session)
    name, kind = _string(about.get("id")), about.get("kind")
    if kind == "observation":
        return ScoreSubject(name, _string(about.get("traceId")))
    return ScoreSubject(trace=name if kind == "trace" else "", session=name if kind == "session" else "")


def _kind(line: Members) -> str | None:
    return _word(line.get("type", b"null"))


def _word(raw: bytes) -> str | None:
    """Return a string member; ``None`` for other values."""
    return _short_word(raw) if len(raw) < _SHORT else _parse_word(raw)


def _parse_word(raw: bytes) -> str | None:
    value = jsonio.value(raw)
    return value if isinstance(value, str) else None


_SHORT = 64
_short_word = lru_cache(maxsize=64)(_parse_word)  # types and models repeat from row to row


def _is_score(line: Members) -> bool:
    return _word(first_present(line, _TYPES) or b"null") in _TYPES_OF_SCORES and "name" in line


def _is_trace(line: Members) -> bool:
    return "bookmarked" in line and "type" not in line and "id" in line


def _text(line: Members, names: tuple[str, ...]) -> str:
    return _string(jsonio.value(first_present(line, names) or b"null"))


def _string(value: Json) -> str:
    return value if isinstance(value, str) else ""


def score_pair(score: Json) -> tuple[Json, Json]:
    """Return the name and the value of a score; ``None`` for free text and corrections."""
    kind, value, label = _first(score, _TYPES), score.get("value"), _first(score, _LABELS)
    if isinstance(value, str) and kind in ("BOOLEAN", "NUMERIC"):
        value = jsonio.value(value)  # a cell of a CSV file
    if kind == "BOOLEAN":
        value = value == 1 if value in (0, 1) else None
    elif kind == "CATEGORICAL":
        value = label if label is not None else value
    elif kind not in ("NUMERIC", None):
        value = None
    return score.get("name"), value


def _first(score: Json, names: tuple[str, ...]) -> Json:
    """Return the first of these members that is not null or empty; exports and the API spell them differently."""
    return next((score[name] for name in names if score.get(name) not in (None, "")), None)


def _request(line: Members) -> bytes | None:
    """Return the request in a list of messages, an object with such a list, or a single string."""
    value = unquoted_value(line.get("input"))
    request = _bodies.request(value)
    if request is None:
        return None
    # OpenLLMetry writes content blocks as text.
    if isinstance(value, list) and "messages" in request:
        request["messages"] = list(map(_with_blocks, request["messages"]))
    model = _word(first_present(line, _MODELS) or b"null")
    request = {"model": model, **request} if model is not None else request
    tools = _tools(line)
    return jsonio.dumps({**request, "tools": tools} if tools and not request.get("tools") else request)


def _with_blocks(message: Json) -> Json:
    from chatsquash.formats.exports.otel import flattened  # imported late because other envelopes do not need it

    content = message.get("content") if isinstance(message, dict) else None
    blocks = flattened.content(content) if isinstance(content, str) else content
    return message if blocks is content else {**message, "content": blocks}


def _tools(line: Members) -> list[Json]:
    """Return the tool definitions of a row: by name or in a list, each possibly a JSON string."""
    value = unquoted_value(first_present(line, _DEFINITIONS))
    definitions = [_with_name(*each) for each in value.items()] if isinstance(value, dict) else as_list(value)
    return [tool for each in definitions if (tool := function_tool(each))]


def _with_name(name: str, definition: Json) -> Json:
    """Return a definition with its name."""
    members = jsonio.value(definition) if isinstance(definition, str) else definition
    return {"name": name, **members} if isinstance(members, dict) else None


def _response(line: Members) -> bytes:
    """Return the output as a chat response, unless it is a provider's body."""
    model = _word(first_present(line, _MODELS) or b"null")
    return jsonio.dumps(_bodies.response(unquoted_value(line.get("output")), model))
