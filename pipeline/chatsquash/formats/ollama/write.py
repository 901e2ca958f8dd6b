"""A conversation as a request to Ollama: messages and tools."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import Any

from chatsquash import chat
from chatsquash.formats import parts
from chatsquash.formats.base import without_private
from chatsquash.formats.calls import State, call_name, called, failed, needed_ids, referred, takes_text
from chatsquash.formats.ollama.request import START, load
from chatsquash.formats.values import Object, at, listed, objects, string
from chatsquash.model import Conversation, Json, Message, Tool

_ROLES = ("system", "developer", "user", "assistant", "tool")
_IMAGE_URL = re.compile(r"data:image/[^;,]+;base64,(.+)", re.DOTALL)


def dump(conversation: Conversation) -> Json:
    """The request's members that hold the conversation.

    The texts of a message are one, those behind calls and a refusal included, with the images beside them; there is no
    place for images that are elsewhere, sounds, files and signatures.
    """
    messages = [each for each in conversation.messages if string(each, "role") in _ROLES]
    writer = _Writer(messages)
    body: dict[str, Any] = {"messages": [writer.turn(message) for message in messages]}
    if tools := [made for tool in conversation.tools if (made := _tool(tool))]:
        body["tools"] = tools
    return body


class _Writer:
    """What is known of the turns before; ids that the reader makes up just so are left out."""

    def __init__(self, messages: list[Message]) -> None:
        self.state: State = START
        self.names: dict[str, str] = {}
        self.linked = referred(messages)

    def turn(self, message: Message) -> Object:
        """The turn of a message."""
        if message["role"] == "tool":
            return self._answer(message)
        made = {"role": message["role"], **_content(message)}
        if message["role"] == "assistant":
            thinking, calls = string(message, "reasoning_content"), self._calls(message)
            made |= {"thinking": thinking} if thinking else {}
            made |= {"tool_calls": calls} if calls else {}
        self.state = load(made, self.state).state
        return made

    def _calls(self, message: Message) -> list[Object]:
        calls = chat.calls(message)
        self.names |= {string(call, "id"): call_name(call) or "" for call in calls}
        ids = needed_ids(calls, self.state.call, self.linked)
        pairs = zip(calls, ids, strict=True)
        return [{**({"id": call_id} if call_id else {}), "function": _function(call)} for call, call_id in pairs]

    def _answer(self, message: Message) -> Object:
        """A result, without its id if that is found without it."""
        name = string(message, "name") or self.names.get(_id(message), "")
        content, given = _content(message), _id(message)
        if chat.private(message).get("is_error"):
            content["content"] = failed(content["content"])
        made = {"role": "tool", **({"tool_name": name} if name else {}), **content}
        loaded = load(made, self.state)
        if given and not (
            chat.private(message).get("synthetic_id") and loaded.messages[0].get("tool_call_id") == given
        ):
            made = {"role": "tool", "tool_call_id": given, **made}
            loaded = load(made, self.state)
        self.state = loaded.state
        return made


def _id(message: Message) -> str:
    return string(message, "tool_call_id")


def _content(message: Message) -> Object:
    """The texts as one, and the images."""
    content, held = message.get("content"), chat.private(message)
    said = [content] if isinstance(content, str) else content if isinstance(content, list) else []
    after = held["after"] if isinstance(held.get("after"), list) else []
    texts = [text for part in [*said, message.get("refusal"), *after] if (text := _text(part))]
    images = [image for part in said if (image := _data(_shown(part)))] + [*_unknown(held.get("native"))]
    return {"content": "\n".join(texts), **({"images": images} if images else {})}


def _text(part: Json) -> str | None:
    return string(part, "refusal") if at(part, "type") == "refusal" else chat.part_text(part)


def _unknown(native: Json) -> Iterator[str]:
    """Images whose kind could not be told when they were read."""
    for held in objects(native):
        yield from (image for image in listed(held.get("images")) if isinstance(image, str) and _data(image))


def _shown(part: Json) -> str:
    """The data of an image that is no more than its address; empty if there are none."""
    found = _IMAGE_URL.fullmatch(string(at(part, "image_url"), "url"))
    return found[1] if found else ""


def _data(image: str) -> str | None:
    """Data in base64, which Ollama takes; ``None`` for anything else."""
    try:
        return image if base64.b64decode(parts.standard(image), validate=True) else None
    except ValueError:
        return None


def _function(call: Object) -> Object:
    name, given = called(call)
    return {"name": name, "arguments": given}


def _tool(tool: Tool) -> Object | None:
    """A function as it stands; that of a custom tool takes a text, as its calls give it."""
    if not isinstance(tool, dict):
        return None
    if isinstance(tool.get("function"), dict):
        return {"type": "function", **without_private(tool)}
    custom = tool.get("custom")
    if isinstance(custom, dict):
        told = {key: custom[key] for key in ("name", "description") if isinstance(custom.get(key), str)}
        return {"type": "function", "function": {**told, "parameters": takes_text()}}
    bare = without_private(tool)
    return {"type": "function", "function": bare} if string(bare, "name") else None
