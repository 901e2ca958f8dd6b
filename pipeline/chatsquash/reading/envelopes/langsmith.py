"""LangSmith's runs, of which those of language models are exchanges; messages may be LangChain's own."""

from __future__ import annotations

from chatsquash.core import jsonio
from chatsquash.core.model import Json
from chatsquash.formats.providers.openai_chat.response import holding
from chatsquash.formats.values import at
from chatsquash.reading.members import Members, first_present, present, unquoted

NAME = "LangSmith"
WHAT = "`{run_type: llm, inputs, outputs, start_time, extra}`"
NEEDS = (frozenset(("run_type", "inputs")),)
SESSION = ("trace_id",)
MIXES = True

_THREADS = ("thread_id", "session_id", "conversation_id")
_ROLES = {"human": "user", "ai": "assistant", "system": "system", "tool": "tool", "function": "tool"}


def fits(line: Members) -> bool:
    """All that have the members."""
    return "request" not in line


def aside(line: Members) -> str | None:
    """What a run is that is no exchange: chains and tools say the same once more."""
    of = jsonio.value(line["run_type"])
    return None if of == "llm" else f"run of the type {of}"


def session(line: Members) -> bytes | None:
    """The thread that the client named, else the trace; what is called a session there is a project."""
    metadata = at(jsonio.value(unquoted(line.get("extra")) or b"null"), "metadata")
    named = next((value for name in _THREADS if isinstance(value := at(metadata, name), str) and value), None)
    return jsonio.dumps(named) if named else first_present(line, ("trace_id", "id"))


def unwrap(line: Members) -> Members:
    """What went in and what came out."""
    extra = jsonio.value(unquoted(line.get("extra")) or b"null")
    asked = _request(jsonio.value(unquoted(line.get("inputs")) or b"null"), extra)
    given = jsonio.value(unquoted(line.get("outputs")) or b"null")
    has_failed = jsonio.value(line.get("error", b"null")) not in (None, "")
    return present(
        request=jsonio.dumps(asked) if asked else None,
        response=jsonio.dumps(_response(given, asked)) if given is not None else None,
        status=b"500" if has_failed else None,
        timestamp=line.get("start_time"),
        session_id=session(line),
        problem=b'"its inputs have no messages"' if not asked else None,
    )


def _request(inputs: Json, extra: Json) -> dict[str, Json] | None:
    messages = at(inputs, "messages")
    if isinstance(messages, list) and len(messages) == 1 and isinstance(messages[0], list):
        messages = messages[0]
    if not isinstance(messages, list):
        return None
    given = at(extra, "invocation_params")
    tools = at(inputs, "tools") or at(given, "tools") or at(inputs, "functions") or at(given, "functions")
    model = at(extra, "metadata", "ls_model_name") or at(given, "model") or at(inputs, "model")
    made: dict[str, Json] = {"model": model} if isinstance(model, str) else {}
    made["messages"] = [_message(message) for message in messages]
    return {**made, "tools": tools} if isinstance(tools, list) and tools else made


def _message(message: Json) -> Json:
    """A message of LangChain, spelled out or shortened, as one of OpenAI chat."""
    if not isinstance(message, dict) or "role" in message:
        return message
    members = message.get("kwargs") if isinstance(message.get("kwargs"), dict) else message.get("data", message)
    if not isinstance(members, dict):
        return message
    of = members.get("type") or message.get("type")
    role = _ROLES.get(of) if isinstance(of, str) else None
    role = role or _by_class(message.get("id"))
    if role is None:
        return message
    made: dict[str, Json] = {"role": role, "content": members.get("content")}
    calls = members.get("tool_calls")
    if isinstance(calls, list) and calls:
        made["tool_calls"] = list(map(_call, calls))
        made["content"] = made["content"] or None
    for name in ("tool_call_id", "name"):
        if members.get(name):
            made[name] = members[name]
    if members.get("status") == "error" and role == "tool":
        made["is_error"] = True
    thought = at(members.get("additional_kwargs"), "reasoning_content")
    return {**made, "reasoning_content": thought} if isinstance(thought, str) and thought else made


def _by_class(names: Json) -> str | None:
    last = names[-1] if isinstance(names, list) and names and isinstance(names[-1], str) else ""
    return next((role for of, role in _ROLES.items() if last.lower().startswith(of)), None)


def _call(call: Json) -> Json:
    if not isinstance(call, dict) or "function" in call:
        return call
    function = {"name": call.get("name"), "arguments": jsonio.dumps(call.get("args")).decode()}
    return {"id": call.get("id"), "type": "function", "function": function}


def _response(outputs: Json, asked: dict[str, Json] | None) -> Json:
    """What came out as a response of chat, unless it is a body of a provider."""
    if at(outputs, "choices") is not None or at(outputs, "candidates") is not None:
        return outputs
    message = at(outputs, "message")
    generations = at(outputs, "generations")
    while isinstance(generations, list) and generations:
        generations = generations[0]
    if isinstance(generations, dict):
        message = generations.get("message") or {"role": "assistant", "content": generations.get("text")}
    listed = at(outputs, "messages")
    if message is None and isinstance(listed, list) and listed:
        message = listed[-1]
    if message is None and isinstance(outputs, dict) and "role" in outputs:
        message = outputs
    if message is None:
        return outputs
    return holding(_message(message), at(asked, "model"))
