"""Files of UI messages, as parts of content and back."""

from __future__ import annotations

import re

from chatsquash.formats import parts
from chatsquash.formats.clients.pydantic_ai.media import TYPES, held, opened
from chatsquash.formats.values import Object, at, string
from chatsquash.model import Json

PART = "data-part"
"""A part of content that is no text and no file with an address."""
_ADDRESS = re.compile(
    r"(?:https?://[\w.-]+(?::\d{1,5})?(?:[/?#]\S*)?|(?!https?:)[a-z][a-z0-9+.-]*:[^\s\[\]]+)\Z", re.IGNORECASE
)
_TYPES = {
    "png": "image/png",
    "jpg": "image/jpeg",
    "jpeg": "image/jpeg",
    "gif": "image/gif",
    "webp": "image/webp",
    "pdf": "application/pdf",
    "txt": "text/plain",
    "mp3": "audio/mpeg",
    "wav": "audio/wav",
    "ogg": "audio/ogg",
    "mp4": "video/mp4",
    "webm": "video/webm",
}


def part(file: Object) -> Object | None:
    """A ``file`` or ``data-part`` part as a part of content; ``None`` for what is neither."""
    if file.get("type") == PART:
        given = file.get("data")
        return given if isinstance(given, dict) and string(given, "type") not in ("", "text") else None
    url = file.get("url")
    if file.get("type") != "file" or not isinstance(url, str):
        return None
    filename = file["filename"] if isinstance(file.get("filename"), str) else None
    if file_id := _uploaded(file):
        return parts.file(file_id=file_id, filename=filename)
    metadata, mime = file.get("providerMetadata"), string(file, "mediaType")
    detail = at(metadata, "openai", "imageDetail") or at(metadata, "pydantic_ai", "vendor_metadata", "detail")
    if data := opened(url):
        return held(*data, filename, detail)
    if mime.startswith("video/"):
        return parts.video(url)
    return parts.image(url, detail) if mime.startswith("image/") else parts.file(file_url=url, filename=filename)


def _uploaded(file: Object) -> str:
    """The id under which a provider knows a file."""
    reference = file.get("providerReference")
    ids = [value for value in reference.values() if isinstance(value, str)] if isinstance(reference, dict) else []
    return ids[0] if ids else string(at(file, "providerMetadata", "pydantic_ai"), "file_id")


def shown(given: Json) -> Json:
    """A part of content as a part of a UI message; ``None`` for what is no part."""
    match given:
        case {"type": "text", "text": str(text)} | {"type": "refusal", "refusal": str(text)}:
            return spoken(text)
        case {"type": str(of)} if of not in ("", "text"):
            return _file(given) or {"type": PART, "data": given}
    return None


def spoken(text: str) -> Object:
    """A text that is complete."""
    return {"type": "text", "text": text, "state": "done"}


def _file(given: Object) -> Object | None:
    filename = at(given, "file", "filename")
    named = {"filename": filename} if isinstance(filename, str) else {}
    match given:
        case {"type": "image_url", "image_url": {"url": str(url)}}:
            detail = at(given, "image_url", "detail")
            vendor = {"openai": {"imageDetail": detail}, "pydantic_ai": {"vendor_metadata": {"detail": detail}}}
            return _addressed(url, "image", {"providerMetadata": vendor} if isinstance(detail, str) else {})
        case {"type": "video_url", "video_url": {"url": str(url)}}:
            return _addressed(url, "video", {}) if opened(url) is None else None
        case {"type": "input_audio", "input_audio": {"data": str(data), "format": "wav" | "mp3" as of}}:
            url = parts.data_url(TYPES[of], data)
            return _addressed(url, "", {}) if opened(url) else None
        case {"type": "file", "file": {"file_data": str(data)}} if opened(data):
            return _addressed(data, "", named)
        case {"type": "file", "file": {"file_url": str(url)}} if opened(url) is None:
            return _addressed(url, "", named)
    return None


def _addressed(url: str, of: str, more: Object) -> Object | None:
    """A file at an address, an image or a video if it says so; ``None`` for no address, which the AI SDK refuses."""
    if data := opened(url):
        return {"type": "file", "mediaType": data[0], "url": url, **more}
    if not _ADDRESS.match(url):
        return None
    known = _TYPES.get(url.lower().rpartition(".")[2], "")
    fits = known.startswith(of) if of else known != "" and not known.startswith(("image/", "video/"))
    mime = known if fits else f"{of}/*" if of else "application/octet-stream"
    return {"type": "file", "mediaType": mime, "url": url, **more}
