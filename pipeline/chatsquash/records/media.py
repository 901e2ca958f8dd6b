"""Images, audio, video and files in messages, which most trainers cannot read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from chatsquash.core import chat
from chatsquash.core.lazy import LazyModule
from chatsquash.core.model import Json, Message
from chatsquash.formats.providers.openai_chat.members import is_empty

if TYPE_CHECKING:
    from chatsquash.formats import parts
else:
    parts = LazyModule("chatsquash.formats.parts")

FOLDER = "images"
"""The folder for image files in a dataset folder with JSON Lines."""
NO_IMAGES: Mapping[str, bytes] = MappingProxyType({})
_IMAGES = ("image_url", "input_image", "image")
_SOUNDS = ("audio", "audio_url", "input_audio")
_FILMS = ("video", "video_url")
_SCREENSHOTS = ("computer_call_output", "images")
MEMBERS = ("audio", "images")
"""The members of a message that contain media."""
TYPES = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}
"""The supported image types, with the suffixes of their files."""
_MAX_IMAGE = 64 << 20
"""The maximum size of an image in bytes."""


class Picture(dict[str, Any]):
    """A content part for an image, together with the image."""

    def __init__(self, data: bytes, suffix: str) -> None:
        super().__init__(type="image")
        self.data = data
        self.name = f"{sha256(data).hexdigest()[:40]}.{suffix}"
        """Derived from the content, so that equal images are written once."""


class ImageName(str):
    """The name of an image in a record, together with the image."""

    __slots__ = ("data",)
    data: bytes


def name(picture: Picture) -> ImageName:
    """Return the file name for a picture."""
    image_name = ImageName(f"{FOLDER}/{picture.name}")
    image_name.data = picture.data
    return image_name


class NoPictureError(ValueError):
    """A medium cannot be written as an image file; the message is the reason."""


def media_types(message: Message) -> Iterator[str]:
    """Yield the types of media in a message, from content parts and separate members."""
    content = message.get("content")
    for part in content if isinstance(content, list) else ():
        if kind := chat.media_type(part):
            yield kind
    yield from (name for name in MEMBERS if not is_empty(message.get(name)))


def has_image(message: Message) -> bool:
    """Return whether a message contains an image."""
    content = message.get("content")
    if isinstance(content, list) and any(chat.media_type(part) and placeholder(part) == "[image]" for part in content):
        return True
    return "images" in message and not is_empty(message.get("images"))


def shows_media_of_a_result(message: Message) -> bool:
    """Return whether a user message contains only media, possibly with one introductory line that ends with a colon."""
    # Clients send media from tools in this form to services whose results support only text.
    if message["role"] != "user" or not any(media_types(message)):
        return False
    text = (chat.joined_text(message) or "").strip()
    return not text or (text.endswith(":") and "\n" not in text)


def placeholders(message: Message) -> Iterator[str]:
    """Yield placeholders, such as ``[image]``, for media in separate members of a message."""
    if not is_empty(message.get("audio")):
        yield "[audio]"
    images: Json = message.get("images")
    if not is_empty(images):
        yield from ["[image]"] * (len(images) if isinstance(images, list) else 1)


def placeholder(part: Json) -> str:
    """Return the placeholder for a media part, such as ``[image]``."""
    kind = chat.media_type(part) or ""
    mime = next((str(each.get("mimeType", each.get("mime_type"))) for each in _inline(part)), "")
    for label, kinds in (("image", (*_IMAGES, *_SCREENSHOTS)), ("audio", _SOUNDS), ("video", _FILMS)):
        if kind in kinds or mime.startswith(f"{label}/"):
            return f"[{label}]"
    return "[file]"


def _inline(part: Json) -> Iterator[dict[str, Any]]:
    """Yield the data members of a Gemini part, which have a MIME type instead of a part type."""
    members = ("inlineData", "inline_data", "fileData", "file_data")
    yield from (part[name] for name in members if isinstance(part, dict) and isinstance(part.get(name), dict))


def picture(part: Json) -> Picture:
    """Decode the image in a part; raise ``NoPictureError`` for other media and for images without data."""
    kind = chat.media_type(part)
    url = _url(part) if isinstance(part, dict) and kind in _IMAGES else None
    if url is None:
        raise NoPictureError(f"a part of type {kind} is not an embedded image")
    data_url = parts.DATA_URL.fullmatch(url)
    if data_url is None:
        if url.startswith("data:"):
            raise NoPictureError("an image has a data URL that is not valid base64")
        raise NoPictureError("an image is a URL, and URLs are not fetched")
    return _decode(data_url[2])


def _url(part: dict[str, Any]) -> str | None:
    """Return the URL of an image in the notation of OpenAI, Anthropic, Qwen or MCP, or ``None``."""
    match part:
        case {"image_url": {"url": str(url)}} | {"image_url": str(url)} | {"source": {"type": "url", "url": str(url)}}:
            return url
        case {"image": str(url)} if url.startswith(("data:", "http:", "https:")):
            return url
        case {"source": {"type": "base64", "media_type": str(mime), "data": str(data)}}:
            return parts.data_url(mime, data)
        case {"data": str(data), "mimeType": str(mime)}:
            return parts.data_url(mime, data)
    return None


def _decode(data: str) -> Picture:
    if len(data) // 4 * 3 > _MAX_IMAGE:
        raise NoPictureError(f"an image is larger than {_MAX_IMAGE >> 20} MiB")
    image = parts.decode_base64(parts.standard_base64("".join(data.split())))
    if image is None:
        raise NoPictureError("the data of an image is not valid base64")
    kind = type_of(image)
    if kind is None:
        raise NoPictureError("the data of an image is neither PNG, JPEG, GIF nor WebP")
    return Picture(image, TYPES[kind])


def type_of(image: bytes) -> str | None:
    """Return the MIME type of a supported image based on its first bytes, or ``None`` for other data."""
    kind = parts.image_type(image[:12])
    return kind if kind in TYPES else None


def text_of(content: str | list[Any]) -> str:
    """Return the text of content that may contain pictures."""
    return content if isinstance(content, str) else chat.join(content, are_glued=True)


def parts_of(content: str | list[Any]) -> list[Any]:
    """Return content as a list of parts."""
    if not isinstance(content, str):
        return content
    return [parts.text(content)] if content else []


def join_contents(first: str | list[Any], second: str | list[Any]) -> str | list[Any]:
    """Return the content of two messages joined, with an empty line between texts."""
    if isinstance(first, str) and isinstance(second, str):
        return "\n\n".join(filter(None, (first, second)))
    before, following = parts_of(first), parts_of(second)
    if not before or not following or isinstance(before[-1], Picture) or isinstance(following[0], Picture):
        return [*before, *following]
    return [*before[:-1], parts.text(f"{before[-1]['text']}\n\n{following[0]['text']}"), *following[1:]]
