"""Load Anthropic's content blocks."""

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
WRAPPER, WITHIN = "wrapper", "within"
"""Native members of the first block and of the other blocks inside a document or a search result."""
DOCUMENT = "document"
"""The native member of text that was a document; contains the document without the text."""
_SIMPLE = ("text", "image")
"""The types of blocks that documents and search results may contain."""
_OPENROUTER_PREFIX = "openrouter.reasoning:"
"""The prefix of plain reasoning that OpenRouter sends as encrypted reasoning."""
_RESULT = "_tool_result"
REQUIRED = ("cited_text", "title", "document_title", "url", "source", "server_name")
"""Members of citations and calls that are required even if they are null or empty."""

Blocks = tuple[Block, ...]


def blocks_of(content: Json) -> Blocks:
    """Load content without reasoning and calls."""
    if isinstance(content, str):
        return (Text(content),) if content else ()
    return tuple(block for each in content or () for block in block_of(each))


def block_of(block: Json, call_number: int | None = None) -> Blocks:
    """Load a block.

    Args:
        block: the block as logged
        call_number: the number of the next call without an id, or ``None`` in turns without calls and reasoning
    """
    if type(block) is dict and len(block) == 2 and block.get("type") == "text" and type(block.get("text")) is str:
        return (Text(block["text"]),) if block["text"] else ()  # the usual case, without further checks
    if call_number is not None and isinstance(block, dict):
        match block.get("type"):
            case "tool_use":
                return (_call(block, call_number),)
            case "thinking" | "redacted_thinking" if thought := _reasoning(block):
                return (thought,)
            case "server_tool_use" | "mcp_tool_use" if isinstance(block.get("id"), str):
                return (_hosted_call(block),)
            case str(of) if of.endswith(_RESULT) and isinstance(block.get("tool_use_id"), str):
                return (_hosted_result(block, of),)
    blocks = _media_block(block)
    return (Other(PROVIDER, block),) if blocks is None else blocks


def result_content(content: Json) -> ResultContent:
    """Load the content of a tool result; values that contain neither text nor media become JSON."""
    if content is None or isinstance(content, str):
        return ResultContent((Text(content),) if content else ())
    if isinstance(content, list):
        blocks_by_part = [block_of(each) for each in content]
        is_typed = all(isinstance(each, dict) and isinstance(each.get("type"), str) for each in content)
        all_blocks = tuple(block for blocks in blocks_by_part for block in blocks)
        if any(type(block) is Media for block in all_blocks) or (
            is_typed and not all(map(_is_unknown, blocks_by_part))
        ):
            return ResultContent(all_blocks)
        if not content:
            return ResultContent()
    return ResultContent((Text(compact(content)),), json=True)


def _is_unknown(blocks: Blocks) -> bool:
    """Return whether a block is specific to Anthropic; empty text has no blocks, so it is not."""
    return any(type(block) is Other for block in blocks)


# Reasoning and calls


def _reasoning(block: Object) -> Reasoning | None:
    match block:
        case {"type": "thinking", "thinking": str(text)}:
            signature = string(block, "signature")
            more = native(PROVIDER, block, "type", "thinking", "signature") if len(block) > 2 + bool(signature) else {}
            return Reasoning(text, PROVIDER if signature else "", signature, native=more)
        case {"type": "redacted_thinking", "data": str(data)}:
            # Readable reasoning is kept as text, with the original data for writing it back.
            if plain := _unpack_reasoning(data):
                return Reasoning(plain, native={PROVIDER: {"data": data}})
            return Reasoning(encrypted=data, signer=PROVIDER, native=native(PROVIDER, block, "type", "data"))
    return None


def _unpack_reasoning(data: str) -> str:
    """Return the plain reasoning in data from OpenRouter, or an empty string for other data."""
    if not data.startswith(_OPENROUTER_PREFIX):
        return ""
    try:
        return string(jsonio.loads(base64.b64decode(data.removeprefix(_OPENROUTER_PREFIX))), "text")
    except (ValueError, RecursionError):
        return ""


def _call(block: Object, number: int) -> Block:
    own, name = string(block, "id"), block.get("name")
    if own and type(name) is str and "input" in block and len(block) == 4:  # the usual case
        return Call(own, name, arguments(block.get("input")))
    more = native(PROVIDER, block, "type", "input", *text_members(block, "id", "name"))
    known = name if isinstance(name, str) else None
    return Call(own or f"call_{number}", known, arguments(block.get("input")), made_up=not own, native=more)


def _hosted_call(block: Object) -> HostedCall:
    usual = ("type",) if block["type"] == "server_tool_use" else ()
    more = native(PROVIDER, block, "id", "input", *text_members(block, "name"), *usual, required=REQUIRED)
    return HostedCall(block["id"], string(block, "name"), arguments(block.get("input")), PROVIDER, more)


def _hosted_result(block: Object, of: str) -> HostedResult:
    """Load the result of a hosted tool; the type of the block contains the name of the tool, except for MCP servers."""
    value, name = block.get("content"), of.removesuffix(_RESULT)
    # Hosted tools report errors in the type of the content, and MCP tools in a flag.
    failed = block.get("is_error") is True or string(value, "type").endswith("_error")
    more = native(PROVIDER, block, "type", "tool_use_id", "content", "is_error")
    return HostedResult(block["tool_use_id"], name, value, "failed" if failed else "success", PROVIDER, more)


# Texts and media


def _media_block(block: Json) -> Blocks | None:
    """Load text, an image, a document or a search result; return ``None`` for any other block."""
    match block:
        case str(text):
            return (Text(text),) if text else ()
        case {"type": "text", "text": str(text)}:
            citations = block.get("citations")
            sources = tuple(_sources(citations)) if isinstance(citations, list) else ()
            read = ("type", "text", KEY, *(("citations",) if sources else ()))
            # Citations follow the text that they belong to.
            return (Text(text, native=native(PROVIDER, block, *read)), *sources) if text else sources
        case {"type": "image" | "document" as kind, "source": dict(source)}:
            return _block_with_source(block, "image" if kind == "image" else "file", source)
        case {"type": "search_result", "content": content}:
            return _wrapper_parts({key: value for key, value in block.items() if key != "content"}, content)
    return None


def _sources(citations: list[Json]) -> Iterator[Source | Other]:
    for citation in citations:
        if isinstance(citation, dict):
            title = string(citation, "title") or string(citation, "document_title")
            titles = [key for key in ("title", "document_title") if title and citation.get(key) == title]
            more = native(PROVIDER, citation, *(("url",) if citation.get("url") else ()), *titles, required=REQUIRED)
            yield Source(string(citation, "url"), title, native=more)
        else:
            yield Other(PROVIDER, {"citation": citation})


def _block_with_source(block: Object, kind: Medium, source: Object) -> Blocks | None:
    title_members = ("title",) if kind == "file" and string(block, "title") else ()
    title = string(block, "title") if title_members else ""
    match source:
        case {"type": "base64", "media_type": str(mime), "data": str(data)} if data:
            more = _more(block, source, ("media_type", "data"), *title_members)
            return (Media(kind, mime, data, name=title, native=more),)
        case {"type": "url", "url": str(url)} if url:
            return (Media(kind, url=url, name=title, native=_more(block, source, ("url",), *title_members)),)
        case {"type": "file", "file_id": str(file_id)} if file_id:
            more = _more(block, source, ("file_id",), *title_members)
            return (Media(kind, file_id=file_id, name=title, provider=PROVIDER, native=more),)
        case {"type": "text", "data": str(text)} if text and kind == "file":
            members = {**block, "source": {key: value for key, value in source.items() if key != "data"}}
            return (Text(text, native={PROVIDER: {DOCUMENT: members}}),)
        case {"type": "content", "content": content} if kind == "file":
            members = {**block, "source": {key: value for key, value in source.items() if key != "content"}}
            return _wrapper_parts(members, content)
    return None


def _more(block: Object, source: Object, read: tuple[str, ...], *title_members: str) -> Native:
    """Return the members of a block and its source that are not loaded otherwise."""
    more = native(PROVIDER, block, "type", "source", *title_members)
    rest = {key: value for key, value in source.items() if key not in ("type", *read) and value not in EMPTY}
    return {PROVIDER: {**more.get(PROVIDER, {}), "source": rest}} if rest else more


def _wrapper_parts(wrapper: Object, content: Json) -> Blocks | None:
    """Load the text and images in a wrapper; the first block contains the wrapper's members, the others a mark."""
    inner = [{"type": "text", "text": content}] if isinstance(content, str) else content
    if not isinstance(inner, list) or any(not isinstance(b, dict) or b.get("type") not in _SIMPLE for b in inner):
        return None
    blocks = list[Block]()
    for each in inner:
        for block in _media_block(each) or ():
            # Sources and other blocks would lose their place in the wrapper, so it is kept as a native block.
            if not isinstance(block, Text | Media):
                return None
            marks = {WITHIN: True} if blocks else {WRAPPER: {**wrapper, "is_text": isinstance(content, str)}}
            inside = block.native.get(PROVIDER, {})
            blocks.append(replace(block, native={PROVIDER: {**inside, **marks}}))
    return tuple(blocks) or None
