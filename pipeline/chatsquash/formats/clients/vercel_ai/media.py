"""Files of UI messages, and those in what tools gave, which have the shapes of Pydantic AI there."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from msgspec.structs import replace

from chatsquash.blocks import Block, Media, Medium, Other, Result, Text
from chatsquash.formats import parts
from chatsquash.formats.calls import Said, parsed
from chatsquash.formats.clients.pydantic_ai import media as returns
from chatsquash.formats.clients.vercel_ai.metadata import HELD, PYDANTIC, less, members, native, told
from chatsquash.formats.values import Object, at, compact, listed, string, without
from chatsquash.formats.writing import EXTENSIONS, text_of
from chatsquash.model import Json

_ADDRESS = re.compile(
    r"(?:https?://[\w.-]+(?::\d{1,5})?(?:[/?#]\S*)?|(?!https?:)[a-z][a-z0-9+.-]*:[^\s\[\]]+)\Z", re.IGNORECASE
)
"""What the AI SDK takes for an address."""
_TYPES = {
    **{end: mime for mime, end in EXTENSIONS.items()},
    "jpeg": "image/jpeg",
    "webm": "video/webm",
    "ogg": "audio/ogg",
}
_KINDS: dict[str, Medium] = {"image-url": "image", "audio-url": "audio", "video-url": "video", "document-url": "file"}
_URLS = {kind: name for name, kind in _KINDS.items()}
_REFERENCE, _OF_VENDOR, _DETAIL = "providerReference", "vendor_metadata", ("openai", "imageDetail")
_ANY = {"kind": "document-url", "url": "https://"}
"""A file of Pydantic AI's, whatever is known of it."""
UNKNOWN = "application/octet-stream"


def kind(mime: str) -> Medium:
    """What a medium of a type is."""
    begins = mime.partition("/")[0]
    return begins if begins in ("image", "audio", "video") else "file"  # type: ignore[return-value]


def opened(mime: str, url: str) -> Media:
    """A medium by its address, which may be its data."""
    found = parts.DATA_URL.fullmatch(url)
    if found and parts.decoded(found[2]) is not None:
        return Media(kind(found[1]), parts.usual_type(found[1]), found[2])
    return Media(kind(mime), plain(mime), url=url)


def plain(mime: str) -> str:
    """A type; empty for what only stands for one."""
    return "" if mime == UNKNOWN or mime.endswith("/*") else mime


def mime_of(block: Media) -> str:
    """The type of a medium, where one must be told."""
    told = block.mime or _TYPES.get(block.url.lower().rpartition(".")[2], "")
    if told and (block.mime or kind(told) == block.kind):
        return told
    return UNKNOWN if block.kind == "file" else f"{block.kind}/*"


def address(block: Media) -> str:
    """The address of a medium; empty where it has none that the AI SDK takes."""
    if block.data:
        return parts.data_url(mime_of(block), block.data)
    if block.file_id:
        return "file-id:" + quote(block.file_id, safe="", errors="surrogatepass")
    return block.url if _ADDRESS.match(block.url) else ""


# Parts


def read(part: Object) -> Media | None:
    """A ``file`` part; ``None`` for what is none."""
    url, given, mime = part.get("url"), part.get(HELD), string(part, "mediaType")
    if not isinstance(url, str) or not url:
        return None
    made, more = opened(mime, url), without(part, "type", "mediaType", "url", "filename", HELD)
    told_kind = _KINDS.get(string(at(given, PYDANTIC), "kind"))
    ids = (at(given, PYDANTIC, "file_id"), *members(part.get(_REFERENCE)).values())
    if file_id := next((each for each in ids if each and isinstance(each, str)), ""):
        made, given = Media(kind(mime), plain(mime), file_id=file_id), less(given, PYDANTIC, "file_id")
    elif told_kind and made.url and not mime:
        made, given = replace(made, kind=told_kind), less(given, PYDANTIC, "kind")
    elif made.data and mime and parts.usual_type(mime) != made.mime:
        more["mediaType"] = mime
    vendor, detail = at(given, PYDANTIC, _OF_VENDOR), at(given, *_DETAIL)
    known: Any = returns.block({**_ANY, _OF_VENDOR: {**members(vendor), **without({"detail": detail})}})
    held = native(less(less(given, *_DETAIL), PYDANTIC, _OF_VENDOR), more)
    both = {provider: {**known.native.get(provider, {}), **held.get(provider, {})} for provider in known.native | held}
    return replace(made, name=string(part, "filename") or known.name, native=both)


def write(block: Media) -> Object | None:
    """The ``file`` part of a medium; ``None`` for one that has no address."""
    url = address(block)
    if not url:
        return None
    made = {"type": "file", "mediaType": mime_of(block), "url": url, **({"filename": block.name} if block.name else {})}
    if not block.native and not block.file_id:
        return made
    vendor = at(returns.item(replace(block, data="", url=_ANY["url"])), _OF_VENDOR)
    if vendor == {"title": block.name}:
        vendor = None
    whole = told(made, block.native, file_id=block.file_id, vendor_metadata=vendor)
    if (detail := at(block.native, "openai", "detail")) is not None:
        whole[HELD]["openai"] = {**whole[HELD].get("openai", {}), "imageDetail": detail}
    return whole


# What tools gave


def said(output: Json) -> Said:
    """What a tool gave: a text, texts and files in the shapes of Pydantic AI, or any other value as JSON."""
    if isinstance(output, str):
        return Said((Text(output),) if output else ())
    found = [returns.block(item) for item in listed(output)] if output else []
    is_media = any(type(block) is Media for block in found) and not any(type(block) is Other for block in found)
    return Said(tuple(filter(None, found))) if is_media else Said((Text(compact(output)),), json=True)


def octets(given: Json) -> str:
    """Data in base64, or as JavaScript writes a buffer or an array of bytes; empty for anything else."""
    found = returns.block({"kind": "binary", "data": given, "media_type": UNKNOWN})
    return found.data if isinstance(found, Media) else ""


def given_by(block: Result) -> Json:
    """What a tool gave, from its result: the value, a text, or texts and files."""
    if block.json and (text := text_of(block.content)):
        value = parsed(text)
        return value if value is not None or text == "null" else text
    if not any(type(each) is Media for each in block.content):
        return text_of(block.content)
    found = [item for each in block.content if (item := _item(each)) is not None]
    return found[0] if len(found) == 1 else found or ""


def _item(block: Block) -> Json:
    """A text, or a file as Pydantic AI has it."""
    if type(block) is not Media:
        return getattr(block, "text", None)
    mime, own = mime_of(block), block.native.get(PYDANTIC, {})
    if block.data:
        return {"kind": "binary", "data": block.data, "media_type": mime, **own}
    if block.file_id:
        return {"kind": "uploaded-file", "file_id": block.file_id, "media_type": mime, **own}
    return {"kind": _URLS[block.kind], "url": block.url, "media_type": plain(mime) or None, **own}
