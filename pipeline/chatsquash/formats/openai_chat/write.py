"""Conversations as requests to OpenAI chat: what its schema has, with reasoning and the names of tools beside it."""

from __future__ import annotations

from collections.abc import Callable

from chatsquash.chat import PRIVATE, Private, private
from chatsquash.formats import parts
from chatsquash.formats.base import TurnError
from chatsquash.formats.openai_chat.request import START, load, tools
from chatsquash.formats.values import Object, listed, objects, string, without
from chatsquash.model import Conversation, Json, Message, Tool

_TEXTS = ("name", "refusal", "reasoning_content")
"""Members of a message that are texts or not there."""
_DETAILS = ("auto", "low", "high")
_SOUNDS = ("wav", "mp3")


def dump(conversation: Conversation) -> Json:
    """A request's messages and tools, without private slots; text behind calls is the last part of the content."""
    body: Object = {"messages": [_strict(message) for message in canonical(conversation.messages)]}
    defined = [_tool(tool) for tool in named_tools(conversation.tools)]
    return {**body, "tools": defined} if defined else body


def canonical(messages: list[Message]) -> list[Message]:
    """Messages whose calls and results all have ids, with content that is text, parts or null; raises ``TurnError``."""
    made, state = list[Message](), START
    for number, message in enumerate(messages):
        try:
            loaded, state = load(_readable(message), state)
        except TurnError as problem:
            raise TurnError(f"messages[{number}] {problem}") from None
        made += loaded
    return made


def _readable(message: Message) -> Message:
    """A message without content that nobody could read; a result's is JSON."""
    if not isinstance(message, dict) or message.get("role") in ("tool", "function"):
        return message
    readable = isinstance(message.get("content"), str | list | None)
    return message if readable else {**message, "content": None}


def _strict(message: Message) -> Object:
    """A message with the members that are not null and whose types the schema has; others travel along."""
    calls = [made for call in objects(message.get("tool_calls")) if (made := strict_call(call))]
    members = {**message, "content": _content(message), "tool_calls": calls}
    return {key: value for key, value in members.items() if _fits(message["role"], key, value)}


def _fits(role: str, key: str, value: Json) -> bool:
    if key == "content":
        return True
    if key == PRIVATE or value is None:
        return False
    if key == "tool_calls":
        return role == "assistant" and bool(value)
    if key == "audio":
        return isinstance(value, dict) and isinstance(value.get("id"), str)
    return key not in _TEXTS or isinstance(value, str)


# Content


def _content(message: Message) -> Json:
    """The parts that the role may have, as a string where they are one text; only the assistant's may be null."""
    held, content = private(message), message.get("content")
    extra = held.get("part")
    if isinstance(content, str):
        content = [{**(extra if isinstance(extra, dict) else {}), **parts.text(content)}]
    behind = [parts.text(text) for text in listed(held.get("after")) if isinstance(text, str)]
    kept = [part for part in objects(content) if _may_have(message["role"], part)] + behind
    if len(kept) == 1 and kept[0].keys() == {"type", "text"}:
        return kept[0]["text"]
    return [_part(part) for part in kept] or (None if message["role"] == "assistant" else "")


def _part(part: Object) -> Object:
    """A part, an image without a detail that other services have."""
    image = part.get("image_url")
    if not isinstance(image, dict) or image.get("detail", "auto") in _DETAILS:
        return part
    return {**part, "image_url": {key: value for key, value in image.items() if key != "detail"}}


def _may_have(role: str, part: Object) -> bool:
    """Whether the schema has a part in messages of a role; of roles that it does not know nothing is said."""
    of = part.get("type")
    return of in _KINDS.get(role, tuple(_SHAPES)) and isinstance(of, str) and _SHAPES[of](part)


def _has_text(*path: str) -> Callable[[Object], bool]:
    def has_text(part: Object) -> bool:
        value: Json = part
        for name in path:
            value = value.get(name) if isinstance(value, dict) else None
        return isinstance(value, str)

    return has_text


def _is_sound(part: Object) -> bool:
    return _has_text("input_audio", "data")(part) and part["input_audio"].get("format") in _SOUNDS


def _is_file(part: Object) -> bool:
    """A file by its data or its id; one by its address alone is no file of this service, and is kept all the same."""
    file = part.get("file")
    found = file.keys() & {"file_data", "file_id", "file_url"} if isinstance(file, dict) else ()
    return bool(found) and all(isinstance(value, str) for value in part["file"].values())


_SHAPES: dict[str, Callable[[Object], bool]] = {
    "text": _has_text("text"),
    "refusal": _has_text("refusal"),
    "image_url": _has_text("image_url", "url"),
    "input_audio": _is_sound,
    "file": _is_file,
}
_KINDS: dict[str, tuple[str, ...]] = {
    "system": ("text",),
    "developer": ("text",),
    "user": ("text", "image_url", "input_audio", "file"),
    "assistant": ("text", "refusal"),
    "tool": ("text",),
}


# Calls and tools


def strict_call(call: Object) -> Object | None:
    """A call of a function or a custom tool with texts for its name and what it is given; ``None`` for others."""
    of, member = ("custom", "input") if call.get("type") == "custom" else ("function", "arguments")
    called = call.get(of)
    if call.get("type") != of or not isinstance(called, dict):
        return None
    rest = {key: value for key, value in call.items() if key != PRIVATE and value is not None}
    return {**rest, of: {**called, "name": string(called, "name"), member: string(called, member)}}


def named_tools(found: list[Tool]) -> list[Tool]:
    """The definitions of functions and custom tools that have a name."""
    return [tool for tool in tools(found).functions if string(tool.get(_kind(tool)), "name")]


def _kind(tool: Tool) -> str:
    return "function" if isinstance(tool.get("function"), dict) else "custom"


def _tool(tool: Tool) -> Object:
    """A definition with those members of the types that the schema has; others travel along."""
    of, types = _kind(tool), {"description": str, "parameters": dict, "strict": bool, "format": dict}
    defined = {key: value for key, value in without(tool[of]).items() if isinstance(value, types.get(key, object))}
    rest = {key: value for key, value in without(tool).items() if not isinstance(value, Private)}
    return {**rest, "type": of, of: defined}
