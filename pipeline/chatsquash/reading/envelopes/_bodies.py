"""Find request and response bodies in the data of tracers: a body, messages, content blocks, or plain text."""

from __future__ import annotations

from functools import cache
from itertools import groupby
from typing import Any

from chatsquash.core.model import Json
from chatsquash.formats import is_response, langchain
from chatsquash.formats.definitions import is_definition
from chatsquash.formats.providers.openai_chat import response_body
from chatsquash.formats.values import Object, as_list, at, objects, string

_TURNS = ("messages", "contents", "input")
_BODIES = ("choices", "candidates", "stop_reason")


def request(value: Json) -> Object | None:
    """Return the request in a value, or ``None``.

    Tool definitions that are logged as messages become tools.
    """
    body = _members(value)
    if body is None or not isinstance(body.get("messages"), list):
        return body
    messages = body["messages"]
    definitions = [each["content"] for each in objects(messages) if _is_definition(each)]
    if not definitions:
        return body
    tools = body.get("tools") or definitions
    return {**body, "messages": [each for each in messages if not _is_definition(each)], "tools": tools}


def _members(value: Json) -> Object | None:
    if isinstance(value, str):
        return {"messages": [{"role": "user", "content": value}]} if value else None
    if isinstance(value, list):
        return _by_member(value) if value else None
    return _of_object(value) if isinstance(value, dict) else None


def _of_object(value: Object) -> Object | None:
    """Return the request in an object, which may be a body, a body with nested turns, or a single message."""
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
    """Return turns in the member for their kind: Responses items, contents with parts, or messages."""
    if any(_is_item(turn) for turn in objects(turns)) and not any(isinstance(turn, list) for turn in turns):
        return {"input": turns}
    if any(isinstance(turn.get("parts"), list) and "content" not in turn for turn in objects(turns)):
        return {"contents": turns}
    unwrapped = [at(turn, "message") if isinstance(at(turn, "message"), dict) else turn for turn in turns]
    return {"messages": langchain.messages(unwrapped) or []}


def _is_item(turn: Object) -> bool:
    """Return whether a turn is an OpenAI Responses item rather than a message or a block."""
    kind = turn.get("type")
    return (
        isinstance(kind, str) and kind in _items() and (kind == "message" or "role" not in turn) and "data" not in turn
    )


@cache
def _items() -> frozenset[str]:
    """Return the types of OpenAI Responses items."""
    from chatsquash.formats.providers.openai_responses.items import (
        CALLS,
        RESULTS,
    )  # plain chat does not need it

    return frozenset((*CALLS, *RESULTS, "reasoning", "message", "item_reference"))


def _are_messages(turns: list[Json]) -> bool:
    """Return whether the turns in ``input`` are actually chat messages, as LangChain writes them."""
    return any(isinstance(turn, list) or "kwargs" in turn for turn in turns if isinstance(turn, list | dict))


def _is_definition(message: Object) -> bool:
    """Return whether a ``tool`` message is a tool definition, as logged by LangChain's Langfuse integration."""
    content = message.get("content")
    is_unlinked = message.get("role") == "tool" and not message.get("tool_call_id")
    return is_unlinked and isinstance(content, dict) and is_definition(content)


def response(value: Json, model: Json = None) -> Json:
    """Return the response body in a value: a provider's body unchanged, anything else as a chat response."""
    if value is None or _is_body(value):
        return value
    if (generation := langchain.generation(value)) is not None:
        return _of_generation(generation, model)
    if isinstance(value, list):
        return _of_list(value, model)
    if isinstance(value, dict) and _is_item(value):
        return {"object": "response", "status": "completed", "output": [value]}
    message = _message(value)
    return value if message is None else response_body(message, model)


def join_pieces(messages: list[Json]) -> list[Json]:
    """Join consecutive assistant messages that are pieces of one reply, at most one of which has text."""
    result: list[Json] = []
    for is_reply, run in groupby(messages, lambda each: string(each, "role") == "assistant"):
        pieces = list(run)
        is_one = is_reply and len(pieces) > 1 and sum(map(_has_text, pieces)) < 2
        result += [_join_pieces(pieces)] if is_one else pieces
    return result


def _has_text(message: Any) -> bool:
    content = message.get("content")
    return any(at(each, "type") == "text" for each in content) if isinstance(content, list) else bool(content)


def _join_pieces(pieces: list[Any]) -> Object:
    parts = [part for each in pieces for part in as_list(each.get("content") or None)]
    content = [{"type": "text", "text": part} if isinstance(part, str) else part for part in parts]
    calls = [call for each in pieces for call in as_list(each.get("tool_calls"))]
    message: Object = {"role": "assistant", "content": content or None}
    return {**message, "tool_calls": calls} if calls else message


def _is_body(value: Json) -> bool:
    if isinstance(value, dict) and not value.keys().isdisjoint(_BODIES):
        return True
    return is_response(value)


def _of_list(values: list[Json], model: Json) -> Json:
    """Return the response in a list of items, blocks, calls, choices or messages; messages yield the last one."""
    items = objects(values)
    if items and all(map(_is_item, items)):
        return {"object": "response", "status": "completed", "output": values}
    messages = [each for each in langchain.messages(values) or [] if string(each, "role")]
    messages = messages or [at(each, "message") for each in items if isinstance(at(each, "message"), dict)]
    if messages and all(string(each, "role") == "assistant" for each in messages):
        body = response_body(messages[0], model)
        body["choices"] += [{"index": number, "message": each} for number, each in enumerate(messages[1:], 1)]
        return body
    if messages:
        return response_body({"role": "assistant", **messages[-1]}, model)
    if items and all("toolName" in each for each in items) and not any("type" in each for each in items):
        return response_body({"role": "assistant", "content": None, "tool_calls": values}, model)
    return response_body({"role": "assistant", "content": values}, model) if items else values


def _of_generation(generation: Object, model: Json) -> Object:
    """Return the response of a LangChain generation."""
    message = _message(generation.get("message") or string(generation, "text"))
    body = response_body(message, model)
    if reason := langchain.finish_reason(generation):
        body["choices"][0]["finish_reason"] = reason
    usage = langchain.usage(generation)
    return {**body, "usage": usage} if usage else body


def _message(value: Json) -> Json:
    """Return the assistant message in a value, or ``None``."""
    if isinstance(value, str):
        return {"role": "assistant", "content": value}
    message = langchain.message(value)
    if not isinstance(message, dict):
        return None
    inner = message["message"] if isinstance(message.get("message"), dict) else message
    inner = langchain.message(inner)
    is_one = isinstance(inner, dict) and bool(inner.keys() & {"role", "content", "tool_calls", "function_call"})
    return {"role": "assistant", **inner} if is_one else None
