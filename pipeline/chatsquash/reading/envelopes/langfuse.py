"""Langfuse's observations, as it exports them to blob storage and as its API gives them."""

from __future__ import annotations

from chatsquash.core import jsonio
from chatsquash.core.model import Json
from chatsquash.formats.definitions import function_tool
from chatsquash.formats.values import as_list
from chatsquash.reading.envelopes import _bodies
from chatsquash.reading.members import Members, first_present, present, unquoted

NAME = "Langfuse"
WHAT = "`{type: GENERATION, trace_id, input, output, start_time}`"
NEEDS = (
    frozenset(("trace_id", "type", "start_time")),
    frozenset(("traceId", "type", "startTime")),
)
SESSION = ("session_id", "sessionId", "trace_id", "traceId")
MIXES = True

_KINDS = ("SPAN", "GENERATION", "EVENT", "AGENT", "TOOL", "CHAIN", "RETRIEVER", "EVALUATOR", "EMBEDDING", "GUARDRAIL")
_TIMES, _MODELS = ("start_time", "startTime"), ("provided_model_name", "model")
_DEFINED = ("tool_definitions", "toolDefinitions", "tools")


def fits(line: Members) -> bool:
    """An observation, by its type."""
    return jsonio.value(line["type"]) in _KINDS


def aside(line: Members) -> str | None:
    """What a row is that is no exchange: those around generations say the same once more."""
    of = jsonio.value(line["type"])
    return None if of == "GENERATION" else f"observation of the type {of}"


def unwrap(line: Members) -> Members:
    """What went in, as a request, and what came out, as a response; both are texts, mostly of JSON."""
    asked, given = _request(jsonio.value(unquoted(line.get("input")) or b"null"), line), unquoted(line.get("output"))
    return present(
        request=jsonio.dumps(asked) if asked else None,
        response=jsonio.dumps(_response(jsonio.value(given or b"null"), line)),
        status=b"500" if line.get("level") == b'"ERROR"' else None,
        timestamp=first_present(line, _TIMES),
        session_id=first_present(line, SESSION),
        problem=b'"its input is no list of messages"' if not asked else None,
    )


def _request(value: Json, line: Members) -> dict[str, Json] | None:
    """A request: a list of messages, an object with it, or one text."""
    made = _bodies.request(value)
    if made is None:
        return None
    if isinstance(value, list) and "messages" in made:  # of OpenLLMetry, which spells blocks as a text
        made["messages"] = list(map(_with_blocks, made["messages"]))
    model = jsonio.value(first_present(line, _MODELS) or b"null")
    made = {"model": model, **made} if isinstance(model, str) else made
    defined = _tools(line)
    return {**made, "tools": defined} if defined and not made.get("tools") else made


def _with_blocks(message: Json) -> Json:
    from chatsquash.formats.exports.otel import flattened  # which other envelopes do not need

    given = message.get("content") if isinstance(message, dict) else None
    made = flattened.content(given) if isinstance(given, str) else given
    return message if made is given else {**message, "content": made}


def _tools(line: Members) -> list[Json]:
    """The definitions of a row, by their names or in a list, each maybe spelled as a text."""
    value = jsonio.value(unquoted(first_present(line, _DEFINED)) or b"null")
    definitions = [_with_name(*each) for each in value.items()] if isinstance(value, dict) else as_list(value)
    return [tool for each in definitions if (tool := function_tool(each))]


def _with_name(name: str, definition: Json) -> Json:
    """A definition with its name."""
    members = jsonio.value(definition) if isinstance(definition, str) else definition
    return {"name": name, **members} if isinstance(members, dict) else None


def _response(value: Json, line: Members) -> Json:
    """What came out as a response of chat, unless it is a body of a provider."""
    return _bodies.response(value, jsonio.value(first_present(line, _MODELS) or b"null"))
