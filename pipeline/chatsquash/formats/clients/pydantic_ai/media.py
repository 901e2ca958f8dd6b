"""Load and write the content of user prompts and tool results in Pydantic AI.

The name of a file is its ``title`` in ``vendor_metadata``, which also contains provider-specific members:
Anthropic's ``context``, ``citations`` and ``cache_control``, OpenAI's ``detail``, and Gemini's ``media_resolution``.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Callable
from typing import Any

from chatsquash.core import jsonio
from chatsquash.core.blocks import Block, Media, Medium, Native, Other, Refusal, Result, Text
from chatsquash.core.model import Json
from chatsquash.formats import parts
from chatsquash.formats.calls import ResultContent
from chatsquash.formats.clients.pydantic_ai.members import PROVIDER, own, tagged
from chatsquash.formats.values import Object, as_list, at, compact, string
from chatsquash.formats.writing import native, text_of

URLS: dict[str, Medium] = {"image-url": "image", "audio-url": "audio", "video-url": "video", "document-url": "file"}
_KINDS = {medium: kind for kind, medium in URLS.items()}
_MEDIA: dict[str, Medium] = {"image": "image", "audio": "audio", "video": "video"}
_VENDOR = {
    **{name: ("anthropic", name) for name in ("context", "citations", "cache_control", "source", "wrapper", "within")},
    "media_resolution": ("google", "mediaResolution"),
    "detail": ("openai", "detail"),
}
"""The members of ``vendor_metadata``, with their providers and their names in the providers' formats."""
_OF_TEXT = ("metadata", "value", "tag", "description")


def block(item: Json) -> Block | None:
    """Load an item; return ``None`` for empty text."""
    match item:
        case str(text) | {"kind": "text-content" | "structured-content", "content": str(text)}:
            return Text(text, native=_of_text(item)) if text else None
        case {"kind": "binary", "data": content, "media_type": str(mime)} if data := octets(content):
            return _medium(item, kind_of(mime), parts.canonical_type(mime), "data", data)
        case {"kind": "uploaded-file", "file_id": str(file_id)} if file_id:
            return _medium(item, kind_of(string(item, "media_type")), string(item, "media_type"), "file_id", file_id)
        # Inline data is loaded in the same way as binary items.
        case {"kind": "image-url", "url": str(url)} if data_url := parts.DATA_URL.fullmatch(url):
            return _medium({**item, "url": None}, "image", data_url[1], "data", data_url[2])
        case {"kind": str(kind), "url": str(url)} if url and kind in URLS:
            return _medium(item, URLS[kind], string(item, "media_type"), "url", url)
    return Other(PROVIDER, item)


def blocks(content: Json) -> tuple[Any, ...]:
    """Load a string, an item or a list of both."""
    return tuple(each for item in as_list(content) if (each := block(item)))


def binary(item: Json) -> Media | None:
    """Load media from data, for members that allow only data; return ``None`` for other values."""
    medium = block({**item, "kind": "binary"}) if isinstance(item, dict) else None
    return medium if isinstance(medium, Media) else None


def _of_text(item: Json) -> Native:
    """Return the native members of text; Anthropic's metadata is separated if there is no other metadata."""
    if isinstance(item, str):
        return {}
    members = {name: item[name] for name in _OF_TEXT if name in item}
    members |= {"kind": "structured-content"} if item["kind"] == "structured-content" else {}
    match item.get("metadata"):
        case {"anthropic": dict(known), **rest} if not rest:
            return {**tagged(own(members, "metadata")), "anthropic": known}
    return tagged(members if "kind" in members else own(members))


def kind_of(mime: str) -> Medium:
    """Return the kind of media for a media type."""
    return _MEDIA.get(mime.partition("/")[0], "file")


def _medium(item: Object, kind: Medium, mime: str, place: str, value: str) -> Media:
    default_members = ("identifier",) if item.get("identifier") == _identifier(place, value) else ()
    provider = string(item, "provider_name") if place == "file_id" else ""
    known = [*default_members, *(["media_type"] if mime else []), *(["provider_name"] if provider else [])]
    members = own(item, "kind", place, *known)
    vendor, name, vendors = members.get("vendor_metadata"), "", dict[str, Object]()
    if isinstance(vendor, dict):
        name = string(vendor, "title")
        other_members = own(vendor, *(("title",) if name else ()), *_VENDOR)
        for ours, (provider_name, theirs) in _VENDOR.items():
            if ours in vendor:
                vendors.setdefault(provider_name, {})[theirs] = vendor[ours]
        members = own({**members, "vendor_metadata": other_members})
    where: Any = {place: value}
    return Media(kind, mime, name=name, provider=provider, native={**vendors, **tagged(members)}, **where)


def _identifier(place: str, value: str) -> str:
    """Compute the identifier that Pydantic AI generates for media without an identifier."""
    content = parts.decode_base64(value) if place == "data" else value.encode("utf-8", "surrogatepass")
    return hashlib.sha1(content or b"", usedforsecurity=False).hexdigest()[:6]


def octets(content: Json) -> str | None:
    """Return data as base64; it may be base64, or a JavaScript buffer or byte array, or ``None`` for other values."""
    if isinstance(content, str):
        return parts.standard_base64(content)
    if not isinstance(content, dict):
        return None
    octets = (
        content.get("data") if content.get("type") == "Buffer" else [content.get(str(at)) for at in range(len(content))]
    )
    if not isinstance(octets, list) or not octets or not all(type(each) is int and 0 <= each < 256 for each in octets):
        return None
    return base64.b64encode(bytes(octets)).decode()


# Writing


def item(block: Block) -> Json:
    """Write a block as an item; return ``None`` for unsupported blocks, such as a file id without a provider."""
    match block:
        case Text() if block.native and (members := _text_members(block)):
            return {"kind": "text-content", "content": block.text, **members}
        case Text() | Refusal():
            return block.text
        case Media() if place := _place(block):
            own = {"title": block.name} if block.name else {}
            for ours, (provider, theirs) in _VENDOR.items():
                if theirs in native(block, provider):
                    own[ours] = native(block, provider)[theirs]
            members = native(block, PROVIDER)
            vendor = {**(at(members, "vendor_metadata") or {}), **own} if own else members.get("vendor_metadata")
            return {**place, **members, **({"vendor_metadata": vendor} if vendor else {})}
        case Other() if block.provider == PROVIDER and string(block.value, "kind"):
            return block.value
    return None


def _text_members(block: Text) -> Object:
    known, theirs = native(block, PROVIDER), native(block, "anthropic")
    members = {name: known[name] for name in ("kind", *_OF_TEXT) if name in known}
    return {**members, **({"metadata": {"anthropic": theirs}} if theirs else {})}


def _place(block: Media) -> Object | None:
    """Write the location of media: data, a URL, or the id of a provider's file."""
    if block.data:
        mime = block.mime or "application/octet-stream"
        # Pydantic AI decodes the data, so invalid base64 would make the document unreadable.
        return {"kind": "binary", "data": block.data, "media_type": mime} if parts.decode_base64(block.data) else None
    type_member = {"media_type": block.mime} if block.mime else {}
    if block.url:
        return {"kind": _KINDS[block.kind], "url": block.url, **type_member}
    provider_member = {"provider_name": block.provider}
    return (
        {"kind": "uploaded-file", "file_id": block.file_id, **provider_member, **type_member}
        if block.provider
        else None
    )


# Files in the results of tools


def result_content(value: Json, known: Json = None) -> ResultContent:
    """Load the value of a result: text, text and files, or any other value as JSON, followed by its files.

    Args:
        value: the value as logged
        known: the digests of the files, if the result has them
    """
    if isinstance(value, str):
        return ResultContent(blocks(value))
    items = as_list(value)
    files = [item for item in items if _is_file(item, known)]
    others = [item for item in items if not _is_file(item, known)]
    if files and all(isinstance(item, str) for item in others):
        return ResultContent(blocks(value))
    # The model sees all values that are not files as a list, or a single value by itself.
    data = (others[0] if len(others) == 1 else others) if files else value
    return ResultContent((Text(compact(data)), *(blocks(files) if files else ())), json=True)


def as_returned(result: Result, file: Callable[[Media], Json]) -> tuple[Json, list[Json]]:
    """Write the content of a result: text, files and text, or a value followed by its files.

    Native members of text are omitted, because Pydantic AI does not support ``text-content`` in results.

    Args:
        result: the result
        file: writes a file; returns ``None`` for files that cannot be written

    Returns:
        the content, and the files in it
    """
    text, items, files = text_of(result.content), list[Json](), list[Json]()
    for block in result.content:
        if isinstance(block, Text | Refusal):
            items.append(block.text)
        elif isinstance(block, Media) and (file_item := file(block)) is not None:
            files.append(file_item)
            items.append(file_item)
    if result.json and text:
        value = jsonio.value(text, text)
        return ([value, *files] if files else value), files
    if not files:
        return text, []
    return (items[0] if len(items) == 1 else items), files


def returned_file(block: Media) -> Json:
    """Write a file in a result; URLs always have a ``media_type``, which may be null; ``None`` if unsupported."""
    file_item = item(block)
    is_linked = isinstance(file_item, dict) and file_item.get("kind") in URLS
    return {**file_item, "media_type": file_item.get("media_type")} if is_linked else file_item


def _is_file(item: Json, known: Json) -> bool:
    """Return whether an item is a file, rather than a tool's object with the same members."""
    if not isinstance(item, dict) or not isinstance(block(item), Media):
        return False
    # The digests of a result, if logged, identify its linked files.
    return item["kind"] == "binary" or not isinstance(known, list) or digest(item) in known


def digest(item: Object) -> str:
    """Compute the digest that identifies a file in a Pydantic AI result."""
    return hashlib.sha256(json.dumps(item, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
