"""LangSmith's runs, of which those of language models are exchanges; messages may be LangChain's own."""

from __future__ import annotations

from chatsquash.core import jsonio
from chatsquash.core.model import Json
from chatsquash.formats.values import at
from chatsquash.reading.envelopes import _bodies
from chatsquash.reading.members import Members, first_present, present, unquoted

NAME = "LangSmith"
WHAT = "`{run_type: llm, inputs, outputs, start_time, extra}`"
NEEDS = (frozenset(("run_type", "inputs")),)
SESSION = ("trace_id",)
MIXES = True

_THREADS = ("thread_id", "session_id", "conversation_id")


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
    made = _bodies.request(inputs) if isinstance(inputs, dict) else None
    if made is None:
        return None
    given = at(extra, "invocation_params")
    tools = made.get("tools") or at(given, "tools") or made.get("functions") or at(given, "functions")
    model = at(extra, "metadata", "ls_model_name") or at(given, "model") or made.get("model")
    limit = at(given, "max_tokens")
    made |= {"model": model} if isinstance(model, str) else {}
    made |= {"max_tokens": limit} if isinstance(limit, int) and "max_tokens" not in made else {}
    return {**made, "tools": tools} if isinstance(tools, list) and tools else made


def _response(outputs: Json, asked: dict[str, Json] | None) -> Json:
    """What came out as a response of chat, unless it is a body of a provider."""
    listed = at(outputs, "messages")
    if isinstance(listed, list) and listed:
        outputs = listed[-1:]
    return _bodies.response(outputs, at(asked, "model"))
