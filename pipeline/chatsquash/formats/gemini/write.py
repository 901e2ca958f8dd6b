"""A conversation as a request to Gemini: the system instruction, contents, tools."""

from __future__ import annotations

import re
from typing import Any

from chatsquash import chat
from chatsquash.formats.base import LoadedTurn
from chatsquash.formats.calls import (
    State,
    call_name,
    defined,
    is_custom,
    needed_ids,
    parsed,
    referred,
    takes_text,
    turns,
)
from chatsquash.formats.gemini.compose import call_part, model_parts, shown
from chatsquash.formats.gemini.pieces import WAS_SYSTEM
from chatsquash.formats.gemini.request import START, load, response_text, system
from chatsquash.formats.links import Names, distinct, renamed
from chatsquash.formats.values import Object, objects, string
from chatsquash.model import Conversation, Json, Message, Tool

_SYSTEM = ("system", "developer")
_ROLES = (*_SYSTEM, "user", "assistant", "tool")
_NAMES = Names(re.compile(r"[^a-zA-Z0-9_.:-]"), longest=128, starts=re.compile("[a-zA-Z_]"))
_DECLARED = ("response", "responseJsonSchema", "behavior")
"""Members of a declared function that OpenAI's have not."""


def dump(conversation: Conversation) -> Json:
    """The request's members that hold the conversation.

    A developer's message is a system prompt, and one in the middle a user's, marked as what it is; a refusal is a text,
    and the texts of a result are one.  Ids that stand twice and names that Gemini refuses become others.
    """
    conversation = renamed(conversation, _NAMES)
    messages = distinct([each for each in conversation.messages if string(each, "role") in _ROLES])
    body: dict[str, Any] = {}
    if messages and messages[0]["role"] in _SYSTEM and system(prompt := {"parts": shown(messages[0])}):
        body["systemInstruction"] = prompt
        messages = messages[1:]
    writer = _Writer(messages)
    body["contents"] = [writer.content(turn) for turn in turns(messages, lambda message: shown(message) != [])]
    if declared := [made for tool in conversation.tools if (made := _declaration(tool))]:
        body["tools"] = [{"functionDeclarations": declared}]
    return body


class _Writer:
    """What is known of the turns before; ids that the reader makes up just so are left out."""

    def __init__(self, messages: list[Message]) -> None:
        self.state: State = START
        self.names: dict[str, str] = {}
        self.linked = referred(messages)

    def content(self, messages: list[Message]) -> Object:
        """The content of a turn."""
        first = messages[0]
        if first["role"] == "tool":
            return self._heard(messages)
        if first["role"] == "assistant":
            made = {"role": "model", "parts": model_parts(first, self._calls(first)) or [{"text": ""}]}
        elif first["role"] in _SYSTEM:
            made = {"role": "user", "parts": [_marked(part) for part in shown(first) or [{"text": ""}]]}
        else:
            made = {"role": "user", "parts": shown(first) or [{"text": ""}]}
        self.state = load(made, self.state).state
        return made

    def _calls(self, message: Message) -> list[Object]:
        calls = chat.calls(message)
        self.names |= {string(call, "id"): call_name(call) or "" for call in calls}
        ids = needed_ids(calls, self.state.call, self.linked)
        return [call_part(call, call_id or None) for call, call_id in zip(calls, ids, strict=True)]

    def _heard(self, messages: list[Message]) -> Object:
        """Results, which lead, and what the user said with them; without ids if they are found without them."""
        results = [message for message in messages if message["role"] == "tool"]
        said = [part for message in messages if message["role"] != "tool" for part in shown(message)]
        for needs_id in (_is_logged, bool):
            answers = [self._result(each, _id(each) if needs_id(each) else "") for each in results]
            made: Object = {"role": "user", "parts": [*answers, *said]}
            loaded = load(made, self.state)
            if _answered(loaded) == [_id(each) for each in results]:
                break
        self.state = loaded.state
        return made

    def _result(self, message: Message, answered: str) -> Object:
        found = shown(message)
        text = "\n".join(part["text"] for part in found if "text" in part)
        media = [part for part in found if "text" not in part]
        name = string(message, "name") or self.names.get(_id(message), "")
        members = {"id": answered, "name": name, "response": _response(text, chat.private(message)), "parts": media}
        return {"functionResponse": {key: value for key, value in members.items() if value or key == "response"}}


def _id(message: Message) -> str:
    return string(message, "tool_call_id")


def _is_logged(message: Message) -> bool:
    return not chat.private(message).get("synthetic_id")


def _answered(loaded: LoadedTurn) -> list[Json]:
    return [message["tool_call_id"] for message in loaded.messages if message["role"] == "tool"]


def _marked(part: Object) -> Object:
    """What the system says among the contents, where it has no role."""
    text = {"text": f"<system>{part['text']}</system>"} if "text" in part else {}
    return {**part, **text, "partMetadata": WAS_SYSTEM}


def _response(text: str, held: Object) -> Object:
    """A result as the object that it must be; one that was JSON is JSON again, if it is read as the same text."""
    if held.get("is_error"):
        return {"error": text}
    if held.get("json"):
        value = parsed(text)
        for made in (value, {"output": value}):
            if isinstance(made, dict) and response_text(made) == (text, {"json": True}):
                return made
    return {"output": text}


def _declaration(tool: Tool) -> Object | None:
    """A function; its schema is JSON Schema, which ``parameters`` is not; a custom tool's takes its text."""
    function = defined(tool)
    if not isinstance(function, dict) or not string(function, "name"):
        return None
    made = {key: function[key] for key in ("name", "description") if isinstance(function.get(key), str)}
    if is_custom(tool):
        return {**made, "parametersJsonSchema": takes_text()}
    if function.get("parameters") is not None:
        made["parametersJsonSchema"] = function["parameters"]
    native = objects(chat.private(tool).get("native"))
    return {**made, **{key: known[key] for known in native for key in _DECLARED if key in known}}
