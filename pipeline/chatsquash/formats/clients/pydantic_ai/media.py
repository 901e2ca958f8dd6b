"""What a user's prompt and a tool's result are made of in Pydantic AI, as parts of content, and back."""

from __future__ import annotations

import base64
import re

from chatsquash.formats import parts
from chatsquash.formats.values import Object, at, string
from chatsquash.model import Json

KINDS = ("image-url", "audio-url", "video-url", "document-url", "binary", "uploaded-file")
"""The items that are no text."""
SOUNDS = {"audio/wav": "wav", "audio/x-wav": "wav", "audio/wave": "wav", "audio/mpeg": "mp3", "audio/mp3": "mp3"}
"""The sounds that canonical parts have, by their media types."""
TYPES = {"wav": "audio/wav", "mp3": "audio/mpeg"}
"""And their media types."""
_DATA = re.compile(r"data:([\w.+-]+/[\w.+-]+);base64,(.*)\Z", re.DOTALL)
_HEARD = (".mp3", ".wav", ".ogg", ".oga", ".flac", ".aiff", ".aac")


def opened(url: Json) -> tuple[str, str] | None:
    """The media type and the base64 in the address of data; ``None`` for any other address, and for broken data."""
    found = _DATA.match(url) if isinstance(url, str) else None
    return (found[1], found[2]) if found and parts.decoded(found[2]) is not None else None


def held(mime: str, data: str, filename: str | None = None, detail: Json = None) -> Object:
    """Data as the part that is for its type."""
    if mime.startswith("image/"):
        return parts.image(parts.data_url(mime, data), detail)
    if mime in SOUNDS and filename is None:
        return {"type": "input_audio", "input_audio": {"data": data, "format": SOUNDS[mime]}}
    return parts.file(file_data=parts.data_url(mime, data), filename=filename)


def part(item: Json) -> Object | None:
    """An item as a part of content; ``None`` for a mark such as ``cache-point`` and for what is broken."""
    match item:
        case str(text) | {"kind": "text-content" | "structured-content", "content": str(text)}:
            return parts.text(text)
        case {"kind": "binary", "data": given, "media_type": str(mime)} if (data := _data(given)) is not None:
            return held(mime, data, detail=at(item, "vendor_metadata", "detail"))
        case {"kind": "uploaded-file", "file_id": str(file_id)}:
            return parts.file(file_id=file_id)
        case {"kind": "image-url", "url": str(url)}:
            return parts.image(url, at(item, "vendor_metadata", "detail"))
        case {"kind": str(kind), "url": str(url)} if kind in KINDS:
            return parts.video(url) if kind == "video-url" else parts.file(file_url=url)
    return None


def _data(given: Json) -> str | None:
    """Data in base64, or as JavaScript writes a buffer or an array of bytes; ``None`` for anything else."""
    if isinstance(given, str):
        return parts.standard(given)
    if not isinstance(given, dict):
        return None
    octets = given.get("data") if given.get("type") == "Buffer" else [given.get(str(at)) for at in range(len(given))]
    if not isinstance(octets, list) or not octets or not all(type(each) is int and 0 <= each < 256 for each in octets):
        return None
    return base64.b64encode(bytes(octets)).decode()


def item(shown: Json) -> Json:
    """A part of content as an item; ``None`` for what has none, such as a file that is only an id."""
    match shown:
        case {"type": "text", "text": str(text)} | {"type": "refusal", "refusal": str(text)}:
            return text
        case {"type": "image_url", "image_url": {"url": str(url)}}:
            detail = at(shown, "image_url", "detail")
            more = {"vendor_metadata": {"detail": detail}} if isinstance(detail, str) else {}
            return {**_binary_or("image-url", url), **more}
        case {"type": "input_audio", "input_audio": {"data": str(data), "format": "wav" | "mp3" as of}}:
            return _binary_or("", parts.data_url(TYPES[of], data))
        case {"type": "video_url", "video_url": {"url": str(url)}}:
            return {"kind": "video-url", "url": url}
        case {"type": "file", "file": dict(file)}:
            return _file(file)
    return None


def _file(file: Object) -> Json:
    if isinstance(file.get("file_data"), str):
        return _binary_or("", file["file_data"])
    url = string(file, "file_url")
    kind = "audio-url" if url.lower().endswith(_HEARD) else "document-url"
    return {"kind": kind, "url": url} if url else None


def _binary_or(kind: str, url: str) -> Json:
    """The address of data as these data, any other as an item of a kind, if there is one."""
    if found := opened(url):
        return {"kind": "binary", "data": found[1], "media_type": found[0]}
    return {"kind": kind, "url": url} if kind else None
