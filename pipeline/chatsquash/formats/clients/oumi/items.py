"""Content items of Oumi and parts of OpenAI: texts, and images by their address, their path or their bytes."""

from __future__ import annotations

import re
from typing import NamedTuple

from chatsquash import chat
from chatsquash.formats import parts
from chatsquash.formats.values import Object, compact, objects, string, without
from chatsquash.model import Json, Message

_OWN = ("image_path", "image_binary")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")
_DATA = re.compile(r"data:([^;,]+);base64,(.+)", re.DOTALL)


class Read(NamedTuple):
    """The content of a message."""

    content: Json
    private: Object
    native: list[Json]
    """Items that the canonical form has no part for."""


def tells(content: Json) -> bool:
    """Whether a content has items that only Oumi spells like this."""
    return any(
        each.get("type") in _OWN or (each.get("type") in ("text", "image_url") and isinstance(each.get("content"), str))
        for each in objects(content)
    )


def read(content: Json) -> Read:
    """A content as canonical messages have it; one text alone is no list."""
    if not isinstance(content, list):
        return Read(content, {}, [])
    found: list[Json] = []
    native: list[Json] = []
    for item in content:
        part = _part(item)
        native += [item] if part is None else [rest] if (rest := _more(item)) else []
        found += [part] if part else []
    alone = parts.alone(found)
    flat = alone is not None or not found
    return Read((alone or "") if flat else found, {"content_list": flat}, native)


def _part(item: Json) -> Object | None:
    match item:
        case {"type": "text", "content": str(text)}:
            return parts.text(text)
        case {"type": "image_url" | "image_path", "content": str(address)} if address:
            return parts.image(address)
        case {"type": "image_binary", "binary": str(data)} if mime := _mime(data):
            return parts.image(parts.data_url(mime, data))
    return None


def _more(item: Object) -> Object:
    """What an item has beside what its part says."""
    said = "binary" if item["type"] == "image_binary" else "content"
    rest = without(item, "type", said)
    return {} if rest == {"binary": ""} else rest  # how Oumi writes none


def _mime(data: str) -> str | None:
    """The type of an image in base64, by its first bytes; ``None`` for what is no image."""
    return parts.image_type((parts.decoded(data) or b"")[:12])


def text(said: str) -> Object:
    """A text."""
    return {"type": "text", "content": said}


def write(message: Message, after: list[str]) -> Json:
    """A message's content with its refusal if it has no other, and with what is said behind its calls."""
    content = message.get("content")
    if isinstance(content, list):
        written = [item for part in content if (item := _item(part))]
        return [*written, *map(text, after)] or ""
    if not isinstance(content, str | None):
        content = compact(content)
    said = content or string(message, "refusal") or content
    if after:
        return "\n\n".join([*([said] if said else []), *after])
    return [text(said)] if isinstance(said, str) and chat.private(message).get("content_list") is True else said


def _item(part: Json) -> Object | None:
    said = chat.part_text(part)
    if said is not None:
        return text(said)
    match part:
        case {"type": "refusal", "refusal": str(refusal)}:
            return text(refusal)
        case {"type": "image_url", "image_url": {"url": str(url)}} if url:
            return _image(url)
    return None


def _image(url: str) -> Object:
    """An image: its bytes where these tell of what type it is, else its address, or its path in the file system."""
    data = _DATA.fullmatch(url)
    if data and _mime(data[2]) == data[1]:
        return {"type": "image_binary", "binary": data[2]}
    return {"type": "image_url" if _ADDRESS.match(url) else "image_path", "content": url}
