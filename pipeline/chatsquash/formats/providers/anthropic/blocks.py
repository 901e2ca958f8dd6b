"""Content blocks of Anthropic, and what they are read as."""

from __future__ import annotations

import base64
from collections.abc import Iterator

from msgspec.structs import replace

from chatsquash.core import jsonio
from chatsquash.core.blocks import (
    Block,
    Call,
    HostedCall,
    HostedResult,
    Media,
    Medium,
    Native,
    Other,
    Reasoning,
    Source,
    Text,
)
from chatsquash.core.model import Json
from chatsquash.formats.calls import EMPTY, ResultContent, arguments, native
from chatsquash.formats.values import Object, compact, string, text_members
from chatsquash.formats.writing import KEY

PROVIDER = "anthropic"
WRAPPED, WITHIN = "wrapper", "within"
"""What the first block of what a document of blocks or a search result holds knows of that; and the others."""
DOCUMENT = "document"
"""What a text that is the data of a document knows of that."""
_SIMPLE = ("text", "image")
"""What documents and search results may be made of."""
_PACKED = "openrouter.reasoning:"
"""What OpenRouter puts before plain reasoning where Anthropic has the encrypted kind."""
_RESULT = "_tool_result"
REQUIRED = ("cited_text", "title", "document_title", "url", "source", "server_name")
"""Members of citations and calls that must be there, if only as null or as an empty text."""

Blocks = tuple[Block, ...]


def blocks_of(content: Json) -> Blocks:
    """What a content says that neither thinks nor calls."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    return tuple(block for each in content or () for block in block_of(each))


def block_of(block: Json, call_number: int | None = None) -> Blocks:
    """What a block is read as; only assistants, who have the number of their next call, think and call."""
    if type(block) is dict and len(block) == 2 and block.get("type") == "text" and type(block.get("text")) is str:
        return (Text(block["text"]),) if block["text"] else ()  # as most are
    if call_number is not None and isinstance(block, dict):
        match block.get("type"):
            case "tool_use":
                return (_call(block, call_number),)
            case "thinking" | "redacted_thinking" if thought := _thought(block):
                return (thought,)
            case "server_tool_use" | "mcp_tool_use" if isinstance(block.get("id"), str):
                return (_hosted_call(block),)
            case str(of) if of.endswith(_RESULT) and isinstance(block.get("tool_use_id"), str):
                return (_hosted_result(block, of),)
    shown = _media_block(block)
    return (Other(PROVIDER, block),) if shown is None else shown


def said_in(content: Json) -> ResultContent:
    """What a result says; what has neither text nor media is JSON."""
    if content is None or isinstance(content, str):
        return ResultContent((Text(content),) if content else ())
    if isinstance(content, list):
        read = [block_of(each) for each in content]
        is_typed = all(isinstance(each, dict) and isinstance(each.get("type"), str) for each in content)
        loaded = tuple(block for blocks in read for block in blocks)
        if any(type(block) is Media for block in loaded) or (is_typed and not all(map(_is_unknown, read))):
            return ResultContent(loaded)
        if not content:
            return ResultContent()
    return ResultContent((Text(compact(content)),), json=True)


def _is_unknown(blocks: Blocks) -> bool:
    """Whether a block was read as one that only Anthropic has; an empty text is read as nothing."""
    return any(type(block) is Other for block in blocks)


# Reasoning and calls


def _thought(block: Object) -> Reasoning | None:
    match block:
        case {"type": "thinking", "thinking": str(text)}:
            signature = string(block, "signature")
            more = native(PROVIDER, block, "type", "thinking", "signature") if len(block) > 2 + bool(signature) else {}
            return Reasoning(text, PROVIDER if signature else "", signature, native=more)
        case {"type": "redacted_thinking", "data": str(data)}:
            if plain := _unpack_reasoning(data):
                return Reasoning(plain, native={PROVIDER: {"data": data}})
            return Reasoning(encrypted=data, signer=PROVIDER, native=native(PROVIDER, block, "type", "data"))
    return None


def _unpack_reasoning(data: str) -> str:
    """The plain reasoning that OpenRouter packed; empty if it is none."""
    if not data.startswith(_PACKED):
        return ""
    try:
        return string(jsonio.loads(base64.b64decode(data.removeprefix(_PACKED))), "text")
    except (ValueError, RecursionError):
        return ""


def _call(block: Object, number: int) -> Block:
    own, name = string(block, "id"), block.get("name")
    if own and type(name) is str and "input" in block and len(block) == 4:  # as most are
        return Call(own, name, arguments(block.get("input")))
    more = native(PROVIDER, block, "type", "input", *text_members(block, "id", "name"))
    known = name if isinstance(name, str) else None
    return Call(own or f"call_{number}", known, arguments(block.get("input")), made_up=not own, native=more)


def _hosted_call(block: Object) -> HostedCall:
    usual = ("type",) if block["type"] == "server_tool_use" else ()
    more = native(PROVIDER, block, "id", "input", *text_members(block, "name"), *usual, required=REQUIRED)
    return HostedCall(block["id"], string(block, "name"), arguments(block.get("input")), PROVIDER, more)


def _hosted_result(block: Object, of: str) -> HostedResult:
    """What a tool gave; its block's type tells which one, but for those of an MCP server."""
    value, name = block.get("content"), of.removesuffix(_RESULT)
    failed = block.get("is_error") is True or string(value, "type").endswith("_error")
    more = native(PROVIDER, block, "type", "tool_use_id", "content", "is_error")
    return HostedResult(block["tool_use_id"], name, value, "failed" if failed else "success", PROVIDER, more)


# Texts and media


def _media_block(block: Json) -> Blocks | None:
    """Texts, images, documents and search results; ``None`` for what is none."""
    match block:
        case str(text):
            return (Text(text),) if text else ()
        case {"type": "text", "text": str(text)}:
            cited = block.get("citations")
            sources = tuple(_sources(cited)) if isinstance(cited, list) else ()
            read = ("type", "text", KEY, *(("citations",) if sources else ()))
            return (Text(text, native=native(PROVIDER, block, *read)), *sources) if text else sources
        case {"type": "image" | "document" as kind, "source": dict(source)}:
            return _sourced(block, "image" if kind == "image" else "file", source)
        case {"type": "search_result", "content": content}:
            return _wrapper_parts({key: value for key, value in block.items() if key != "content"}, content)
    return None


def _sources(citations: list[Json]) -> Iterator[Source | Other]:
    for cited in citations:
        if isinstance(cited, dict):
            title = string(cited, "title") or string(cited, "document_title")
            titles = [key for key in ("title", "document_title") if title and cited.get(key) == title]
            more = native(PROVIDER, cited, *(("url",) if cited.get("url") else ()), *titles, required=REQUIRED)
            yield Source(string(cited, "url"), title, native=more)
        else:
            yield Other(PROVIDER, {"citation": cited})


def _sourced(block: Object, kind: Medium, source: Object) -> Blocks | None:
    named = ("title",) if kind == "file" and string(block, "title") else ()
    title = string(block, "title") if named else ""
    match source:
        case {"type": "base64", "media_type": str(mime), "data": str(data)} if data:
            more = _more(block, source, ("media_type", "data"), *named)
            return (Media(kind, mime, data, name=title, native=more),)
        case {"type": "url", "url": str(url)} if url:
            return (Media(kind, url=url, name=title, native=_more(block, source, ("url",), *named)),)
        case {"type": "file", "file_id": str(file_id)} if file_id:
            more = _more(block, source, ("file_id",), *named)
            return (Media(kind, file_id=file_id, name=title, provider=PROVIDER, native=more),)
        case {"type": "text", "data": str(text)} if text and kind == "file":
            members = {**block, "source": {key: value for key, value in source.items() if key != "data"}}
            return (Text(text, native={PROVIDER: {DOCUMENT: members}}),)
        case {"type": "content", "content": content} if kind == "file":
            members = {**block, "source": {key: value for key, value in source.items() if key != "content"}}
            return _wrapper_parts(members, content)
    return None


def _more(block: Object, source: Object, read: tuple[str, ...], *named: str) -> Native:
    """What a block and its source have beside what is read of them."""
    more = native(PROVIDER, block, "type", "source", *named)
    rest = {key: value for key, value in source.items() if key not in ("type", *read) and value not in EMPTY}
    return {PROVIDER: {**more.get(PROVIDER, {}), "source": rest}} if rest else more


def _wrapper_parts(wrapper: Object, content: Json) -> Blocks | None:
    """The texts and images in a block; the first knows what the block is, the others that they stand in it."""
    inner = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(inner, list) or any(not isinstance(b, dict) or b.get("type") not in _SIMPLE for b in inner):
        return None
    blocks = list[Block]()
    for each in inner:
        for block in _media_block(each) or ():
            if not isinstance(block, Text | Media):
                return None
            marks = {WITHIN: True} if blocks else {WRAPPED: {**wrapper, "is_text": isinstance(content, str)}}
            inside = block.native.get(PROVIDER, {})
            blocks.append(replace(block, native={PROVIDER: {**inside, **marks}}))
    return tuple(blocks) or None
