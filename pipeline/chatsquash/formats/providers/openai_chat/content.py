"""Load the content of OpenAI chat messages, in the form of any vendor."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from chatsquash.core.blocks import Block, Media, Native, Other, Refusal, Text
from chatsquash.core.model import Json
from chatsquash.formats import parts
from chatsquash.formats.base import TurnError
from chatsquash.formats.calls import EMPTY, native
from chatsquash.formats.values import Object, kind, string

PROVIDER = "openai_chat"
"""The key for native members of OpenAI chat; members that OpenAI Responses also has are under ``openai``."""
COMMON_MEMBERS = ("detail", "prompt_cache_breakpoint")
"""The members of parts that both formats have."""
SOUNDS = {"wav": "audio/wav", "mp3": "audio/mpeg"}
"""The media types of OpenAI's audio formats."""


def blocks_of(content: Json) -> tuple[Any, ...]:
    """Load content; raise ``TurnError`` if it is not a string or a list."""
    if content is None or isinstance(content, str):
        return (Text(content),) if content else ()
    if not isinstance(content, list):
        raise TurnError(f"content is {kind(content)}, expected a string or a list")
    return tuple(block for part in content for block in part_of(part))


def part_of(part: Json) -> tuple[Block, ...]:
    """Load a part, in the form of any vendor."""
    if isinstance(part, str):
        return (Text(part),) if part else ()
    of = part.get("type") or "text" if isinstance(part, dict) else None
    value = part.get(of) if isinstance(of, str) else None
    if isinstance(of, str) and of in _TEXT_BLOCKS and isinstance(value, str):
        return (_TEXT_BLOCKS[of](value, native=_more(part, None, of)),) if value else ()
    return (_medium(part, of, value) or Other(PROVIDER, part),)


_TEXT_BLOCKS: dict[Any, Any] = {"text": Text, "refusal": Refusal}


def _medium(part: Object, of: Json, value: Json) -> Media | None:
    match of, value:
        case ("image_url" | "video_url" | "audio_url") as of, {"url": str(url)} if url:
            return _medium_of_url(_URL_KINDS[of], url, _more(part, value, of, "url"))
        case ("image_url" | "video_url" | "document_url") as of, str(url) if url:
            name = string(part, "document_name")
            return replace(_medium_of_url(_URL_KINDS[of], url, _more(part, value, of, "document_name")), name=name)
        case "input_audio" as of, {"data": str(data), "format": str(form)} if data:
            return Media("audio", SOUNDS.get(form, f"audio/{form}"), data, native=_more(part, None, of))
        case "file", dict(file):
            return _file(part, file)
    return None


_URL_KINDS: dict[str, Any] = {
    "image_url": "image",
    "video_url": "video",
    "audio_url": "audio",  # of vLLM, and of other formats whose sounds are files
    "document_url": "file",
}


def _more(part: Object, inner: Json, *read: str) -> Native:
    """Return the members of a part and of its inner object that are not loaded elsewhere."""
    members = {**part, **inner} if isinstance(inner, dict) else part
    common = {name: members[name] for name in COMMON_MEMBERS if members.get(name) not in EMPTY}
    return {**native(PROVIDER, members, "type", *COMMON_MEMBERS, *read), **({"openai": common} if common else {})}


def _medium_of_url(kind: Any, url: str, more: Native) -> Media:
    """Load media from a URL, which may be a data URL."""
    if match := parts.DATA_URL.fullmatch(url):
        return Media(kind, parts.canonical_type(match[1]), match[2], native=more)
    return Media(kind, url=url, native=more)


def _file(part: Object, file: Object) -> Media | None:
    """Load a file from its data, URL or id."""
    place = next((key for key in ("file_data", "file_url", "file_id") if string(file, key)), "")
    more = _more(part, file, "file", place, "filename")
    value, name = string(file, place), string(file, "filename")
    if place == "file_id":
        return Media("file", file_id=value, name=name, provider="openai", native=more)
    if place == "file_data" and ":" not in value:
        return Media("file", data=value, name=name, native=more)
    if place:
        return replace(_medium_of_url("file", value, more), name=name)
    return None
