"""Conversations as requests to OpenAI chat: what its schema has, with reasoning and the names of tools beside it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from chatsquash.core.blocks import (
    FAILED,
    FORM,
    Block,
    Call,
    Media,
    Other,
    Reasoning,
    Refusal,
    Result,
    Source,
    Text,
    Turn,
)
from chatsquash.core.chat import Private
from chatsquash.core.model import Conversation, Json, Tool
from chatsquash.formats import parts as chat_parts
from chatsquash.formats import view
from chatsquash.formats.calls import definition, is_custom
from chatsquash.formats.definition_cache import once_per_definition
from chatsquash.formats.providers.openai_chat.content import PROVIDER, SHARED
from chatsquash.formats.providers.openai_chat.read import tools, turns_of
from chatsquash.formats.values import Object, members, string, without
from chatsquash.formats.writing import failure_mark, failure_text, file_name, instructions_mark, native

_DETAILS = ("auto", "low", "high")
_CALLED = ("id", "function", "custom")
_CITED = ("start_index", "end_index")
_TYPES = {"description": str, "parameters": dict, "strict": bool, "format": dict}


def dump(conversation: Conversation) -> Json:
    """A request's messages and tools; text behind calls is the last part of the content."""
    body: Object = {"messages": list(messages(turns_of(conversation)))}
    made = [_tool(tool) for tool in named_tools(conversation.tools)]
    return {**body, "tools": made} if made else body


def messages(turns: Iterable[Turn]) -> Iterator[Object]:
    """The messages of turns; a user's that hold nothing that OpenAI chat has a place for are left out."""
    for turn in turns:
        if turn.role == "tool":
            yield from (_result(block) for block in turn.blocks if type(block) is Result)
        elif turn.role == "assistant":
            yield _said(turn)
        elif parts := list(_parts(turn.blocks, media=turn.role == "user")):
            yield {"role": turn.role, "content": _content(parts), **native(turn, PROVIDER), **instructions_mark(turn)}


def _said(turn: Turn) -> Object:
    parts = list(_parts(turn.blocks, media=False))
    refusals = [block for block in turn.blocks if type(block) is Refusal]
    alone = len(refusals) == 1 and not any(type(block) is Text for block in turn.blocks)
    made: Object = {"role": "assistant", "content": None if alone else _content(parts) or None}
    calls = [_call(block) for block in turn.blocks if type(block) is Call]
    if made["content"] is None and not (calls or alone):
        made["content"] = ""
    if alone:
        made["refusal"] = refusals[0].text
    thoughts = [block for block in turn.blocks if type(block) is Reasoning]
    if first_block := "\n\n".join(block.text for block in thoughts if block.text):
        made["reasoning_content"] = first_block
    if noted := [_detail(block) for block in thoughts if block.native.keys() & {PROVIDER, FORM}]:
        made["thinking_blocks" if "thinking" in string(noted[0], "type") else "reasoning_details"] = noted
    if calls:
        made["tool_calls"] = calls
    if cited := [_annotation(block) for block in turn.blocks if type(block) is Source and block.url]:
        made["annotations"] = cited
    return {**made, **native(turn, PROVIDER)}


def _detail(block: Reasoning) -> Object:
    """A block of reasoning as those vendors have it that tell who signed it."""
    own = {"type": "", **native(block, FORM).get(PROVIDER, {}), **native(block, PROVIDER)}
    is_summary = block.encrypted or own["type"] == "reasoning.summary"
    said = "thinking" if own["type"] == "thinking" else "summary" if is_summary else "text"
    members = {said: block.text, "signature": block.signature, "data": block.encrypted, "id": block.id}
    return {**own, **{key: value for key, value in members.items() if value or key == "thinking"}}


def _annotation(block: Source) -> Object:
    titled = {"title": block.title} if block.title else {}
    more = {name: value for name, value in native(block, "openai").items() if name in _CITED}
    return {"type": "url_citation", "url_citation": {"url": block.url, **titled, **more}}


def _call(block: Call) -> Object:
    own = native(block, PROVIDER)
    made = view.call(block)
    of = made["type"]
    made[of] = {**members(own.get(of)), "name": "", **made[of]}
    signature = native(block, "google").get("thoughtSignature")
    signed = {"extra_content": {"google": {"thought_signature": signature}}} if signature else {}
    return {**made, **signed, **{key: value for key, value in own.items() if key not in _CALLED}}


def _result(block: Result) -> Object:
    """The result of a call; one that failed says so before its text, since there is no member for that."""
    made = {"role": "tool", "tool_call_id": block.id, **({"name": block.name} if block.name else {})}
    is_said = any(isinstance(each, Text | Refusal) for each in block.content)  # else it would be read as JSON
    parts = list(_parts(block.content, media=False)) if is_said else []
    if block.outcome in FAILED:
        said = parts.pop(0)["text"] if parts and parts[0]["type"] == "text" else ""
        parts.insert(0, chat_parts.text(failure_text(said, block)))
    return {**made, "content": _content(parts), **failure_mark(block), **native(block, PROVIDER)}


# Content


def _content(parts: list[Object]) -> Json:
    """Parts, or their text where they are one."""
    alone = len(parts) == 1 and parts[0].keys() == {"type", "text"}
    return parts[0]["text"] if alone else parts or ""


def _parts(blocks: Iterable[Block], *, media: bool) -> Iterator[Object]:
    """The parts that the schema has."""
    for block in blocks:
        match block:
            case Text():
                yield {"type": "text", "text": block.text, **_own(block)}
            case Refusal():
                yield {"type": "refusal", "refusal": block.text, **_own(block)}
            case Media() if media and (part := _medium(block)):
                yield part
            case Other() if block.provider == PROVIDER and string(block.value, "type"):
                yield block.value


def _own(block: Text | Refusal | Media) -> Object:
    """What only OpenAI knows of a part, and what both its formats have."""
    shared = native(block, "openai")
    return {**{name: shared[name] for name in SHARED if name in shared}, **native(block, PROVIDER)}


_BESIDE = ("prompt_cache_breakpoint",)
"""Members of a part that are next to its medium, and not in it."""


def _medium(block: Media) -> Object | None:
    """An image, a sound or a file; a file that is only an address has no place, nor have films and other sounds."""
    part = view.part_of(block)
    of = part["type"] if part else ""
    if (
        part is None
        or of == "video_url"
        or (of == "file" and ("file_url" in part[of] or block.kind in ("audio", "video")))
    ):
        return None
    own = _own(block)
    beside = {name: own.pop(name) for name in _BESIDE if name in own}
    inner = {**part[of], **own}
    if inner.get("detail") not in _DETAILS:
        inner.pop("detail", None)
    if "file_data" in inner:
        inner["filename"] = file_name(block)
    return {**part, of: inner, **beside}


# Tools


def named_tools(loaded_tools: list[Tool]) -> list[Tool]:
    """The definitions of functions and custom tools that have a name."""
    return [tool for tool in tools(loaded_tools).functions if string(definition(tool), "name")]


@once_per_definition
def _tool(tool: Tool) -> Object:
    """A definition with those members of the types that the schema has; others travel along."""
    of = "custom" if is_custom(tool) else "function"
    made = {key: value for key, value in without(tool[of]).items() if isinstance(value, _TYPES.get(key, object))}
    rest = {key: value for key, value in without(tool).items() if not isinstance(value, Private)}
    return {**rest, "type": of, of: made}
