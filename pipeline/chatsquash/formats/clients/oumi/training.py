"""Oumi's training conversations: OpenAI messages with Oumi's own content items."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from chatsquash.core.blocks import FAILED, Block, Call, Media, Other, Reasoning, Refusal, Result, Text, Turn
from chatsquash.core.chat import PRIVATE
from chatsquash.core.model import Conversation, Json, Origin, Tool
from chatsquash.formats import bodies, parts, view
from chatsquash.formats.base import LoadedTurn, TurnError, role_of, without_private
from chatsquash.formats.calls import ERROR, ResultContent, State, arguments, call, custom_input, native, result
from chatsquash.formats.definitions import once_per_definition
from chatsquash.formats.providers import openai_chat
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.formats.values import Object, compact, kind, members, objects, string, text_members
from chatsquash.formats.writing import (
    KEY,
    SPEAKERS,
    are_instructions,
    failure_mark,
    failure_text,
    instructions_mark,
    is_failed,
    parse_outcome,
    text_of,
)
from chatsquash.formats.writing import native as own_of

PROVIDER = "oumi"
_OWN_ITEMS = ("image_path", "image_binary")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_MEMBERS = {"conversation_id", "messages", "metadata", "tools"}
_ROLES = ("system", "user", "assistant", "tool")
_HISTORY_MEMBERS = ("metadata", "raw_thinking", "role", "timestamp", "word_count")
"""The members of messages in histories, which training messages do not have."""


# Reading


def fits(document: Object) -> str | None:
    """Return the evidence that an object with messages is an Oumi conversation."""
    if not isinstance(document.get("messages"), list) or document.keys() - _MEMBERS:
        return None
    if isinstance(document.get("metadata"), dict) or isinstance(document.get("conversation_id"), str):
        return "messages with metadata or conversation_id"
    contents = [each.get("content") for each in objects(document["messages"])]
    return "content items of Oumi" if any(has_oumi_items(content) for content in contents) else None


def defined_tools(document: Object) -> list[Tool]:
    """Load the tool definitions of a conversation."""
    return openai_chat.tools(document.get("tools")).functions


def load(document: Object) -> Conversation:
    """Load a conversation with its tools; may raise ``TurnError``."""
    messages = document.get("messages")
    if not isinstance(messages, list):
        raise TurnError(f"messages is {kind(messages)}, expected a list")
    turns = bodies.load_each(_message, messages, State(), "messages").turns
    origin = Origin(session_id=string(document, "conversation_id") or None)
    tools = defined_tools(document)
    own = native(PROVIDER, document, "messages", "tools")
    return Conversation(view.messages(turns), tools, origin=origin, native=own)


def _message(message: Json, state: State) -> LoadedTurn:
    role = _role(message)
    content_blocks = blocks_of(message.get("content"))
    if role == "tool":
        return _result_turn(message, content_blocks, state)
    if role != "assistant":
        turn = Turn(role, content_blocks, are_instructions(message), native(PROVIDER, message, "role", "content", KEY))
        return LoadedTurn([turn], state.evolve(by_assistant=False))
    calls = message.get("tool_calls")
    read = [*text_members(message, "reasoning_content"), *(["tool_calls"] if isinstance(calls, list) else [])]
    thought = string(message, "reasoning_content")
    call_blocks = _calls(calls if isinstance(calls, list) else [], state.call)
    blocks = (*((Reasoning(thought),) if thought else ()), *content_blocks, *call_blocks)
    turn = Turn(role, blocks, native=native(PROVIDER, message, "role", "content", KEY, *read))
    return LoadedTurn([turn], state.after_calls(blocks, by_assistant=True))


def _role(message: Json) -> str:
    """Return the role of a message; raise ``TurnError`` for malformed messages."""
    if not isinstance(message, dict):
        raise TurnError(f"expected an object, not {kind(message)}")
    role, content = role_of(message, _ROLES), message.get("content")
    if not isinstance(content, str | list | None):
        raise TurnError(f"content is {kind(content)}, expected a string or a list of items")
    return role


def _calls(logged_calls: list[Json], number: int) -> Iterator[Block]:
    for each in logged_calls:
        block = _call(each, number) if isinstance(each, dict) else Other(PROVIDER, {"tool_calls": each})
        number += getattr(block, "made_up", False)
        yield block


def _call(logged_call: Object, number: int) -> Call:
    definition, own = logged_call.get("function"), string(logged_call, "id")
    function = members(definition)
    inner = native(PROVIDER, function, "arguments", *text_members(function, "name")).get(PROVIDER)
    read = ["index", *text_members(logged_call, "id"), *(["type"] if logged_call.get("type") == "function" else [])]
    rest = {**logged_call, "function": inner if isinstance(definition, dict) else definition}
    return call(own, number, function.get("name"), arguments(function.get("arguments")), native(PROVIDER, rest, *read))


def _result_turn(message: Object, content_blocks: tuple[Text | Other | Media, ...], state: State) -> LoadedTurn:
    own, name = string(message, "tool_call_id"), message.get("name")
    call_id, state = state.answer(own, name)
    content, outcome = parse_outcome(content_blocks, is_marked=is_failed(message))
    more = native(PROVIDER, message, "role", "content", KEY, *text_members(message, "tool_call_id", "name"))
    loaded_result = result(call_id, own, name, ResultContent(content), outcome, more)
    return LoadedTurn([Turn("tool", (loaded_result,))], state.evolve(by_assistant=False))


# Writing


def dump(conversation: Conversation) -> Json:
    """Write a conversation as an object; raise ``TurnError`` for tools that are too deeply nested to check."""
    messages = [message for turn in turns_of(conversation) for message in _write_turn(turn)]
    tools, own = _tools(conversation.tools), conversation.native.get(PROVIDER, {})
    id_member = {"conversation_id": own["conversation_id"]} if string(own, "conversation_id") else {}
    definitions = {"tools": tools} if tools else {}
    return {**id_member, "messages": messages, **definitions, "metadata": members(own.get("metadata"))}


def _write_turn(turn: Turn) -> Iterator[Object]:
    """Write the messages of a turn; none if its content is not supported, except for empty assistant turns."""
    if turn.role == "tool":
        yield from (_result(block) for block in turn.blocks if type(block) is Result)
    elif turn.role == "assistant":
        assistant_message = _assistant_message(turn)
        if not turn.blocks or assistant_message != {"role": "assistant", "content": ""}:
            yield {**assistant_message, **_own_members(turn), **assistant_message}
    elif turn.role in SPEAKERS and (content := content_of(turn.blocks)):
        message = {"role": SPEAKERS[turn.role], "content": content, **instructions_mark(turn)}
        yield {**message, **_own_members(turn), **message}


def _assistant_message(turn: Turn) -> Object:
    content = content_of(turn.blocks)
    calls = [_write_call(block) for block in turn.blocks if type(block) is Call]
    thoughts = [block.text for block in turn.blocks if type(block) is Reasoning and block.text]
    thought = {"reasoning_content": "\n\n".join(thoughts)} if thoughts else {}
    call_members = {"tool_calls": calls} if calls else {}
    return {"role": "assistant", "content": content if content or calls else "", **thought, **call_members}


def _own_members(turn: Turn) -> Object:
    own = own_of(turn, PROVIDER)
    if not own or "role" in own:  # members of an attachment in a history
        return {}
    return {key: value for key, value in own.items() if key not in _HISTORY_MEMBERS}


def _write_call(block: Call) -> Object:
    """Write a call; the input of a custom tool becomes the argument ``input``."""
    own = own_of(block, PROVIDER)
    call_arguments = compact(custom_input(block.arguments)) if block.custom else block.arguments
    function = {"name": block.name or "", "arguments": call_arguments}
    members_of_call = {
        "id": block.id,
        "type": "function",
        "function": {**function, **members(own.get("function")), **function},
    }
    # The members are repeated, so that native members neither replace them nor change their order.
    return {**members_of_call, **own, **members_of_call}


def _result(block: Result) -> Object:
    """Write a result; failures are marked in the text, and with chatsquash's own mark, which Oumi ignores."""
    content = content_of(block.content) or ""
    if isinstance(content, str):
        content = failure_text(content, block)
    elif block.outcome in FAILED and is_text(content[0]):
        content = [{**content[0], "content": failure_text(content[0]["content"], block)}, *content[1:]]
    elif block.outcome in FAILED:
        content = [{"type": "text", "content": ERROR}, *content]
    message = {"role": "tool", "tool_call_id": block.id, "content": content, **failure_mark(block)}
    return {**message, **own_of(block, PROVIDER), **message}


# Tools; a member that Oumi does not accept would invalidate the conversation

_FUNCTION_TYPES: dict[str, type] = {"description": str, "parameters": dict, "strict": bool}
"""The types of function members that are not null."""
_TYPES = ("object", "string", "number", "integer", "boolean", "array", "null")


def _is_str(value: Json) -> bool:
    return isinstance(value, str)


_TYPE_CHECKS: dict[str, Callable[[Any], bool]] = {
    "type": lambda value: all(each in _TYPES for each in (value if isinstance(value, list) else [value])),
    "description": _is_str,
    "title": _is_str,
    "format": _is_str,
    "required": lambda value: isinstance(value, list) and all(map(_is_str, value)),
    "enum": lambda value: isinstance(value, list),
}
"""Type checks for the schema members that Oumi validates."""
_TYPED_KEYWORDS = frozenset((*_TYPE_CHECKS, "properties", "items"))


def _tools(definitions: list[Tool]) -> list[Tool]:
    """Write function tools without members that Oumi rejects; may raise ``TurnError``."""
    try:
        return [converted for tool in openai_chat.tools(definitions).functions if (converted := _tool(tool))]
    except RecursionError:
        raise TurnError("tools are nested too deeply") from None


@once_per_definition
def _tool(tool: Object) -> Object | None:
    function = tool.get("function")
    if tool.get("type") != "function" or not isinstance(function, dict) or not _is_str(function.get("name")):
        return None
    members: Object = {
        key: value
        for key, value in function.items()
        if key != PRIVATE and (value is None or isinstance(value, _FUNCTION_TYPES.get(key, object)))
    }
    if isinstance(members.get("parameters"), dict):
        members["parameters"] = _schema(members["parameters"])
    return {**without_private(tool), "function": members}


def _schema(schema: Object) -> Object:
    converted = Object()
    for key, value in schema.items():
        if value is None or key not in _TYPED_KEYWORDS:
            converted[key] = value
        else:
            converted.update(_member(key, value))
    return converted


def _member(key: str, value: Json) -> Object:
    """Convert a schema member for Oumi; a list in ``items`` becomes ``prefixItems``, as in newer JSON Schema."""
    if key in _TYPE_CHECKS:
        return {key: value} if _TYPE_CHECKS[key](value) else {}
    if isinstance(value, list):
        return {"prefixItems": value} if key == "items" else {}
    if key == "items":
        return {} if (of := _sub(value)) is None else {key: of}
    inner = ((name, _sub(each)) for name, each in members(value).items())
    return {key: {name: of for name, of in inner if of is not None}} if isinstance(value, dict) else {}


def _sub(schema: Json) -> Object | None:
    """Convert a subschema; booleans become schemas that accept all values or no value."""
    if isinstance(schema, bool):
        return {} if schema else {"not": {}}
    return _schema(schema) if isinstance(schema, dict) else None


def has_oumi_items(content: Json) -> bool:
    """Return whether content has items in a form that only Oumi uses."""
    return any(
        each.get("type") in _OWN_ITEMS
        or (each.get("type") in ("text", "image_url") and isinstance(each.get("content"), str))
        for each in objects(content)
    )


def blocks_of(content: Json) -> tuple[Text | Media | Other, ...]:
    """Load content, which is a string or a list of items."""
    if not isinstance(content, list):
        return (Text(content),) if content else ()
    return tuple(block for item in content for block in _block(item))


def _block(item: Json) -> Iterator[Text | Media | Other]:
    match item:
        case {"type": "text", "content": str(text)}:
            yield from (Text(text, native=native(PROVIDER, item, "type", "content")),) if text else ()
        case {"type": "image_url" | "image_path" as of, "content": str(address)} if address:
            more = native(PROVIDER, item, "content", *(["type"] if of == _type(address) else []))
            data_url = parts.DATA_URL.fullmatch(address)
            if data_url and data_url[2]:
                yield Media("image", data_url[1], data_url[2], native=more)
            else:
                yield Media("image", url=address, native=more)
        case {"type": "image_binary", "binary": str(data)} if mime := _mime(data):
            yield Media("image", mime, data, native=native(PROVIDER, item, "type", "binary"))
        case _:
            yield Other(PROVIDER, item)


def _mime(data: str) -> str | None:
    """Detect the media type of base64 data from its first bytes; return ``None`` if it is not an image."""
    return parts.image_type((parts.decode_base64(data) or b"")[:12])


def _type(url: str) -> str:
    """Return the item type for a linked image, which is a URL or a file path."""
    return "image_url" if _ADDRESS.match(url) else "image_path"


def content_of(blocks: Iterable[Block]) -> Json:
    """Write items, or a string if there is only a text item; return ``None`` if there are no items.

    Text before and after calls is joined.
    """
    supported = [block for block in blocks if isinstance(block, Text | Refusal | Media | Other | Call)]
    items = [item for block in supported if (item := _item(block))]
    if not items:
        return None
    are_texts = all(item.keys() == {"type", "content"} and is_text(item) for item in items)
    calls = [place for place, block in enumerate(supported) if type(block) is Call]
    if are_texts and (len(items) == 1 or (calls and calls[0] < len(supported) - len(calls))):
        return text_of(supported, by_assistant=bool(calls))
    return items


def is_text(item: Object) -> bool:
    """Return whether an item is text."""
    return item["type"] == "text" and isinstance(item.get("content"), str)


def _item(block: Block) -> Object | None:
    match block:
        case Text() | Refusal():
            return {"type": "text", "content": block.text, **own_of(block, PROVIDER)}
        case Media() if block.kind == "image" and (block.data or block.url):
            return {**_image(block), **own_of(block, PROVIDER)}
        case Other() if block.provider == PROVIDER and isinstance(block.value, dict) and "type" in block.value:
            return block.value
    return None


def _image(block: Media) -> Object:
    """Write an image as binary data if its media type can be detected, or else as a URL or path."""
    if block.data and _mime(block.data) == block.mime:
        return {"type": "image_binary", "binary": block.data}
    url = parts.data_url(block.mime, block.data) if block.data else block.url
    return {"type": _type(url), "content": url}
