"""Training conversations of Oumi: OpenAI messages whose content may be a list of Oumi's own items."""

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
from chatsquash.formats.definition_cache import once_per_definition
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
_OWN = ("image_path", "image_binary")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_MEMBERS = {"conversation_id", "messages", "metadata", "tools"}
_ROLES = ("system", "user", "assistant", "tool")
_OF_HISTORIES = ("metadata", "raw_thinking", "role", "timestamp", "word_count")
"""Members of messages in histories, which those of a training set have not."""


# Reading


def fits(document: Object) -> str | None:
    """The evidence that this is a conversation of Oumi's and no other object with messages."""
    if not isinstance(document.get("messages"), list) or document.keys() - _MEMBERS:
        return None
    if isinstance(document.get("metadata"), dict) or isinstance(document.get("conversation_id"), str):
        return "messages beside metadata or conversation_id"
    contents = [each.get("content") for each in objects(document["messages"])]
    return "content items of Oumi" if any(has_oumi_items(content) for content in contents) else None


def defined_tools(document: Object) -> list[Tool]:
    """The definitions in a conversation."""
    return openai_chat.tools(document.get("tools")).functions


def load(document: Object) -> Conversation:
    """A conversation with its tools; raises ``TurnError``."""
    logged = document.get("messages")
    if not isinstance(logged, list):
        raise TurnError(f"has messages that are {kind(logged)}, not a list")
    turns = bodies.load_each(_message, logged, State(), "messages").turns
    named = Origin(session_id=string(document, "conversation_id") or None)
    tools = defined_tools(document)
    own = native(PROVIDER, document, "messages", "tools")
    return Conversation(view.messages(turns), tools, origin=named, native=own)


def _message(logged: Json, state: State) -> LoadedTurn:
    role = _role(logged)
    said = blocks_of(logged.get("content"))
    if role == "tool":
        return _result_turn(logged, said, state)
    if role != "assistant":
        made = Turn(role, said, are_instructions(logged), native(PROVIDER, logged, "role", "content", KEY))
        return LoadedTurn([made], state.evolve(by_assistant=False))
    calls = logged.get("tool_calls")
    read = [*text_members(logged, "reasoning_content"), *(["tool_calls"] if isinstance(calls, list) else [])]
    thought = string(logged, "reasoning_content")
    called = _calls(calls if isinstance(calls, list) else [], state.call)
    blocks = (*((Reasoning(thought),) if thought else ()), *said, *called)
    made = Turn(role, blocks, native=native(PROVIDER, logged, "role", "content", KEY, *read))
    return LoadedTurn([made], state.after_calls(blocks, by_assistant=True))


def _role(logged: Json) -> str:
    """The role of what is a message; raises ``TurnError`` for what is none."""
    if not isinstance(logged, dict):
        raise TurnError(f"is {kind(logged)}, not an object")
    role, content = role_of(logged, _ROLES), logged.get("content")
    if not isinstance(content, str | list | None):
        raise TurnError(f"has a content that is {kind(content)}, not text or a list of items")
    return role


def _calls(logged: list[Json], number: int) -> Iterator[Block]:
    for each in logged:
        made = _call(each, number) if isinstance(each, dict) else Other(PROVIDER, {"tool_calls": each})
        number += getattr(made, "made_up", False)
        yield made


def _call(logged: Object, number: int) -> Call:
    definition, own = logged.get("function"), string(logged, "id")
    function = members(definition)
    inner = native(PROVIDER, function, "arguments", *text_members(function, "name")).get(PROVIDER)
    read = ["index", *text_members(logged, "id"), *(["type"] if logged.get("type") == "function" else [])]
    rest = {**logged, "function": inner if isinstance(definition, dict) else definition}
    return call(own, number, function.get("name"), arguments(function.get("arguments")), native(PROVIDER, rest, *read))


def _result_turn(logged: Object, said: tuple[Text | Other | Media, ...], state: State) -> LoadedTurn:
    own, name = string(logged, "tool_call_id"), logged.get("name")
    answered, state = state.answer(own, name)
    content, outcome = parse_outcome(said, is_marked=is_failed(logged))
    more = native(PROVIDER, logged, "role", "content", KEY, *text_members(logged, "tool_call_id", "name"))
    made = result(answered, own, name, ResultContent(content), outcome, more)
    return LoadedTurn([Turn("tool", (made,))], state.evolve(by_assistant=False))


# Writing


def dump(conversation: Conversation) -> Json:
    """The conversation as one object; raises ``TurnError`` for tools that are nested too deeply to be checked."""
    messages = [message for turn in turns_of(conversation) for message in _write_turn(turn)]
    tools, own = _tools(conversation.tools), conversation.native.get(PROVIDER, {})
    named = {"conversation_id": own["conversation_id"]} if string(own, "conversation_id") else {}
    definitions = {"tools": tools} if tools else {}
    return {**named, "messages": messages, **definitions, "metadata": members(own.get("metadata"))}


def _write_turn(turn: Turn) -> Iterator[Object]:
    """The messages of a turn; none for one that says nothing here, unless it is an assistant's that is empty."""
    if turn.role == "tool":
        yield from (_result(block) for block in turn.blocks if type(block) is Result)
    elif turn.role == "assistant":
        said = _said(turn)
        if not turn.blocks or said != {"role": "assistant", "content": ""}:
            yield {**said, **_own(turn), **said}
    elif turn.role in SPEAKERS and (content := content_of(turn.blocks)):
        made = {"role": SPEAKERS[turn.role], "content": content, **instructions_mark(turn)}
        yield {**made, **_own(turn), **made}


def _said(turn: Turn) -> Object:
    content = content_of(turn.blocks)
    calls = [_written_call(block) for block in turn.blocks if type(block) is Call]
    thoughts = [block.text for block in turn.blocks if type(block) is Reasoning and block.text]
    thought = {"reasoning_content": "\n\n".join(thoughts)} if thoughts else {}
    call_members = {"tool_calls": calls} if calls else {}
    return {"role": "assistant", "content": content if content or calls else "", **thought, **call_members}


def _own(turn: Turn) -> Object:
    own = own_of(turn, PROVIDER)
    if not own or "role" in own:  # an attachment of a history
        return {}
    return {key: value for key, value in own.items() if key not in _OF_HISTORIES}


def _written_call(block: Call) -> Object:
    """A call of a function; that of a custom tool has the text as its input."""
    own = own_of(block, PROVIDER)
    spelled = compact(custom_input(block.arguments)) if block.custom else block.arguments
    function = {"name": block.name or "", "arguments": spelled}
    made = {"id": block.id, "type": "function", "function": {**function, **members(own.get("function")), **function}}
    return {**made, **own, **made}


def _result(block: Result) -> Object:
    """A result; one that failed says so before its text, with our mark beside it, which Oumi passes over."""
    content = content_of(block.content) or ""
    if isinstance(content, str):
        content = failure_text(content, block)
    elif block.outcome in FAILED and is_text(content[0]):
        content = [{**content[0], "content": failure_text(content[0]["content"], block)}, *content[1:]]
    elif block.outcome in FAILED:
        content = [{"type": "text", "content": ERROR}, *content]
    made = {"role": "tool", "tool_call_id": block.id, "content": content, **failure_mark(block)}
    return {**made, **own_of(block, PROVIDER), **made}


# Tools: what Oumi would refuse a whole conversation for is left out

_WANTED: dict[str, type] = {"description": str, "parameters": dict, "strict": bool}
"""What members of a function have to be, if they are not null."""
_TYPES = ("object", "string", "number", "integer", "boolean", "array", "null")


def _is_str(value: Json) -> bool:
    return isinstance(value, str)


_CHECKED: dict[str, Callable[[Any], bool]] = {
    "type": lambda value: all(each in _TYPES for each in (value if isinstance(value, list) else [value])),
    "description": _is_str,
    "title": _is_str,
    "format": _is_str,
    "required": lambda value: isinstance(value, list) and all(map(_is_str, value)),
    "enum": lambda value: isinstance(value, list),
}
"""The members of a schema that Oumi wants to be of a type."""
_FITTED = frozenset((*_CHECKED, "properties", "items"))


def _tools(defined: list[Tool]) -> list[Tool]:
    """The functions among the tools, without what Oumi would refuse; raises ``TurnError``."""
    try:
        return [fitted for tool in openai_chat.tools(defined).functions if (fitted := _tool(tool))]
    except RecursionError:
        raise TurnError("has tools that are nested too deeply") from None


@once_per_definition
def _tool(tool: Object) -> Object | None:
    function = tool.get("function")
    if tool.get("type") != "function" or not isinstance(function, dict) or not _is_str(function.get("name")):
        return None
    kept: Object = {
        key: value
        for key, value in function.items()
        if key != PRIVATE and (value is None or isinstance(value, _WANTED.get(key, object)))
    }
    if isinstance(kept.get("parameters"), dict):
        kept["parameters"] = _schema(kept["parameters"])
    return {**without_private(tool), "function": kept}


def _schema(schema: Object) -> Object:
    fitted = Object()
    for key, value in schema.items():
        if value is None or key not in _FITTED:
            fitted[key] = value
        else:
            fitted.update(_member(key, value))
    return fitted


def _member(key: str, value: Json) -> Object:
    """A member of a schema as Oumi takes it; lists of schemas in ``items`` are what newer ones call ``prefixItems``."""
    if key in _CHECKED:
        return {key: value} if _CHECKED[key](value) else {}
    if isinstance(value, list):
        return {"prefixItems": value} if key == "items" else {}
    if key == "items":
        return {} if (of := _sub(value)) is None else {key: of}
    inner = ((name, _sub(each)) for name, each in members(value).items())
    return {key: {name: of for name, of in inner if of is not None}} if isinstance(value, dict) else {}


def _sub(schema: Json) -> Object | None:
    """A schema; those that are booleans take all or nothing."""
    if isinstance(schema, bool):
        return {} if schema else {"not": {}}
    return _schema(schema) if isinstance(schema, dict) else None


def has_oumi_items(content: Json) -> bool:
    """Whether a content has items that only Oumi spells like this."""
    return any(
        each.get("type") in _OWN or (each.get("type") in ("text", "image_url") and isinstance(each.get("content"), str))
        for each in objects(content)
    )


def blocks_of(content: Json) -> tuple[Text | Media | Other, ...]:
    """What a content says that is text or a list of items."""
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
    """The type of an image in base64, by its first bytes; ``None`` for what is no image."""
    return parts.image_type((parts.decode_base64(data) or b"")[:12])


def _type(url: str) -> str:
    """The type of the item for an image that is elsewhere: at an address, or in the file system."""
    return "image_url" if _ADDRESS.match(url) else "image_path"


def content_of(blocks: Iterable[Block]) -> Json:
    """Items, or their text where they are one; ``None`` without any.  Texts around calls are one."""
    said = [block for block in blocks if isinstance(block, Text | Refusal | Media | Other | Call)]
    items = [item for block in said if (item := _item(block))]
    if not items:
        return None
    are_texts = all(item.keys() == {"type", "content"} and is_text(item) for item in items)
    calls = [place for place, block in enumerate(said) if type(block) is Call]
    if are_texts and (len(items) == 1 or (calls and calls[0] < len(said) - len(calls))):
        return text_of(said, by_assistant=bool(calls))
    return items


def is_text(item: Object) -> bool:
    """Whether an item is a text."""
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
    """An image: its bytes where these tell of what type it is, else its address, or its path."""
    if block.data and _mime(block.data) == block.mime:
        return {"type": "image_binary", "binary": block.data}
    url = parts.data_url(block.mime, block.data) if block.data else block.url
    return {"type": _type(url), "content": url}
