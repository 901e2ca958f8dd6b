"""Parts of content as OpenAI chat has them, and content that is made of them."""

from __future__ import annotations

import base64
import re

from chatsquash.core.chat import part_text
from chatsquash.core.model import Json
from chatsquash.formats.values import Object

DATA_URL = re.compile(r"data:([^;,]+);base64,(.*)", re.DOTALL)
"""The address of what is there in base64: its type, and the data."""
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
    """A text."""
    return {"type": "text", "text": value}


def image(url: str, detail: Json = None) -> Object:
    """An image by its address, which may be its data; ``detail``: how closely it is looked at, if that is a text."""
    return {"type": "image_url", "image_url": {"url": url, **({"detail": detail} if isinstance(detail, str) else {})}}


def video(url: str) -> Object:
    """A film by its address."""
    return {"type": "video_url", "video_url": {"url": url}}


def file(**members: Json) -> Object:
    """A file with those members that are given."""
    return {"type": "file", "file": {name: value for name, value in members.items() if value is not None}}


def data_url(mime: str, data: str) -> str:
    """The address of what is there in base64; of no known type where that is empty."""
    return f"data:{mime or 'application/octet-stream'};base64,{data}"


_CANONICAL = {
    **dict.fromkeys(("audio/x-wav", "audio/wave", "audio/vnd.wave"), "audio/wav"),
    "audio/mp3": "audio/mpeg",
}


def canonical_type(mime: str) -> str:
    """A media type by the name that most use for it."""
    return _CANONICAL.get(mime, mime)


def decode_base64(data: str) -> bytes | None:
    """What is there in base64 of the standard alphabet; ``None`` for what is none."""
    try:
        return base64.b64decode(data, validate=True)
    except ValueError:
        return None


def standard_base64(data: str) -> str:
    """Base64 in the standard alphabet, the only one of data URLs; some SDKs write the one for file names."""
    return data.translate(_STANDARD)


def image_type(head: bytes) -> str | None:
    """The type of an image by its first twelve bytes; ``None`` for what is no image."""
    if head[:4] == b"RIFF" and head[8:12] == b"WEBP":
        return "image/webp"
    return next((mime for magic, mime in _MAGIC if head.startswith(magic)), None)


def single_text(parts: list[Json]) -> str | None:
    """The text of parts that are a single text, which is their content then."""
    return part_text(parts[0]) if len(parts) == 1 else None


def content(parts: list[Json], *, beside_calls: bool = False) -> Json:
    """What parts are as a content: themselves, or their text where it is alone; without any, nothing beside calls."""
    text = single_text(parts)
    return text if text is not None else parts or (None if beside_calls else "")
