"""Write a conversation as a request to Anthropic: the system prompt, turns and tools."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from itertools import chain
from typing import Any

from chatsquash.core import chat
from chatsquash.core.blocks import (
    FAILED,
    PROMPTS,
    Block,
    Call,
    HostedCall,
    HostedResult,
    Media,
    Other,
    Reasoning,
    Refusal,
    Result,
    Source,
    Text,
    Turn,
)
from chatsquash.core.model import Conversation, Json, Tool
from chatsquash.formats.calls import arguments_object, call_input, definition, is_custom, parse_json, takes_text
from chatsquash.formats.definitions import once_per_definition
from chatsquash.formats.providers.anthropic.blocks import DOCUMENT, PROVIDER, WITHIN, WRAPPER
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.formats.values import Object, string
from chatsquash.formats.writing import instructions_mark, join_results, native

_ROLES = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant", "tool": "user"}
IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
_CANONICAL_TYPES = {"image/jpg": "image/jpeg"}
REFERENCES = ("tool_reference", "browser_state")
"""The types of blocks that only occur in results."""
_TOOL_MEMBERS = (
    *("type", "cache_control", "allowed_callers", "defer_loading", "eager_input_streaming", "input_examples"),
    *("display_height_px", "display_width_px", "display_number", "enable_zoom", "max_characters"),
)
"""Members of a tool that OpenAI's definitions do not have."""


def dump(conversation: Conversation) -> Json:
    """Write the members of a request that contain the conversation.

    Leading system prompts are joined, developer prompts become system prompts, and refusals become text.  Reasoning
    without Anthropic's signature, audio, the tool names of results and the mark of JSON results cannot be expressed.
    """
    prompt, turns = list[Object](), list[Object]()
    for group in join_results(turns_of(conversation)):
        texts = None if turns else _prompt_texts(group[0])
        if texts is not None:
            prompt += texts
        elif turn := _turn(group):
            turns.append(turn)
    body = dict[str, Any]()
    if prompt:
        body["system"] = prompt[0]["text"] if len(prompt) == 1 and prompt[0].keys() == {"type", "text"} else prompt
    body["messages"] = turns
    if tools := [each for tool in conversation.tools if (each := _tool(tool))]:
        body["tools"] = tools
    return body


def _prompt_texts(turn: Turn) -> list[Object] | None:
    """Return the text blocks of a system prompt, or ``None`` for other turns, and for prompts with other content."""
    if turn.role not in PROMPTS:
        return None
    blocks = [{**block, **instructions_mark(turn)} for block in _blocks(turn.blocks)]
    return blocks if all(block["type"] == "text" for block in blocks) else None


def _turn(group: list[Turn]) -> Object | None:
    """Write a group of turns as one turn, results first; return ``None`` if Anthropic supports none of its content."""
    first = group[0]
    role = _ROLES.get(first.role)
    if role is None:
        return None
    if len(group) == 1:
        if not first.native and (text := _only_text(first.blocks)):
            return {"role": role, "content": text}
        blocks = _blocks(first.blocks)
    else:
        # The API requires results to precede other content of a user turn.
        turns = sorted(group, key=lambda turn: turn.role != "tool")
        blocks = _blocks(chain.from_iterable([turn.blocks for turn in turns]))
    if not blocks and (first.blocks or role != "assistant"):
        return None
    content: Json = blocks[0]["text"] if len(blocks) == 1 and blocks[0].keys() == {"type", "text"} else blocks or ""
    return {"role": role, "content": content, **native(first, PROVIDER)}


def _only_text(blocks: tuple[Block, ...]) -> str | None:
    """Return the text if the only block is a text block without native members."""
    return blocks[0].text if len(blocks) == 1 and type(blocks[0]) is Text and not blocks[0].native else None


def _blocks(blocks: Iterable[Block]) -> list[Object]:
    """Write blocks; sources become citations of the text before them."""
    items = list[Object]()
    for block in blocks:
        if type(block) is Text and not block.native:  # the usual case
            items.append({"type": "text", "text": block.text})
            continue
        own = block.native.get(PROVIDER, {})
        if own.get(WITHIN) and items:
            _fill(items[-1], block)
        elif type(block) is Source:
            _cite(items, block, own)
        else:
            items += [converted] if (converted := _as_block(block, own)) else []
    return items


def _as_block(block: Block, own: Object) -> Any:  # noqa: PLR0911 - one for each block
    """Write a block; return ``None`` if Anthropic does not support it."""
    match block:
        case Text() | Refusal():
            return _text(block.text, own)
        case Reasoning():
            return _reasoning(block, own)
        case Call():
            return {"type": "tool_use", "id": block.id, "name": block.name or "", "input": call_input(block), **own}
        case Result():
            return _result(block, own)
        case Media():
            return _wrapper(own, _medium(block)) if WRAPPER in own else _with(_medium(block), own)
        case HostedCall() if block.provider == PROVIDER:
            input_value = arguments_object(block.arguments)
            return {"type": "server_tool_use", "id": block.id, "name": block.name, "input": input_value, **own}
        case HostedResult() if block.provider == PROVIDER and (
            isinstance(block.value, dict | list) or block.name == "mcp"
        ):
            failed = {"is_error": True} if block.outcome in FAILED and block.name == "mcp" else {}
            of = f"{block.name}_tool_result"
            return {"type": of, "tool_use_id": block.id, "content": block.value, **failed, **own}
        case Other() if block.provider == PROVIDER and string(block.value, "type"):
            return block.value
    return None


# Texts, media and citations


def _text(text: str, own: Object) -> Object:
    if WRAPPER in own:
        return _wrapper(own, {"type": "text", "text": text})
    if isinstance(document := own.get(DOCUMENT), dict) and isinstance(document.get("source"), dict):
        return {**document, "source": {**document["source"], "data": text}}
    return {"type": "text", "text": text, **own}


def _with(block: Object | None, own: Object) -> Object | None:
    """Add native members to a media block and its source."""
    if block is None or not own:
        return block
    source = {**block["source"], **own.get("source", {})}
    return {**block, **own, "source": source}


def _wrapper(own: Object, inner: Object | None) -> Object:
    """Write the document or search result that begins with a block."""
    wrapper = {key: value for key, value in own[WRAPPER].items() if key != "is_text"}
    content: Json = inner["text"] if inner and own[WRAPPER].get("is_text") else [inner] if inner else []
    if "source" in wrapper and isinstance(wrapper["source"], dict):
        return {**wrapper, "source": {**wrapper["source"], "content": content}}
    return {**wrapper, "content": content}


def _fill(wrapper: Object, block: Block) -> None:
    """Append a block to the document or search result that contained it."""
    holder = wrapper["source"] if isinstance(wrapper.get("source"), dict) else wrapper
    inner = _text(block.text, {}) if type(block) is Text else _medium(block) if type(block) is Media else None
    if inner and isinstance(holder.get("content"), list):
        holder["content"].append(inner)


def _cite(items: list[Object], source: Source, own: Object) -> None:
    """Add a citation that came from Anthropic to the text before it."""
    if own.get("type") and items and items[-1].get("type") == "text":
        title_member = "title" if source.url else "document_title"
        citation = {"url": source.url} if source.url else {}
        citation |= {title_member: source.title} if source.title else {}
        items[-1].setdefault("citations", []).append({**citation, **own})


def _medium(media: Media) -> Object | None:
    """Write an image or a document; return ``None`` for other media."""
    if media.kind not in ("image", "file"):
        return None
    source = _source(media)
    title_member = {"title": media.name} if media.name and media.kind == "file" else {}
    return (
        {"type": "image" if media.kind == "image" else "document", "source": source, **title_member} if source else None
    )


def _source(media: Media) -> Object | None:
    if media.url:
        # The API does not accept data URLs as URLs.
        return None if media.url.startswith("data:") else {"type": "url", "url": media.url}
    if media.file_id:
        return {"type": "file", "file_id": media.file_id}
    mime = _CANONICAL_TYPES.get(media.mime, media.mime)
    if mime in (IMAGES if media.kind == "image" else ("application/pdf",)):
        return {"type": "base64", "media_type": mime, "data": media.data}
    if media.kind == "image" or not media.mime.startswith("text/"):
        return None
    try:
        # Documents with inline text must be plain text, not base64.
        text = base64.b64decode(media.data, validate=True).decode()
    except ValueError:
        return None
    return {"type": "text", "media_type": "text/plain", "data": text} if text else None


# Reasoning and results


def _reasoning(block: Reasoning, own: Object) -> Object | None:
    """Write reasoning that Anthropic signed or encrypted; ``None`` for other reasoning, which the service rejects."""
    if isinstance(own.get("data"), str):
        return {"type": "redacted_thinking", "data": own["data"]}
    if block.signer != PROVIDER:
        return None
    if block.encrypted:
        return {"type": "redacted_thinking", "data": block.encrypted, **own}
    return {"type": "thinking", "thinking": block.text, "signature": block.signature, **own}


def _result(block: Result, own: Object) -> Object:
    failed = {"is_error": True} if block.outcome in FAILED else {}
    return {"type": "tool_result", "tool_use_id": block.id, "content": _content(block), **failed, **own}


def _content(block: Result) -> Json:
    if block.json and len(block.content) == 1 and type(block.content[0]) is Text:
        value = parse_json(block.content[0].text)
        # These blocks were loaded as JSON, because they have no equivalent in other formats.
        if isinstance(value, list) and value and all(string(each, "type") in REFERENCES for each in value):
            return value
    if text := _only_text(block.content):
        return text
    blocks = _blocks(block.content)
    return blocks[0]["text"] if len(blocks) == 1 and blocks[0].keys() == {"type", "text"} else blocks or ""


# Tools


@once_per_definition
def _tool(tool: Tool) -> Object | None:
    """Write a definition; tools without a schema accept any object, and custom tools accept a string."""
    function = definition(tool)
    if not isinstance(function, dict) or not string(function, "name"):
        return None
    own = chat.private(tool).get(PROVIDER, {})
    tool_members = {key: function[key] for key in ("name", "description") if isinstance(function.get(key), str)}
    if isinstance(function.get("strict"), bool):
        tool_members["strict"] = function["strict"]
    more = {key: own[key] for key in _TOOL_MEMBERS if own.get(key) is not None}
    if not (string(more, "type").startswith(chat.CLIENT_TOOLS) and "parameters" not in function):
        tool_members["input_schema"] = _schema(function, of_text=is_custom(tool))
    return {**tool_members, **more}


def _schema(function: Object, *, of_text: bool) -> Object:
    if of_text:
        return takes_text()
    schema = function.get("parameters")
    if not isinstance(schema, dict):
        return {"type": "object"}
    return schema if "type" in schema else {"type": "object", **schema}
