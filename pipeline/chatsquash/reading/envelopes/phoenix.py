"""Spans of OpenInference, as Phoenix exports them: messages in attributes with numbers in their names."""

from __future__ import annotations

import re
from typing import Any

from chatsquash.core import jsonio
from chatsquash.core.model import Json
from chatsquash.formats import parts
from chatsquash.formats.definitions import function_tool
from chatsquash.formats.providers.openai_chat.response import holding
from chatsquash.formats.values import as_list, at
from chatsquash.reading.envelopes import _bodies
from chatsquash.reading.members import Members, first_present, present, within

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
"""What the representation of an object of Python begins with."""
_BODIES = ("choices", "candidates", "content", "output", "generations")
"""The members of which a response has one."""
_TRACES = ("context.trace_id", "trace_id", "traceId")


def fits(line: Members) -> bool:
    """Attributes that OpenInference names."""
    attributes = line.get("attributes", b"")
    flat = any(name.startswith(("attributes.llm.", "attributes.openinference.")) for name in line)
    return (
        flat
        or b"openinference" in attributes
        or b"llm.input_messages" in attributes
        or b'"input_messages"' in attributes
    )


def aside(line: Members) -> str | None:
    """What a span is that is no exchange."""
    attributes = _attributes(line)
    of = at(attributes, "openinference", "span", "kind") or jsonio.value(line.get("span_kind", b"null"))
    return f"span of the kind {of}" if isinstance(of, str) and of.upper() != "LLM" else None


def session(line: Members) -> bytes | None:
    """The session that the client named, else the trace."""
    named = at(_attributes(line), "session", "id")
    if isinstance(named, str) and named:
        return jsonio.dumps(named)
    return first_present(line, _TRACES) or first_present(within(line.get("context")), ("trace_id",))


def unwrap(line: Members) -> Members:
    """The bodies of the provider where they are kept, else the messages of the attributes."""
    attributes = _attributes(line)
    asked, given = _request(attributes), _response(attributes)
    repr_of = next((name for name in ("input", "output") if _is_python(at(attributes, name, "value"))), None)
    problem = f"its {repr_of} is the text of an object of Python" if repr_of and not (asked and given) else None
    problem = problem or (None if asked else "its attributes have no messages")
    return present(
        request=jsonio.dumps(asked) if asked else None,
        response=jsonio.dumps(given) if given is not None else None,
        status=b"500" if line.get("status_code") in (b'"ERROR"', b'"STATUS_CODE_ERROR"') else None,
        timestamp=line.get("start_time"),
        session_id=session(line),
        problem=jsonio.dumps(problem) if problem and not asked else None,
    )


def _attributes(line: Members) -> dict[str, Json]:
    """The attributes of a span, each name with a point as a member of a member."""
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
    """What stands under numbers, in their order, or in a list."""
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
    made = _bodies.request(body) if isinstance(body, dict | list) else None
    if made is None:
        listed = _numbered_values(at(attributes, "llm", "input_messages"))
        messages = [_message(at(each, "message") or each) for each in listed]
        if not messages:
            return None
        made = {"messages": _bodies.join_pieces(messages)}
    if isinstance(model, str) and "model" not in made:
        made = {"model": model, **made}
    tools = [tool for each in _numbered_values(at(attributes, "llm", "tools")) if (tool := _tool(each))]
    tools = tools or _invocation_tools(attributes)
    return {**made, "tools": tools} if tools and not made.get("tools") else made


def _invocation_tools(attributes: dict[str, Json]) -> list[Json]:
    """The definitions among the parameters of a call, which are spelled as a text."""
    given = at(attributes, "llm", "invocation_parameters")
    parameters = jsonio.value(given) if isinstance(given, str) else given
    return as_list(at(parameters, "tools"))


def _message(message: Json) -> Json:
    """A message as OpenAI chat has it."""
    if not isinstance(message, dict):
        return message
    members: dict[str, Json] = {}
    for name, value in message.items():
        _put(members, name.removeprefix("message.").split("."), value)
    made: dict[str, Json] = {"role": members.get("role"), "content": members.get("content")}
    contents = [at(each, "message_content") or each for each in _numbered_values(members.get("contents"))]
    if contents and made["content"] is None:
        # Calls among the parts are those of the message once more.
        made["content"] = parts.content([_part(each) for each in contents if at(each, "type") != "tool_use"])
    calls = [at(each, "tool_call") or each for each in _numbered_values(members.get("tool_calls"))]
    if calls:
        made["tool_calls"] = [
            {
                "id": at(call, "id"),
                "type": "function",
                "function": {"name": at(call, "function", "name"), "arguments": at(call, "function", "arguments")},
            }
            for call in calls
        ]
    if members.get("tool_call_id"):
        made["tool_call_id"] = members["tool_call_id"]
    return made


def _part(part: Json) -> Json:
    """A part of a content as OpenAI chat has it."""
    said, shown = at(part, "text"), at(part, "image", "image", "url")
    if at(part, "type") == "reasoning" and isinstance(said, str):
        return {"type": "thinking", "thinking": said, "signature": at(part, "signature") or ""}
    if isinstance(said, str):
        return parts.text(said)
    return {"type": "image_url", "image_url": {"url": shown}} if isinstance(shown, str) else part


def _tool(value: Json) -> Json:
    """A definition, which is spelled as a text."""
    return function_tool(at(value, "tool", "json_schema") or at(value, "json_schema"))


def _response(attributes: dict[str, Json]) -> Json:
    raw, model = at(attributes, "output", "value"), at(attributes, "llm", "model_name")
    body = jsonio.value(raw) if isinstance(raw, str) else raw
    if isinstance(body, dict) and any(name in body for name in _BODIES):
        return _bodies.response(body, model)
    listed = _numbered_values(at(attributes, "llm", "output_messages"))
    messages = _bodies.join_pieces([_message(at(each, "message") or each) for each in listed])
    if not messages:
        return None
    made = holding(messages[0], model)
    made["choices"] += [{"index": number, "message": each} for number, each in enumerate(messages[1:], 1)]
    if isinstance(reason := at(attributes, "llm", "finish_reason"), str) and reason:
        from chatsquash.formats.providers.anthropic.response import FINISHED  # which other envelopes do not need

        made["choices"][0]["finish_reason"] = FINISHED.get(reason, reason)
    used = at(attributes, "llm", "token_count")
    if isinstance(used, dict):
        made["usage"] = {"prompt_tokens": used.get("prompt"), "completion_tokens": used.get("completion")}
    return made
