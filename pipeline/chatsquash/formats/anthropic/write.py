"""A conversation as a request to Anthropic: the system prompt, turns, tools."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from chatsquash import chat
from chatsquash.formats.anthropic.compose import REFERENCES, blocks, call_block, is_text, used
from chatsquash.formats.anthropic.request import START
from chatsquash.formats.calls import State, defined, is_custom, names, parsed, takes_text, turns
from chatsquash.formats.links import Names, distinct, renamed
from chatsquash.formats.values import Object, string
from chatsquash.model import Conversation, Json, Message, Tool

_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "user"}
_UNFIT = re.compile(r"[^a-zA-Z0-9_-]")
_NAMES = Names(_UNFIT, longest=128)
_TOOL_MEMBERS = (
    "type",
    "cache_control",
    "allowed_callers",
    "defer_loading",
    "eager_input_streaming",
    "input_examples",
    "display_height_px",
    "display_width_px",
    "display_number",
    "enable_zoom",
    "max_characters",
)
"""Members of a tool that OpenAI's have not."""
_CLIENT_TOOLS = ("bash_", "text_editor_", "computer_", "memory_")
"""Tools that Anthropic defines, whose schema is not told."""


def dump(conversation: Conversation) -> Json:
    """The request's members that hold the conversation.

    A developer's message is a system prompt, a refusal a text; sounds, names of results and whether a result was JSON
    have no place.  Ids that stand twice and names that Anthropic refuses become others.
    """
    conversation = renamed(conversation, _NAMES)
    messages, body = [each for each in conversation.messages if string(each, "role") in _ROLES], dict[str, Any]()
    prompt = _prompt(messages[0]) if messages else None
    if prompt:
        body["system"] = prompt
        messages = messages[1:]
    messages = distinct(_identified(messages))
    ids = _ids(messages)
    body["messages"] = [_turn(group, ids) for group in turns(messages)]
    if tools := [made for tool in conversation.tools if (made := _tool(tool))]:
        body["tools"] = tools
    return body


def _prompt(message: Message) -> Json:
    """A leading system message as the system prompt, which holds texts only; ``None`` for what has no place there."""
    if _ROLES[message["role"]] != "system" or "turn" in chat.private(message):
        return None
    made = blocks(message)
    if any(block.get("type") != "text" for block in made):
        return None
    return made[0]["text"] if is_text(message, made) else made


def _turn(messages: list[Message], ids: dict[str, str]) -> Object:
    """A turn; results lead it, as the API wants them to."""
    first = messages[0]
    if first["role"] == "tool":
        content: Json = [_result(each, ids) for each in messages if each["role"] == "tool"]
        for message in messages:
            content += blocks(message, len(content)) if message["role"] != "tool" else []
    else:
        content = _told(first, [call_block(call, ids[call["id"]]) for call in chat.calls(first)])
    turn = chat.private(first).get("turn")
    more = {key: turn[key] for key in turn if key not in ("role", "content")} if isinstance(turn, dict) else {}
    return {"role": _ROLES[first["role"]], "content": content, **more}


def _told(message: Message, calls: list[Object]) -> Json:
    """What a message says, as blocks; as a text where it is one, and where there is nothing."""
    made = blocks(message, calls=calls)
    return made[0]["text"] if is_text(message, made) else made or ""


def _result(message: Message, ids: dict[str, str]) -> Object:
    failed = {"is_error": True} if chat.private(message).get("is_error") else {}
    answered = ids[message["tool_call_id"]]
    content = _references(message) or _told(message, [])
    return {"type": "tool_result", "tool_use_id": answered, "content": content, **failed, **used(message)}


def _references(message: Message) -> Json:
    """The blocks of a result that has only such as are no content, which is read as JSON; ``None`` for another."""
    if not chat.private(message).get("json"):
        return None
    value = parsed(string(message, "content"))
    is_ours = isinstance(value, list) and all(string(block, "type") in REFERENCES for block in value)
    return value if is_ours else None


def _identified(messages: list[Message]) -> list[Message]:
    """Messages whose calls and results all have ids: those without one get what a reader would make up."""
    state, made = START, list[Message]()
    for message in messages:
        if message["role"] == "assistant":
            calls = [*_numbered(chat.calls(message), state.call)]
            missing = sum(not string(call, "id") for call in chat.calls(message))
            state = State(state.call + missing, state.orphan, names(calls))
            made.append({**message, "tool_calls": calls})
        elif message["role"] == "tool":
            answered, state = state.answer(string(message, "tool_call_id"), message.get("name"))
            made.append({**message, "tool_call_id": answered})
        else:
            made.append(message)
    return made


def _numbered(calls: list[Object], number: int) -> Iterator[Object]:
    for call in calls:
        known = string(call, "id")
        yield {**call, "id": known or f"call_{number}"}
        number += not known


def _ids(messages: list[Message]) -> dict[str, str]:
    """What is written for each id: those that Anthropic would refuse become others, which are nobody else's."""
    found = [string(call, "id") for message in messages for call in chat.calls(message)]
    found += [string(message, "tool_call_id") for message in messages if message["role"] == "tool"]
    written = {known: known for known in found if not _UNFIT.search(known)}
    for known in found:
        if known not in written:
            written[known] = _free(_UNFIT.sub("_", known), set(written.values()))
    return written


def _free(wanted: str, taken: set[str]) -> str:
    """The first id like this that is not taken."""
    return next(
        each for each in (wanted, *(f"{wanted}_{number}" for number in range(2, len(taken) + 3))) if each not in taken
    )


# Tools


def _tool(tool: Tool) -> Object | None:
    """A tool; one without a schema takes an object, and a custom one a text, as its calls give it."""
    function = defined(tool)
    if not isinstance(function, dict) or not string(function, "name"):
        return None
    held = chat.private(tool)
    made = {key: function[key] for key in ("name", "description") if isinstance(function.get(key), str)}
    if isinstance(function.get("strict"), bool):
        made["strict"] = function["strict"]
    more = {key: held[key] for key in _TOOL_MEMBERS if held.get(key) is not None}
    if not (string(more, "type").startswith(_CLIENT_TOOLS) and "parameters" not in function):
        made["input_schema"] = _schema(function, of_text=is_custom(tool))
    return {**made, **more}


def _schema(function: Object, *, of_text: bool) -> Object:
    if of_text:
        return takes_text()
    schema = function.get("parameters")
    if not isinstance(schema, dict):
        return {"type": "object"}
    return schema if "type" in schema else {"type": "object", **schema}
