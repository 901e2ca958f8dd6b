"""Content blocks of Anthropic, sorted out by what they are read as."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from chatsquash import jsonio
from chatsquash.chat import BREAKS
from chatsquash.formats import parts
from chatsquash.formats.calls import arguments, made_up, tool_call
from chatsquash.formats.values import Object, string, without
from chatsquash.model import Json

_ORDER = ("thinking", "content", "call", "after", "native")
"""What a turn's blocks are read as, in the order in which they are written; another one is kept."""
_SIMPLE = ("text", "image")
"""What documents and search results may be made of."""
_PACKED = "openrouter.reasoning:"
"""What OpenRouter puts before plain reasoning where Anthropic has the encrypted kind."""


class _Parts(NamedTuple):
    """What a block says in content parts, and its members that these do not hold."""

    parts: list[Object]
    rest: Object


@dataclass(slots=True)
class Content:
    """A turn's blocks by what they are read as."""

    parts: list[Object] = field(default_factory=list)
    after: list[str] = field(default_factory=list)
    thinking: list[Object] = field(default_factory=list)
    calls: list[Object] = field(default_factory=list)
    native: list[Json] = field(default_factory=list)
    members: list[Object] = field(default_factory=list)
    kinds: list[str] = field(default_factory=list)
    breaks: list[int] = field(default_factory=list)

    def private(self) -> Object:
        """What only the private slot holds."""
        return {
            "content_list": parts.alone(self.parts) is not None,
            "after": self.after,
            "thinking": self.thinking,
            "native": self.native,
            "members": self.members,
            BREAKS: self.breaks,
            "order": None if len(self.kinds) < 2 or self.kinds == sorted(self.kinds, key=_ORDER.index) else self.kinds,
        }

    def content(self) -> Json:
        """The parts, or their text where there is only one; nothing beside calls, and else no text."""
        text = parts.alone(self.parts)
        return text if text is not None else self.parts or (None if self.calls else "")


def sorted_out(blocks: Iterable[tuple[int, Json]], first_call: int | None = None) -> Content:
    """Blocks with their places in the turn; only assistants, who have a first call's number, think and call."""
    found, number = Content(), first_call or 0
    for place, block in blocks:
        kind = block.get("type") if isinstance(block, dict) and first_call is not None else None
        if kind == "tool_use":
            found.calls.append(_call(block, number))
            number += made_up(found.calls[-1:])
            found.kinds.append("call")
        elif kind in ("thinking", "redacted_thinking") and (thought := _thought(block)):
            found.thinking.append(thought)
            found.kinds.append("thinking")
        else:
            found.kinds.append(_say(found, place, block))
    return found


def _say(found: Content, place: int, block: Json) -> str:
    """Add a block that neither thinks nor calls; parts behind calls are kept only if they are text."""
    said = _parts(block)
    if said is None or (found.calls and any(part["type"] != "text" for part in said.parts)):
        found.native.append(block)
        return "native"
    if said.rest:
        found.members.append({"at": place, "rest": said.rest})
    if not found.calls:
        if found.parts and found.kinds[-1] != "content":
            found.breaks.append(len(found.parts))
        found.parts += said.parts
        return "content"
    found.after += [part["text"] for part in said.parts]
    return "after"


def _thought(block: Object) -> Object | None:
    match block:
        case {"type": "thinking", "thinking": str(text), **rest}:
            # An empty one is what unsigned reasoning is written with, since there must be one.
            unsigned = ["signature"] if rest.get("signature") == "" else []
            return {"text": text, **without(rest, "text", *unsigned)}
        case {"type": "redacted_thinking", "data": str(data), **rest}:
            plain = {"text": unpacked} if (unpacked := _unpacked(data)) else {}
            return {**plain, "redacted": data, **without(rest, "text", "redacted")}
    return None


def _unpacked(data: str) -> str:
    """The plain reasoning that OpenRouter packed; empty if it is none."""
    if not data.startswith(_PACKED):
        return ""
    try:
        return string(jsonio.loads(base64.b64decode(data.removeprefix(_PACKED))), "text")
    except (ValueError, RecursionError):
        return ""


def _call(block: Object, number: int) -> Object:
    read = ["type", "name", "input", *(["id"] if isinstance(block.get("id"), str) else [])]
    function = {"name": block.get("name"), "arguments": arguments(block.get("input"))}
    return tool_call(string(block, "id"), number, function, {"block": without(block, *read)})


def _parts(block: Json) -> _Parts | None:
    """The parts of text, images, documents and search results; ``None`` for what has no place among them."""
    if type(block) is dict and len(block) == 2 and block.get("type") == "text" and type(block.get("text")) is str:
        return _Parts([parts.text(block["text"])], {})  # as most are; the patterns below copy what they are held to
    match block:
        case str(text):
            return _Parts([parts.text(text)], {})
        case {"type": "text", "text": str(text), **rest}:
            return _Parts([parts.text(text)], without(rest))
        case {"type": "image" | "document" as kind, "source": dict(source), **rest}:
            return _sourced(block, kind, source, without(rest))
        case {"type": "search_result", "content": content}:
            return _wrapped(block, content)
    return None


def _sourced(block: Object, kind: str, source: Object, rest: Object) -> _Parts | None:
    match source:
        case {"type": "base64", "media_type": str(mime), "data": str(data), **more}:
            return _media(kind, parts.data_url(mime, data), _with_source(rest, more))
        case {"type": "url", "url": str(url), **more}:
            return _media(kind, url, _with_source(rest, more))
        case {"type": "file", "file_id": str(file_id), **more}:
            return _Parts([parts.file(file_id=file_id)], {"type": kind, **_with_source(rest, more)})
        case {"type": "text", "data": str(text), **more}:
            return _Parts([parts.text(text)], {"type": kind, **rest, "source": {"type": "text", **without(more)}})
        case {"type": "content", "content": content}:
            return _wrapped(block, content)
    return None


def _with_source(rest: Object, more: Object) -> Object:
    return {**rest, "source": given} if (given := without(more)) else rest


def _media(kind: str, url: str, rest: Object) -> _Parts:
    """An image, or a file, which has its address where it has no data."""
    if kind == "image":
        return _Parts([parts.image(url)], rest)
    title = string(rest, "title") or None
    member = "file_data" if url.startswith("data:") else "file_url"
    return _Parts([parts.file(**{member: url}, filename=title)], without(rest, "title") if title else rest)


def _wrapped(block: Object, content: Json) -> _Parts | None:
    """The texts and images in a block, which is kept as it is to tell them from others."""
    inner = [parts.text(content)] if isinstance(content, str) else content
    if not isinstance(inner, list) or any(not isinstance(b, dict) or b.get("type") not in _SIMPLE for b in inner):
        return None
    found = [_parts(each) for each in inner]
    return None if None in found else _Parts([part for read in found if read for part in read.parts], block)
