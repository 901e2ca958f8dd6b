"""Content items of Oumi: texts, and images by their address, their path or their bytes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from chatsquash.core.blocks import Block, Call, Media, Other, Refusal, Text
from chatsquash.core.model import Json
from chatsquash.formats import parts
from chatsquash.formats.calls import native
from chatsquash.formats.values import Object, objects
from chatsquash.formats.writing import native as own_of
from chatsquash.formats.writing import text_of

PROVIDER = "oumi"

_OWN = ("image_path", "image_binary")
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


def tells(content: Json) -> bool:
    """Whether a content has items that only Oumi spells like this."""
    return any(
        each.get("type") in _OWN or (each.get("type") in ("text", "image_url") and isinstance(each.get("content"), str))
        for each in objects(content)
    )


def blocks_of(content: Json) -> tuple[Text | Media | Other, ...]:
    """What a content says that is text or a list of items."""
    if not isinstance(content, list):
        return (Text(content),) if content else ()
    return tuple(block for item in content for block in _block(item))


def _block(item: Json) -> Iterator[Text | Media | Other]:
    match item:
        case {"type": "text", "content": str(text)}:
            yield from (Text(text, native=native(PROVIDER, item, "type", "content")),) if text else ()
        case {"type": "image_url" | "image_path" as of, "content": str(address)} if address:
            more = native(PROVIDER, item, "content", *(["type"] if of == _type(address) else []))
            data_url = parts.DATA_URL.fullmatch(address)
            if data_url and data_url[2]:
                yield Media("image", data_url[1], data_url[2], native=more)
            else:
                yield Media("image", url=address, native=more)
        case {"type": "image_binary", "binary": str(data)} if mime := _mime(data):
            yield Media("image", mime, data, native=native(PROVIDER, item, "type", "binary"))
        case _:
            yield Other(PROVIDER, item)


def _mime(data: str) -> str | None:
    """The type of an image in base64, by its first bytes; ``None`` for what is no image."""
    return parts.image_type((parts.decoded(data) or b"")[:12])


def _type(url: str) -> str:
    """The type of the item for an image that is elsewhere: at an address, or in the file system."""
    return "image_url" if _ADDRESS.match(url) else "image_path"


def content_of(blocks: Iterable[Block]) -> Json:
    """Items, or their text where they are one; ``None`` without any.  Texts around calls are one."""
    said = [block for block in blocks if isinstance(block, Text | Refusal | Media | Other | Call)]
    items = [item for block in said if (item := _item(block))]
    if not items:
        return None
    are_texts = all(item.keys() == {"type", "content"} and is_text(item) for item in items)
    calls = [place for place, block in enumerate(said) if type(block) is Call]
    if are_texts and (len(items) == 1 or (calls and calls[0] < len(said) - len(calls))):
        return text_of(said, by_assistant=bool(calls))
    return items


def is_text(item: Object) -> bool:
    """Whether an item is a text."""
    return item["type"] == "text" and isinstance(item.get("content"), str)


def _item(block: Block) -> Object | None:
    match block:
        case Text() | Refusal():
            return {"type": "text", "content": block.text, **own_of(block, PROVIDER)}
        case Media() if block.kind == "image" and (block.data or block.url):
            return {**_image(block), **own_of(block, PROVIDER)}
        case Other() if block.provider == PROVIDER and isinstance(block.value, dict) and "type" in block.value:
            return block.value
    return None


def _image(block: Media) -> Object:
    """An image: its bytes where these tell of what type it is, else its address, or its path."""
    if block.data and _mime(block.data) == block.mime:
        return {"type": "image_binary", "binary": block.data}
    url = parts.data_url(block.mime, block.data) if block.data else block.url
    return {"type": _type(url), "content": url}
