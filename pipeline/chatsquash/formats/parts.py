"""OpenAI chat content parts, and content that consists of parts."""

from __future__ import annotations

import base64
import re

from chatsquash.core.chat import part_text
from chatsquash.core.lazy import lazy_compile
from chatsquash.core.model import Json
from chatsquash.formats.values import Object

DATA_URL = lazy_compile(r"data:([^;,]+);base64,(.*)", re.DOTALL)
"""A data URL with base64; the groups are its media type and its data."""
_STANDARD = str.maketrans("-_", "+/")
_MAGIC = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"BM", "image/bmp"),
    (b"II*\x00", "image/tiff"),
    (b"MM\x00*", "image/tiff"),
)


def text(value: str) -> Object:
    """Build a text part."""
    return {"type": "text", "text": value}


def image(url: str, detail: Json = None) -> Object:
    """Build an image part; ``url`` may be a data URL, and a ``detail`` that is not a string is dropped."""
    return {"type": "image_url", "image_url": {"url": url, **({"detail": detail} if isinstance(detail, str) else {})}}


def video(url: str) -> Object:
    """Build a video part."""
    return {"type": "video_url", "video_url": {"url": url}}


def audio(url: str) -> Object:
    """Build an audio part, as vLLM accepts it."""
    return {"type": "audio_url", "audio_url": {"url": url}}


def file(**members: Json) -> Object:
    """Build a file part; members that are null are omitted."""
    return {"type": "file", "file": {name: value for name, value in members.items() if value is not None}}


def data_url(mime: str, data: str) -> str:
    """Build a data URL from base64; an empty media type becomes ``application/octet-stream``."""
    return f"data:{mime or 'application/octet-stream'};base64,{data}"


_CANONICAL = {
    **dict.fromkeys(("audio/x-wav", "audio/wave", "audio/vnd.wave"), "audio/wav"),
    "audio/mp3": "audio/mpeg",
}


def canonical_type(mime: str) -> str:
    """Return the most common name for a media type."""
    return _CANONICAL.get(mime, mime)


def decode_base64(data: str) -> bytes | None:
    """Decode base64 in the standard alphabet; return ``None`` if it is invalid."""
    try:
        return base64.b64decode(data, validate=True)
    except ValueError:
        return None


def standard_base64(data: str) -> str:
    """Convert base64 to the standard alphabet."""
    return data.translate(_STANDARD)  # some SDKs write the URL-safe alphabet, which data URLs do not allow


def image_type(head: bytes) -> str | None:
    """Detect the media type of an image from its first twelve bytes; return ``None`` if it is unknown."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((mime for magic, mime in _MAGIC if head.startswith(magic)), None)


def single_text(parts: list[Json]) -> str | None:
    """Return the text of the only part, if it is a text part."""
    return part_text(parts[0]) if len(parts) == 1 else None


def content(parts: list[Json], *, beside_calls: bool = False) -> Json:
    """Return content for parts: the text of a single text part, otherwise the list of parts.

    Without parts, the content is null if the message has calls (``beside_calls``), otherwise an empty string.
    """
    text = single_text(parts)
    return text if text is not None else parts or (None if beside_calls else "")
