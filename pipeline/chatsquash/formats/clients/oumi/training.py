"""The conversations that Oumi is trained on: OpenAI's messages with parts of its own, one object each."""

from __future__ import annotations

from typing import cast

from chatsquash import chat
from chatsquash.chat import PRIVATE
from chatsquash.formats import openai_chat
from chatsquash.formats.base import TurnError, role_of, with_private
from chatsquash.formats.calls import (
    ERROR,
    State,
    after,
    arguments,
    assistant,
    call_name,
    failed,
    linked,
    numbered,
    result,
)
from chatsquash.formats.clients.oumi import items, schema
from chatsquash.formats.values import Object, at, kind, objects, rest, string
from chatsquash.model import Conversation, Json, Message, Origin

_MEMBERS = {"conversation_id", "messages", "metadata", "tools"}
_ROLES = ("system", "user", "assistant", "tool")


# Reading


def fits(document: Object) -> str | None:
    """The evidence that this is a conversation of Oumi's and no other object with messages."""
    if not isinstance(document.get("messages"), list) or document.keys() - _MEMBERS:
        return None
    if isinstance(document.get("metadata"), dict) or isinstance(document.get("conversation_id"), str):
        return "messages beside metadata or conversation_id"
    contents = [each.get("content") for each in objects(document["messages"])]
    return "content items of Oumi" if any(items.tells(content) for content in contents) else None


def load(document: Object) -> Conversation:
    """A conversation with its tools; raises ``TurnError``."""
    logged = document.get("messages")
    if not isinstance(logged, list):
        raise TurnError(f"has messages that are {kind(logged)}, not a list")
    messages: list[Message] = []
    state = State()
    for number, each in enumerate(logged):
        try:
            message, state = _message(each, state)
        except TurnError as problem:
            raise TurnError(f"messages[{number}] {problem}") from None
        messages.append(message)
    named = Origin(session_id=string(document, "conversation_id") or None)
    return Conversation(messages, openai_chat.tools(document.get("tools")).functions, origin=named)


def _message(logged: Json, state: State) -> tuple[Message, State]:
    role = _role(logged)
    read = items.read(logged.get("content"))
    message: Message = {"role": role, "content": read.content}
    taken = ["role", "content"]
    if role == "assistant":
        calls = numbered(objects(logged.get("tool_calls")), state.call, _call)
        message = assistant(read.content, string(logged, "reasoning_content"), calls)
        state = state.called(calls)
        taken += ["reasoning_content"] if isinstance(logged.get("reasoning_content"), str) else []
        taken += ["tool_calls"] if "tool_calls" in message or not logged.get("tool_calls") else []
    elif role == "tool":
        own = string(logged, "tool_call_id")
        answered, state = state.answer(own, logged.get("name"))
        message = with_private(result(answered, string(logged, "name"), read.content), {"synthetic_id": not own})
        taken += [key for key in ("tool_call_id", "name") if isinstance(logged.get(key), str)]
    extra = {**chat.private(message), **read.private, "native": [*read.native, *rest(logged, *taken)]}
    return with_private(message, extra), state.but(by_assistant=role == "assistant")


def _role(logged: Json) -> str:
    """The role of what is a message; raises ``TurnError`` for what is none."""
    if not isinstance(logged, dict):
        raise TurnError(f"is {kind(logged)}, not an object")
    role, content = role_of(logged, _ROLES), logged.get("content")
    if not isinstance(content, str | list | None):
        raise TurnError(f"has a content that is {kind(content)}, not text or a list of items")
    return role


def _call(call: Object, number: int) -> Object:
    """A call as it stands, its arguments as text."""
    first = {"id": string(call, "id") or f"call_{number}", "type": "function"}
    loaded = {**first, **{key: value for key, value in call.items() if key not in (PRIVATE, *first)}}
    if isinstance(call.get("function"), dict):
        loaded["function"] = {**call["function"], "arguments": arguments(call["function"].get("arguments"))}
    odd = {key: call[key] for key in (PRIVATE, *first) if key in call and call[key] != loaded.get(key)}
    extra = {"synthetic_id": not string(call, "id"), "native": [odd] if odd else []}
    return cast("Object", with_private(cast("Message", loaded), extra))


# Writing


def dump(conversation: Conversation) -> Json:
    """The conversation as one object; raises ``TurnError`` for tools that are nested too deeply to be checked."""
    pairs = linked(conversation.messages)
    messages = [written for message, ids in pairs if (written := _written(message, ids))]
    tools = schema.tools(conversation.tools)
    return {"messages": messages, **({"tools": tools} if tools else {}), "metadata": {}}


def _written(message: Message, ids: list[str]) -> Object | None:
    role = "system" if message.get("role") == "developer" else message.get("role")
    if role not in _ROLES:
        return None
    content = items.write(message, after(message))
    if role == "tool":
        return {"role": role, "tool_call_id": ids[0], "content": _marked(content or "", chat.private(message))}
    calls = [_written_call(call, call_id) for call, call_id in zip(chat.calls(message), ids, strict=True)]
    written = {"role": role, "content": content if content is not None or calls else ""}
    if role == "assistant" and string(message, "reasoning_content"):
        written["reasoning_content"] = message["reasoning_content"]  # type: ignore[typeddict-item]
    return {**written, **({"tool_calls": calls} if calls else {})}


def _written_call(call: Object, call_id: str) -> Object:
    """A call of a function, whose arguments are the input where it is a custom tool that is called."""
    others = {key: value for key, value in call.items() if key not in (PRIVATE, "id", "type", "function", "custom")}
    function = call["function"] if isinstance(call.get("function"), dict) else {}
    value = function.get("arguments")
    if not function and isinstance(call.get("custom"), dict):
        value = {"input": at(call, "custom", "input")}
    spelled = value if isinstance(value, str) else arguments(value)
    return {
        "id": call_id,
        "type": "function",
        "function": {**function, "name": call_name(call) or "", "arguments": spelled},
        **others,
    }


def _marked(content: Json, held: Object) -> Json:
    """A result's content, with the failure of its call before the text."""
    if held.get("is_error") is not True:
        return content
    if isinstance(content, str):
        return failed(content)
    first = content[0]
    if first["type"] != "text":
        return [items.text(ERROR), *content]
    return [items.text(failed(first["content"])), *content[1:]]
