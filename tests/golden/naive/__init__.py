"""What a log of any format must give, done the slow and obvious way: every line in full, every turn by itself.

Written from the specification of the formats, one module each; nothing of ``chatsquash`` is used but the type of the
options.  Only what the golden cases hold is read: no cleaning, no validation, no calls as text.

A module has ``conversation(request)``, the messages of a request; ``tools(request)``, its functions, flattened;
``reply(response)``, the message of a whole response's body or ``None``; and ``whole(events)``, the body of a streamed
one.
"""

from __future__ import annotations

import json
from typing import Any

import orjson

from chatsquash import Options
from tests.golden.naive import anthropic, envelopes, gemini, ollama, openai_chat, openai_responses

FORMATS: dict[str, Any] = {
    "anthropic": anthropic,
    "gemini": gemini,
    "ollama": ollama,
    "openai_chat": openai_chat,
    "openai_responses": openai_responses,
}

Object = dict[str, Any]


def convert(data: bytes, options: Options, form: str | None, *, by_id: bool) -> list[bytes]:
    """The records of a log, in the order in which their sessions begin; ``form`` is ``None`` where lines differ."""
    sessions: dict[Any, list[Object]] = {}
    for line in data.split(b"\n"):
        if line.strip():
            entry = envelopes.unwrap(json.loads(line))
            sessions.setdefault(entry["session_id"] if by_id else None, []).append(entry)
    return [orjson.dumps(record(entries, options, form)) for entries in sessions.values()]


def record(entries: list[Object], options: Options, form: str | None) -> Object:
    """The record of one session: the last request that has the most messages, and its reply."""
    read = [FORMATS[form or envelopes.which(entry)] for entry in entries]
    history = openai_responses.chained(entries) if form == "openai_responses" else entries
    requests = [module.conversation(entry["request"]) for module, entry in zip(read, history, strict=True)]
    best = max(range(len(entries)), key=lambda at: (len(requests[at]), at))
    messages = [*requests[best], *answer(read[best], entries[best], requests[best])]
    functions: dict[str, Object] = {}
    for module, entry in zip(read[: best + 1], entries, strict=False):
        for tool in module.tools(entry["request"]):
            functions.setdefault(tool["name"], tool)
    return {"messages": [spoken(message, options) for message in messages], "tools": list(functions.values())}


def answer(module: Any, entry: Object, before: list[Object]) -> list[Object]:
    """The reply, if there is one; ids that were made up go on from those of the request."""
    response = entry["response"]
    events = envelopes.events(response)
    message = module.reply(response if events is None else module.whole(events))
    if message is None or entry.get("status", 200) != 200:
        return []
    made = sum(call["id"].startswith("call_") for said in before for call in said.get("tool_calls") or [])
    for call in message.get("tool_calls") or []:
        if call.get("id", "").startswith("call_") and call["id"][5:].isdigit():
            call["id"] = f"call_{made + int(call['id'][5:])}"
    return [message]


def spoken(message: Object, options: Options) -> Object:
    """A message as records have it: without nulls, ``developer`` as ``system``, reasoning as asked for."""
    message = {key: value for key, value in message.items() if value is not None}
    if message["role"] == "developer":
        message["role"] = "system"
    if options.reasoning != "keep":
        thought = message.pop("reasoning_content", None)
        if thought and options.reasoning == "inline":
            message["content"] = f"<think>\n{thought}\n</think>\n\n{message.get('content', '')}"
    return message
