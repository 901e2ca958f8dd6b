"""Write conversations as requests to OpenAI chat: the schema's members, plus reasoning and tool names in results."""

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
from chatsquash.formats.definitions import once_per_definition
from chatsquash.formats.providers.openai_chat.content import COMMON_MEMBERS, PROVIDER
from chatsquash.formats.providers.openai_chat.read import tools, turns_of
from chatsquash.formats.values import Object, members, string, without
from chatsquash.formats.writing import failure_mark, failure_text, file_name, instructions_mark, native

_DETAILS = ("auto", "low", "high")
_CALL_MEMBERS = ("id", "function", "custom")
_CITATION_MEMBERS = ("start_index", "end_index")
_TYPES = {"description": str, "parameters": dict, "strict": bool, "format": dict}


def dump(conversation: Conversation) -> Json:
    """Write the messages and the tools of a request; text after calls becomes the last part of the content."""
    body: Object = {"messages": list(messages(turns_of(conversation)))}
    definitions = write_tools(conversation.tools)
    return {**body, "tools": definitions} if definitions else body


def messages(turns: Iterable[Turn]) -> Iterator[Object]:
    """Write the messages of turns; prompts and user turns without supported content are skipped."""
    for turn in turns:
        if turn.role == "tool":
            yield from (_result(block) for block in turn.blocks if type(block) is Result)
        elif turn.role == "assistant":
            yield _assistant_message(turn)
        elif parts := list(_parts(turn.blocks, media=turn.role == "user")):
            yield {"role": turn.role, "content": _content(parts), **native(turn, PROVIDER), **instructions_mark(turn)}


def _assistant_message(turn: Turn) -> Object:
    parts = list(_parts(turn.blocks, media=False))
    refusals = [block for block in turn.blocks if type(block) is Refusal]
    is_refusal = len(refusals) == 1 and not any(type(block) is Text for block in turn.blocks)
    message: Object = {"role": "assistant", "content": None if is_refusal else _content(parts) or None}
    calls = [_call(block) for block in turn.blocks if type(block) is Call]
    if message["content"] is None and not (calls or is_refusal):
        message["content"] = ""
    if is_refusal:
        message["refusal"] = refusals[0].text
    thoughts = [block for block in turn.blocks if type(block) is Reasoning]
    if first_block := "\n\n".join(block.text for block in thoughts if block.text):
        message["reasoning_content"] = first_block
    if details := [_detail(block) for block in thoughts if block.native.keys() & {PROVIDER, FORM}]:
        message["thinking_blocks" if "thinking" in string(details[0], "type") else "reasoning_details"] = details
    if calls:
        message["tool_calls"] = calls
    if annotations := [_annotation(block) for block in turn.blocks if type(block) is Source and block.url]:
        message["annotations"] = annotations
    return {**message, **native(turn, PROVIDER)}


def _detail(block: Reasoning) -> Object:
    """Write a block of reasoning in the form of vendors that report its signer."""
    own = {"type": "", **native(block, FORM).get(PROVIDER, {}), **native(block, PROVIDER)}
    is_summary = block.encrypted or own["type"] == "reasoning.summary"
    text_member = "thinking" if own["type"] == "thinking" else "summary" if is_summary else "text"
    members = {text_member: block.text, "signature": block.signature, "data": block.encrypted, "id": block.id}
    return {**own, **{key: value for key, value in members.items() if value or key == "thinking"}}


def _annotation(block: Source) -> Object:
    title_member = {"title": block.title} if block.title else {}
    more = {name: value for name, value in native(block, "openai").items() if name in _CITATION_MEMBERS}
    return {"type": "url_citation", "url_citation": {"url": block.url, **title_member, **more}}


def _call(block: Call) -> Object:
    own = native(block, PROVIDER)
    call = view.call(block)
    of = call["type"]
    call[of] = {**members(own.get(of)), "name": "", **call[of]}
    signature = native(block, "google").get("thoughtSignature")
    signature_member = {"extra_content": {"google": {"thought_signature": signature}}} if signature else {}
    return {**call, **signature_member, **{key: value for key, value in own.items() if key not in _CALL_MEMBERS}}


def _result(block: Result) -> Object:
    """Write a result; failures are marked at the beginning of the text, because there is no member for them."""
    message = {"role": "tool", "tool_call_id": block.id, **({"name": block.name} if block.name else {})}
    # A list of parts without text would be loaded as JSON.
    has_texts = any(isinstance(each, Text | Refusal) for each in block.content)
    parts = list(_parts(block.content, media=False)) if has_texts else []
    if block.outcome in FAILED:
        text = parts.pop(0)["text"] if parts and parts[0]["type"] == "text" else ""
        parts.insert(0, chat_parts.text(failure_text(text, block)))
    return {**message, "content": _content(parts), **failure_mark(block), **native(block, PROVIDER)}


# Content


def _content(parts: list[Object]) -> Json:
    """Return the parts, or the text if there is only a text part without other members."""
    is_text = len(parts) == 1 and parts[0].keys() == {"type", "text"}
    return parts[0]["text"] if is_text else parts or ""


def _parts(blocks: Iterable[Block], *, media: bool) -> Iterator[Object]:
    """Write the parts that the schema allows."""
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
    """Return the native members of a part, including those shared by both OpenAI formats."""
    common = native(block, "openai")
    return {**{name: common[name] for name in COMMON_MEMBERS if name in common}, **native(block, PROVIDER)}


_NEXT_TO_MEDIUM = ("prompt_cache_breakpoint",)
"""Members of a part that are outside its inner object."""


def _medium(block: Media) -> Object | None:
    """Write an image, audio or a file; return ``None`` for linked files, video and other audio formats."""
    part = view.part_of(block)
    of = part["type"] if part else ""
    if (
        part is None
        or of == "video_url"
        or (of == "file" and ("file_url" in part[of] or block.kind in ("audio", "video")))
    ):
        return None
    own = _own(block)
    outer_members = {name: own.pop(name) for name in _NEXT_TO_MEDIUM if name in own}
    inner = {**part[of], **own}
    if inner.get("detail") not in _DETAILS:
        inner.pop("detail", None)
    if "file_data" in inner:
        inner["filename"] = file_name(block)
    return {**part, of: inner, **outer_members}


# Tools


def named_tools(loaded_tools: list[Tool]) -> list[Tool]:
    """Return the definitions of functions and custom tools that have a name."""
    return [tool for tool in tools(loaded_tools).functions if string(definition(tool), "name")]


def write_tools(loaded_tools: list[Tool]) -> list[Object]:
    """Write the definitions of functions and custom tools that have a name."""
    return [_tool(tool) for tool in named_tools(loaded_tools)]


@once_per_definition
def _tool(tool: Tool) -> Object:
    """Write a definition; schema members with a wrong type are omitted, and other members are kept."""
    of = "custom" if is_custom(tool) else "function"
    typed_members = {
        key: value for key, value in without(tool[of]).items() if isinstance(value, _TYPES.get(key, object))
    }
    rest = {key: value for key, value in without(tool).items() if not isinstance(value, Private)}
    return {**rest, "type": of, of: typed_members}
