"""Bodies of requests and responses in what tracers log: a body, messages, content blocks, or one text."""

from __future__ import annotations

from functools import cache
from itertools import groupby
from typing import Any

from chatsquash.core.model import Json
from chatsquash.formats import langchain, recognise_response
from chatsquash.formats.definitions import is_definition
from chatsquash.formats.providers.openai_chat.response import holding
from chatsquash.formats.values import Object, as_list, at, objects, string

_TURNS = ("messages", "contents", "input")
_BODIES = ("choices", "candidates", "stop_reason")
_ANSWERED = 4
"""The rank up to which a body is one of a provider."""


def request(value: Json) -> Object | None:
    """Return the request in a value; ``None`` if there is none.

    Definitions of tools that are logged as messages become tools.
    """
    made = _members(value)
    if made is None or not isinstance(made.get("messages"), list):
        return made
    listed = made["messages"]
    defined = [each["content"] for each in objects(listed) if _is_definition(each)]
    if not defined:
        return made
    tools = made.get("tools") or defined
    return {**made, "messages": [each for each in listed if not _is_definition(each)], "tools": tools}


def _members(value: Json) -> Object | None:
    if isinstance(value, str):
        return {"messages": [{"role": "user", "content": value}]} if value else None
    if isinstance(value, list):
        return _by_member(value) if value else None
    return _of_object(value) if isinstance(value, dict) else None


def _of_object(value: Object) -> Object | None:
    """The request in an object: a body, a body whose turns are elsewhere, or one message."""
    turns = value.get("input")
    if isinstance(turns, list) and _are_messages(turns):
        return {**{name: each for name, each in value.items() if name != "input"}, **_by_member(turns)}
    if "messages" in value:
        return {**value, **_by_member(value["messages"])} if isinstance(value["messages"], list) else None
    if "contents" in value or isinstance(turns, str | list):
        return value
    if prompt := string(value, "prompt"):
        return {**value, "messages": [{"role": "user", "content": prompt}]}
    message = langchain.message(value)
    return {"messages": [message]} if string(message, "role") else None


def _by_member(turns: list[Json]) -> Object:
    """The turns of a list, by the member that has them in a request: items, contents with parts, or messages."""
    if any(_is_item(turn) for turn in objects(turns)) and not any(isinstance(turn, list) for turn in turns):
        return {"input": turns}
    if any(isinstance(turn.get("parts"), list) and "content" not in turn for turn in objects(turns)):
        return {"contents": turns}
    unwrapped = [at(turn, "message") if isinstance(at(turn, "message"), dict) else turn for turn in turns]
    return {"messages": langchain.messages(unwrapped) or []}


def _is_item(turn: Object) -> bool:
    """Whether a turn is an item of OpenAI Responses, and neither a message nor a block."""
    of = turn.get("type")
    return isinstance(of, str) and of in _items() and (of == "message" or "role" not in turn) and "data" not in turn


@cache
def _items() -> frozenset[str]:
    """The types of the items of OpenAI Responses."""
    from chatsquash.formats.providers.openai_responses.items import CALLS, RESULTS  # which plain chat does not need

    return frozenset((*CALLS, *RESULTS, "reasoning", "message", "item_reference"))


def _are_messages(turns: list[Json]) -> bool:
    """Whether the turns of an ``input`` are messages of a chat after all, as LangChain writes them."""
    return any(isinstance(turn, list) or "kwargs" in turn for turn in turns if isinstance(turn, list | dict))


def _is_definition(message: Object) -> bool:
    """Whether a message of the role ``tool`` is the definition of one, as LangChain's integration for Langfuse logs."""
    content = message.get("content")
    is_unlinked = message.get("role") == "tool" and not message.get("tool_call_id")
    return is_unlinked and isinstance(content, dict) and is_definition(content)


def response(value: Json, model: Json = None) -> Json:
    """Return the body of a response in a value: that of a provider as it is, anything else as one of chat."""
    if value is None or _is_body(value):
        return value
    if (generation := langchain.generation(value)) is not None:
        return _of_generation(generation, model)
    if isinstance(value, list):
        return _of_list(value, model)
    if isinstance(value, dict) and _is_item(value):
        return {"object": "response", "status": "completed", "output": [value]}
    message = _message(value)
    return value if message is None else holding(message, model)


def join_pieces(messages: list[Json]) -> list[Json]:
    """Join messages of the assistant that follow each other and are pieces of one reply: of these, one has a text."""
    joined: list[Json] = []
    for is_reply, run in groupby(messages, lambda each: string(each, "role") == "assistant"):
        pieces = list(run)
        is_one = is_reply and len(pieces) > 1 and sum(map(_has_text, pieces)) < 2
        joined += [_join_pieces(pieces)] if is_one else pieces
    return joined


def _has_text(message: Any) -> bool:
    content = message.get("content")
    return any(at(each, "type") == "text" for each in content) if isinstance(content, list) else bool(content)


def _join_pieces(pieces: list[Any]) -> Object:
    parts = [part for each in pieces for part in as_list(each.get("content") or None)]
    content = [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]
    called = [call for each in pieces for call in as_list(each.get("tool_calls"))]
    made: Object = {"role": "assistant", "content": content or None}
    return {**made, "tool_calls": called} if called else made


def _is_body(value: Json) -> bool:
    if isinstance(value, dict) and any(name in value for name in _BODIES):
        return True
    answered = recognise_response(value, None)
    return answered.name is not None and answered.rank <= _ANSWERED


def _of_list(values: list[Json], model: Json) -> Json:
    """The response in a list: of items, of blocks, of calls, of choices, or of messages, the last of which it is."""
    listed = objects(values)
    if listed and all(map(_is_item, listed)):
        return {"object": "response", "status": "completed", "output": values}
    messages = [each for each in langchain.messages(values) or [] if string(each, "role")]
    messages = messages or [at(each, "message") for each in listed if isinstance(at(each, "message"), dict)]
    if messages and all(string(each, "role") == "assistant" for each in messages):
        made = holding(messages[0], model)
        made["choices"] += [{"index": number, "message": each} for number, each in enumerate(messages[1:], 1)]
        return made
    if messages:
        return holding({"role": "assistant", **messages[-1]}, model)
    if listed and all("toolName" in each for each in listed) and not any("type" in each for each in listed):
        return holding({"role": "assistant", "content": None, "tool_calls": values}, model)
    return holding({"role": "assistant", "content": values}, model) if listed else values


def _of_generation(generation: Object, model: Json) -> Object:
    """The response of a generation of LangChain."""
    message = _message(generation.get("message") or string(generation, "text"))
    made = holding(message, model)
    if reason := langchain.finish_reason(generation):
        made["choices"][0]["finish_reason"] = reason
    used = langchain.usage(generation)
    return {**made, "usage": used} if used else made


def _message(value: Json) -> Json:
    """The assistant's message in a value; ``None`` if there is none."""
    if isinstance(value, str):
        return {"role": "assistant", "content": value}
    made = langchain.message(value)
    if not isinstance(made, dict):
        return None
    inner = made["message"] if isinstance(made.get("message"), dict) else made
    inner = langchain.message(inner)
    is_one = isinstance(inner, dict) and bool(inner.keys() & {"role", "content", "tool_calls", "function_call"})
    return {"role": "assistant", **inner} if is_one else None
