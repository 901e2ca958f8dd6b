"""Load and write files in UI messages, and files in results, which have Pydantic AI's forms."""

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
from chatsquash.formats.clients.vercel_ai.metadata import METADATA, PYDANTIC, native, with_metadata, without_path
from chatsquash.formats.values import Object, at, members, string, without
from chatsquash.formats.writing import EXTENSIONS

_ADDRESS = re.compile(
    r"(?:https?://[\w.-]+(?::\d{1,5})?(?:[/?#]\S*)?|(?!https?:)[a-z][a-z0-9+.-]*:[^\s\[\]]+)\Z", re.IGNORECASE
)
"""The URLs that the AI SDK accepts."""
_TYPES = {
    **{end: mime for mime, end in EXTENSIONS.items()},
    "jpeg": "image/jpeg",
    "webm": "video/webm",
    "ogg": "audio/ogg",
}
_REFERENCE, _WHOSE, _OF_VENDOR = "providerReference", "provider_name", "vendor_metadata"
_DETAIL = ("openai", "imageDetail")
_ANY = {"kind": "document-url", "url": "https://"}
"""A placeholder file, to convert ``vendor_metadata`` with Pydantic AI's functions."""
UNKNOWN = "application/octet-stream"


def medium_at(mime: str, url: str) -> Media:
    """Load media from a URL, which may be a data URL."""
    data_url = parts.DATA_URL.fullmatch(url)
    # Invalid base64 is kept as a URL.
    if data_url and parts.decode_base64(data_url[2]) is not None:
        return Media(kind_of(data_url[1]), parts.canonical_type(data_url[1]), data_url[2])
    return Media(kind_of(mime), plain(mime), url=url)


def plain(mime: str) -> str:
    """Return a media type, or an empty string for placeholders."""
    return "" if mime == UNKNOWN or mime.endswith("/*") else mime


def mime_of(block: Media) -> str:
    """Return the media type, or a placeholder, because the member is required."""
    mime = block.mime or _TYPES.get(block.url.lower().rpartition(".")[2], "")
    if mime and (block.mime or kind_of(mime) == block.kind):
        return mime
    return UNKNOWN if block.kind == "file" else f"{block.kind}/*"


def address(block: Media) -> str:
    """Return the URL of media, or an empty string if the AI SDK does not accept it."""
    if block.data:
        return parts.data_url(mime_of(block), block.data)
    if block.file_id:
        # UI messages require a URL, so the id is written as a URL with its own scheme.
        return "file-id:" + quote(block.file_id, safe="", errors="surrogatepass")
    return block.url if _ADDRESS.match(block.url) else ""


def read(part: Object) -> Media | None:
    """Load a ``file`` part; return ``None`` if it has no URL."""
    url, part_metadata, mime = part.get("url"), part.get(METADATA), string(part, "mediaType")
    if not isinstance(url, str) or not url:
        return None
    media, more = medium_at(mime, url), without(part, "type", "mediaType", "url", "filename", METADATA)
    logged_kind = URLS.get(string(at(part_metadata, PYDANTIC), "kind"))
    provider_name = string(at(part_metadata, PYDANTIC), _WHOSE)
    ids = ((provider_name, at(part_metadata, PYDANTIC, "file_id")), *members(part.get(_REFERENCE)).items())
    if owner := next(((who, each) for who, each in ids if each and isinstance(each, str)), None):
        media = Media(kind_of(mime), plain(mime), file_id=owner[1], provider=owner[0] or provider_name)
        part_metadata = without_path(without_path(part_metadata, PYDANTIC, "file_id"), PYDANTIC, _WHOSE)
    elif logged_kind and media.url and not mime:
        media, part_metadata = replace(media, kind=logged_kind), without_path(part_metadata, PYDANTIC, "kind")
    elif media.data and mime and parts.canonical_type(mime) != media.mime:
        # The declared type differs from the type in the data URL, so both are kept.
        more["mediaType"] = mime
    vendor, detail = at(part_metadata, PYDANTIC, _OF_VENDOR), at(part_metadata, *_DETAIL)
    known: Any = returns.block({**_ANY, _OF_VENDOR: {**members(vendor), **without({"detail": detail})}})
    extra = native(without_path(without_path(part_metadata, *_DETAIL), PYDANTIC, _OF_VENDOR), more)
    merged_members = {
        provider: {**known.native.get(provider, {}), **extra.get(provider, {})} for provider in known.native | extra
    }
    return replace(media, name=string(part, "filename") or known.name, native=merged_members)


def write(block: Media) -> Object | None:
    """Write media as a ``file`` part; return ``None`` if no URL is available."""
    url = address(block)
    if not url:
        return None
    name_member = {"filename": block.name} if block.name else {}
    part = {"type": "file", "mediaType": mime_of(block), "url": url, **name_member}
    if not block.native and not block.file_id:
        return part
    vendor = at(returns.item(replace(block, data="", url=_ANY["url"])), _OF_VENDOR)
    # The title is already written as the file name.
    if vendor == {"title": block.name}:
        vendor = None
    complete_part = with_metadata(
        part, block.native, file_id=block.file_id, provider_name=block.provider, vendor_metadata=vendor
    )
    if (detail := at(block.native, "openai", "detail")) is not None:
        complete_part[METADATA]["openai"] = {**complete_part[METADATA].get("openai", {}), "imageDetail": detail}
    return complete_part


def result_content(output: Json) -> ResultContent:
    """Load the output of a tool: text, text and files in Pydantic AI's forms, or any other value as JSON."""
    return returns.result_content(output)


def result_value(block: Result) -> Json:
    """Write the output of a tool: a value, text, or text and files."""
    return returns.as_returned(block, _file)[0]


def _file(block: Media) -> Json:
    """Write a file in Pydantic AI's form; file ids are written with a media type, even without a provider."""
    file_item = returns.returned_file(block)
    if block.file_id:
        return {"kind": "uploaded-file", "file_id": block.file_id, "media_type": mime_of(block), **members(file_item)}
    return file_item
