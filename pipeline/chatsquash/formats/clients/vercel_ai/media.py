"""Files of UI messages, and those in what tools gave, which have the shapes of Pydantic AI there."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import quote

from msgspec.structs import replace

from chatsquash.core.blocks import Media, Result
from chatsquash.core.model import Json
from chatsquash.formats import parts
from chatsquash.formats.calls import ResultContent
from chatsquash.formats.clients.pydantic_ai import media as returns
from chatsquash.formats.clients.pydantic_ai.media import URLS, kind_of
from chatsquash.formats.clients.vercel_ai.metadata import METADATA, PYDANTIC, less, native, with_metadata
from chatsquash.formats.values import Object, at, members, string, without
from chatsquash.formats.writing import EXTENSIONS

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
_REFERENCE, _WHOSE, _OF_VENDOR = "providerReference", "provider_name", "vendor_metadata"
_DETAIL = ("openai", "imageDetail")
_ANY = {"kind": "document-url", "url": "https://"}
"""A file of Pydantic AI's, whatever is known of it."""
UNKNOWN = "application/octet-stream"


def medium_at(mime: str, url: str) -> Media:
    """A medium by its address, which may be its data."""
    data_url = parts.DATA_URL.fullmatch(url)
    if data_url and parts.decode_base64(data_url[2]) is not None:
        return Media(kind_of(data_url[1]), parts.canonical_type(data_url[1]), data_url[2])
    return Media(kind_of(mime), plain(mime), url=url)


def plain(mime: str) -> str:
    """A type; empty for what only stands for one."""
    return "" if mime == UNKNOWN or mime.endswith("/*") else mime


def mime_of(block: Media) -> str:
    """The type of a medium, where one must be told."""
    mime = block.mime or _TYPES.get(block.url.lower().rpartition(".")[2], "")
    if mime and (block.mime or kind_of(mime) == block.kind):
        return mime
    return UNKNOWN if block.kind == "file" else f"{block.kind}/*"


def address(block: Media) -> str:
    """The address of a medium; empty where it has none that the AI SDK takes."""
    if block.data:
        return parts.data_url(mime_of(block), block.data)
    if block.file_id:
        return "file-id:" + quote(block.file_id, safe="", errors="surrogatepass")
    return block.url if _ADDRESS.match(block.url) else ""


def read(part: Object) -> Media | None:
    """A ``file`` part; ``None`` for what is none."""
    url, given, mime = part.get("url"), part.get(METADATA), string(part, "mediaType")
    if not isinstance(url, str) or not url:
        return None
    made, more = medium_at(mime, url), without(part, "type", "mediaType", "url", "filename", METADATA)
    told_kind = URLS.get(string(at(given, PYDANTIC), "kind"))
    named = string(at(given, PYDANTIC), _WHOSE)
    ids = ((named, at(given, PYDANTIC, "file_id")), *members(part.get(_REFERENCE)).items())
    if owner := next(((who, each) for who, each in ids if each and isinstance(each, str)), None):
        made = Media(kind_of(mime), plain(mime), file_id=owner[1], provider=owner[0] or named)
        given = less(less(given, PYDANTIC, "file_id"), PYDANTIC, _WHOSE)
    elif told_kind and made.url and not mime:
        made, given = replace(made, kind=told_kind), less(given, PYDANTIC, "kind")
    elif made.data and mime and parts.canonical_type(mime) != made.mime:
        more["mediaType"] = mime
    vendor, detail = at(given, PYDANTIC, _OF_VENDOR), at(given, *_DETAIL)
    known: Any = returns.block({**_ANY, _OF_VENDOR: {**members(vendor), **without({"detail": detail})}})
    extra = native(less(less(given, *_DETAIL), PYDANTIC, _OF_VENDOR), more)
    both = {
        provider: {**known.native.get(provider, {}), **extra.get(provider, {})} for provider in known.native | extra
    }
    return replace(made, name=string(part, "filename") or known.name, native=both)


def write(block: Media) -> Object | None:
    """The ``file`` part of a medium; ``None`` for one that has no address."""
    url = address(block)
    if not url:
        return None
    named = {"filename": block.name} if block.name else {}
    made = {"type": "file", "mediaType": mime_of(block), "url": url, **named}
    if not block.native and not block.file_id:
        return made
    vendor = at(returns.item(replace(block, data="", url=_ANY["url"])), _OF_VENDOR)
    if vendor == {"title": block.name}:
        vendor = None
    whole = with_metadata(
        made, block.native, file_id=block.file_id, provider_name=block.provider, vendor_metadata=vendor
    )
    if (detail := at(block.native, "openai", "detail")) is not None:
        whole[METADATA]["openai"] = {**whole[METADATA].get("openai", {}), "imageDetail": detail}
    return whole


def said(output: Json) -> ResultContent:
    """What a tool gave: a text, texts and files in the shapes of Pydantic AI, or any other value as JSON."""
    return returns.result_content(output)


def given_by(block: Result) -> Json:
    """What a tool gave, from its result: the value, a text, or texts and files."""
    return returns.as_returned(block, _file)[0]


def _file(block: Media) -> Json:
    """A file as Pydantic AI has it; one by its id says of what type it is, and need not say whose it is."""
    made = returns.returned_file(block)
    if block.file_id:
        return {"kind": "uploaded-file", "file_id": block.file_id, "media_type": mime_of(block), **members(made)}
    return made
