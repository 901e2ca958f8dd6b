"""What a request to Ollama holds: messages and tools."""

from __future__ import annotations

import base64
import binascii

from chatsquash.formats import parts
from chatsquash.formats.base import LoadedTurn, Tools, TurnError, with_private
from chatsquash.formats.calls import Remembering, State, arguments, assistant, made_up, result, tool_call
from chatsquash.formats.values import Object, compact, listed, rest, string, text_members
from chatsquash.model import Json, Message

START = State()

_ROLES = ("system", "developer", "user", "assistant", "tool")


def load(turn: Json, state: State) -> LoadedTurn:
    """Each turn is one message."""
    if not isinstance(turn, dict):
        raise TurnError("is no object")
    if not isinstance(turn.get("role"), str):
        raise TurnError("has no role")
    role = turn["role"].lower()  # as the server reads it
    if role not in _ROLES:
        raise TurnError(f"has the role {compact(role)[:40]}, which is none of Ollama's")
    content = turn.get("content")
    if not isinstance(content, str | None) and role != "tool":
        raise TurnError("has a content that is no text")
    if role == "assistant":
        message, state = said(turn, state)
        return LoadedTurn([message], state)
    if role == "tool":
        return _answered(turn, state)
    private: Object = {"native": rest(turn, "role", "content", "images")}
    message = {"role": role, "content": _content(turn, content or "", private["native"])}
    return LoadedTurn([with_private(message, private)], state.but(by_assistant=False))


def _content(turn: Object, text: str, native: list[Json]) -> Json:
    """The text, with the images behind it; those of no known kind go to ``native``."""
    images = listed(turn.get("images"))
    urls = [_url(image) for image in images]
    lost = [image for image, url in zip(images, urls, strict=True) if url is None]
    native += [{"images": lost}] if lost else []
    shown = [parts.image(url) for url in urls if url]
    return [*([parts.text(text)] if text else []), *shown] if shown else text


def _url(image: Json) -> str | None:
    """An image as a data URL, by what its first bytes say it is; ``None`` for what is no image."""
    if not isinstance(image, str) or image.startswith("data:image/"):
        return image if isinstance(image, str) else None
    data = parts.standard(image)
    try:
        head = base64.b64decode(data[:16], validate=True)
    except (binascii.Error, ValueError):
        return None
    mime = parts.image_type(head)
    return parts.data_url(mime, data) if mime else None


def said(turn: Object, state: State) -> tuple[Message, State]:
    """An assistant's message, and the state behind it."""
    message = _remembered(turn, state.call)
    return message, state.called(message.get("tool_calls", []), by_assistant=True)


def _said(turn: Object, number: int) -> Message:
    native = rest(turn, "role", "content", "thinking", "images", "tool_calls")
    calls = _calls(turn.get("tool_calls"), number, native)
    content, thinking = _content(turn, turn.get("content") or "", native), string(turn, "thinking")
    if turn.get("thinking") and not thinking:
        native.append({"thinking": turn["thinking"]})
    message = assistant(None if calls and content == "" else content, thinking, calls)
    private = {"thinking": [{"text": thinking}] if thinking else [], "native": native}
    return with_private(message, private)


_remembered = Remembering(_said)


def _calls(found: Json, number: int, native: list[Json]) -> list[Object]:
    """Calls, with ids made up for those that have none, from a number on."""
    calls: list[Object] = []
    for call in listed(found):
        if isinstance(call, dict) and isinstance(call.get("function"), dict):
            calls.append(_call(call, call["function"], number))
            number += made_up(calls[-1:])
        else:
            native.append({"tool_calls": [call]})
    return calls


def _call(logged: Object, function: Object, number: int) -> Object:
    # An index says no more than the place in the list does.
    native = rest(logged, *text_members(logged, "id"), "type", "index", "function")
    native += [{"function": held} for held in rest(function, "index", "name", "arguments")]
    known = {"name": function.get("name"), "arguments": arguments(function.get("arguments"))}
    return tool_call(string(logged, "id"), number, known, {"native": native})


def _answered(turn: Object, state: State) -> LoadedTurn:
    """A result, by its id, else by its tool's name, else by its position among the calls that wait."""
    logged, name = string(turn, "tool_call_id"), string(turn, "tool_name") or string(turn, "name")
    ident, state = state.answer(logged, name)
    value = turn.get("content")
    is_json = value is not None and not isinstance(value, str)
    named = [key for key in text_members(turn, "tool_name", "name") if turn[key] in (name, "")]
    native = rest(turn, "role", "content", "images", *text_members(turn, "tool_call_id"), *named)
    content = _content(turn, compact(value) if is_json else value or "", native)
    private = {"json": is_json, "synthetic_id": not logged, "native": native}
    return LoadedTurn([with_private(result(ident, name, content), private)], state.but(by_assistant=False))


def tools(value: Json) -> Tools:
    """Functions as they stand; anything else is no function."""
    functions = [
        tool if "type" in tool else {"type": "function", **tool} for tool in listed(value) if _is_function(tool)
    ]
    return Tools(functions, [tool for tool in listed(value) if not _is_function(tool)])


def _is_function(tool: Json) -> bool:
    return isinstance(tool, dict) and isinstance(tool.get("function"), dict)
