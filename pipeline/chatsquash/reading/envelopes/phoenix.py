"""OpenInference spans exported by Phoenix, with messages in attributes whose names contain numbers."""

from __future__ import annotations

import re
from typing import Any

from chatsquash.core import jsonio
from chatsquash.core.model import Json
from chatsquash.formats import parts
from chatsquash.formats.definitions import function_tool
from chatsquash.formats.providers.openai_chat import response_body
from chatsquash.formats.values import as_list, at
from chatsquash.reading.envelopes import _bodies
from chatsquash.reading.members import Members, first_present, object_members, present

NAME = "Phoenix"
WHAT = "`{attributes: {llm.input_messages.0.message.role, ...}, start_time}`"
NEEDS = (
    frozenset(("attributes", "start_time")),
    frozenset(("attributes.openinference.span.kind", "start_time")),
    frozenset(("attributes.llm.input_messages", "start_time")),
)
SESSION = ("session_id",)
MIXES = True

_BEGINS, _KIND = "attributes.", "openinference.span.kind"
_PYTHON = re.compile(r"\s*+\w++\((?:\w+=|\[|')|\s*+\[\w+\(")
"""The beginning of the representation of a Python object."""
_BODIES = ("choices", "candidates", "content", "output", "generations")
"""Members of a response, which has at least one of them."""
_TRACES = ("context.trace_id", "trace_id", "traceId")


def fits(line: Members) -> bool:
    """Return whether a line has OpenInference attributes."""
    attributes = line.get("attributes", b"")
    flat = any(name.startswith(("attributes.llm.", "attributes.openinference.")) for name in line)
    return (
        flat
        or b"openinference" in attributes
        or b"llm.input_messages" in attributes
        or b'"input_messages"' in attributes
    )


def describe_non_exchange(line: Members) -> str | None:
    """Describe a span that is not an exchange."""
    attributes = _attributes(line)
    kind = at(attributes, "openinference", "span", "kind") or jsonio.value(line.get("span_kind", b"null"))
    return f"span of kind {kind}" if isinstance(kind, str) and kind.upper() != "LLM" else None


def session(line: Members) -> bytes | None:
    """Return the client's session id, or else the trace id."""
    session_id = at(_attributes(line), "session", "id")
    if isinstance(session_id, str) and session_id:
        return jsonio.dumps(session_id)
    return first_present(line, _TRACES) or first_present(object_members(line.get("context")), ("trace_id",))


def unwrap(line: Members) -> Members:
    """Return the provider's bodies if they are stored, and otherwise the messages in the attributes."""
    attributes = _attributes(line)
    request, response = _request(attributes), _response(attributes)
    repr_of = next((name for name in ("input", "output") if _is_python(at(attributes, name, "value"))), None)
    problem = f"its {repr_of} is the repr of a Python object" if repr_of and not (request and response) else None
    problem = problem or (None if request else "its attributes have no messages")
    return present(
        request=jsonio.dumps(request) if request else None,
        response=jsonio.dumps(response) if response is not None else None,
        status=b"500" if line.get("status_code") in (b'"ERROR"', b'"STATUS_CODE_ERROR"') else None,
        timestamp=line.get("start_time"),
        session_id=session(line),
        problem=jsonio.dumps(problem) if problem and not request else None,
    )


def _attributes(line: Members) -> dict[str, Json]:
    """Return the attributes of a span, with nested members for names with dots."""
    attributes = jsonio.value(line["attributes"]) if "attributes" in line else {}
    flat = dict(attributes) if isinstance(attributes, dict) else {}
    flat |= {name[len(_BEGINS) :]: jsonio.value(raw) for name, raw in line.items() if name.startswith(_BEGINS)}
    nested: dict[str, Json] = {}
    for name, value in flat.items():
        _put(nested, name.split("."), value)
    return nested


def _put(holder: dict[str, Json], path: list[str], value: Json) -> None:
    inside: Any = holder
    for name in path[:-1]:
        if not isinstance(inside.get(name), dict):
            inside[name] = {}
        inside = inside[name]
    if isinstance(value, dict) and isinstance(inside.get(path[-1]), dict):
        inside[path[-1]].update(value)
    else:
        inside[path[-1]] = value


def _numbered_values(value: Json) -> list[Json]:
    """Return the values with numeric names in numeric order, or those of a list."""
    if isinstance(value, list):
        return value
    if not isinstance(value, dict):
        return []
    numbers = sorted((int(name) for name in value if name.isdigit() and len(name) < 9), key=int)
    return [value[str(number)] for number in numbers if str(number) in value]


def _is_python(value: Json) -> bool:
    return isinstance(value, str) and _PYTHON.match(value[:200]) is not None


def _request(attributes: dict[str, Json]) -> dict[str, Json] | None:
    raw = at(attributes, "input", "value")
    body = jsonio.value(raw) if isinstance(raw, str) else raw
    model = at(attributes, "llm", "model_name")
    request = _bodies.request(body) if isinstance(body, dict | list) else None
    if request is None:
        items = _numbered_values(at(attributes, "llm", "input_messages"))
        messages = [_message(at(each, "message") or each) for each in items]
        if not messages:
            return None
        request = {"messages": _bodies.join_pieces(messages)}
    if isinstance(model, str) and "model" not in request:
        request = {"model": model, **request}
    tools = [tool for each in _numbered_values(at(attributes, "llm", "tools")) if (tool := _tool(each))]
    tools = tools or _invocation_tools(attributes)
    return {**request, "tools": tools} if tools and not request.get("tools") else request


def _invocation_tools(attributes: dict[str, Json]) -> list[Json]:
    """Return the tool definitions in the invocation parameters, which are written as a string."""
    value = at(attributes, "llm", "invocation_parameters")
    parameters = jsonio.value(value) if isinstance(value, str) else value
    return as_list(at(parameters, "tools"))


def _message(message: Json) -> Json:
    """Return a message in the OpenAI chat format."""
    if not isinstance(message, dict):
        return message
    members: dict[str, Json] = {}
    for name, value in message.items():
        _put(members, name.removeprefix("message.").split("."), value)
    result: dict[str, Json] = {"role": members.get("role"), "content": members.get("content")}
    contents = [at(each, "message_content") or each for each in _numbered_values(members.get("contents"))]
    if contents and result["content"] is None:
        # Calls among the parts repeat the calls of the message.
        result["content"] = parts.content([_part(each) for each in contents if at(each, "type") != "tool_use"])
    calls = [at(each, "tool_call") or each for each in _numbered_values(members.get("tool_calls"))]
    if calls:
        result["tool_calls"] = [
            {
                "id": at(call, "id"),
                "type": "function",
                "function": {"name": at(call, "function", "name"), "arguments": at(call, "function", "arguments")},
            }
            for call in calls
        ]
    if members.get("tool_call_id"):
        result["tool_call_id"] = members["tool_call_id"]
    return result


def _part(part: Json) -> Json:
    """Return a content part in the OpenAI chat format."""
    text, url = at(part, "text"), at(part, "image", "image", "url")
    if at(part, "type") == "reasoning" and isinstance(text, str):
        return {"type": "thinking", "thinking": text, "signature": at(part, "signature") or ""}
    if isinstance(text, str):
        return parts.text(text)
    return {"type": "image_url", "image_url": {"url": url}} if isinstance(url, str) else part


def _tool(value: Json) -> Json:
    """Return a tool definition, which is written as a string."""
    return function_tool(at(value, "tool", "json_schema") or at(value, "json_schema"))


def _response(attributes: dict[str, Json]) -> Json:
    raw, model = at(attributes, "output", "value"), at(attributes, "llm", "model_name")
    body = jsonio.value(raw) if isinstance(raw, str) else raw
    if isinstance(body, dict) and any(name in body for name in _BODIES):
        return _bodies.response(body, model)
    items = _numbered_values(at(attributes, "llm", "output_messages"))
    messages = _bodies.join_pieces([_message(at(each, "message") or each) for each in items])
    if not messages:
        return None
    response = response_body(messages[0], model)
    response["choices"] += [{"index": number, "message": each} for number, each in enumerate(messages[1:], 1)]
    if isinstance(reason := at(attributes, "llm", "finish_reason"), str) and reason:
        from chatsquash.formats.providers.anthropic.response import (
            FINISHED,
        )  # imported late because other envelopes do not need it

        response["choices"][0]["finish_reason"] = FINISHED.get(reason, reason)
    token_counts = at(attributes, "llm", "token_count")
    if isinstance(token_counts, dict):
        response["usage"] = {
            "prompt_tokens": token_counts.get("prompt"),
            "completion_tokens": token_counts.get("completion"),
        }
    return response
