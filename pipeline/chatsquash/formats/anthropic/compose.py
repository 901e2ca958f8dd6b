"""Canonical messages as Anthropic's content blocks: the other way round than ``blocks``, which judges what is made."""

from __future__ import annotations

import base64
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from chatsquash import chat, jsonio, reasoning
from chatsquash.formats import parts
from chatsquash.formats.anthropic.blocks import sorted_out
from chatsquash.formats.calls import after, called
from chatsquash.formats.values import Object, at, objects, string, without
from chatsquash.model import Json, Message

_ORDER = ("thinking", "content", "call", "after", "native")
_IMAGES = ("image/jpeg", "image/png", "image/gif", "image/webp")
REFERENCES = ("tool_reference", "browser_state")
"""Blocks that only results have."""
_KEPT = (
    "server_tool_use",
    "mcp_tool_use",
    "container_upload",
    "compaction",
    "tool_addition",
    "tool_removal",
)
"""Blocks that only Anthropic has, beside the results of the tools that it runs."""
_USED = ("cache_control", "caller", "toolset_name")
"""Members that calls and results have beside those that are read."""

_Queues = dict[str, deque[Any]]


def blocks(message: Message, place: int = 0, calls: Iterable[Object] = ()) -> list[Json]:
    """The blocks of a message, the first of which stands at a place of its turn; in the order of old, if it fits."""
    held = chat.private(message)
    order = held.get("order")
    members = _members(held.get("members"))
    if isinstance(order, list):
        ordered = _in_order(order, _queues(message, calls), members, place)
        if ordered is not None:
            return ordered
    queues = _queues(message, calls)
    return _in_order(_default(queues), queues, members, place) or []


def is_text(message: Message, made: list[Json]) -> bool:
    """Whether blocks are no more than the text of a message that was no list."""
    was_list = isinstance(message.get("content"), list) or chat.private(message).get("content_list")
    return len(made) == 1 and made[0].keys() == {"type", "text"} and not was_list


def _members(noted: Json) -> dict[int, Json]:
    """What else blocks had, by their places."""
    return {each["at"]: each.get("rest") for each in objects(noted) if type(each.get("at")) is int}


def _queues(message: Message, calls: Iterable[Object]) -> _Queues:
    held, by_assistant = chat.private(message), message.get("role") == "assistant"
    made = {
        "thinking": _thoughts(message) if by_assistant else [],
        "content": content_parts(message),
        "call": calls,
        "after": map(parts.text, after(message)),
        "native": [block for block in objects(held.get("native")) if _is_ours(block, message["role"])],
    }
    return {kind: deque(of) for kind, of in made.items()}


def content_parts(message: Message) -> list[Json]:
    """The content as parts, with a refusal behind it."""
    content, refusal = message.get("content"), message.get("refusal")
    found = [parts.text(content)] if isinstance(content, str) else content if isinstance(content, list) else []
    return [*found, parts.text(refusal)] if isinstance(refusal, str) else list(found)


def _default(queues: _Queues) -> Iterator[str]:
    for kind in _ORDER:
        while queues[kind]:
            yield kind


def _in_order(order: Iterable[Json], queues: _Queues, members: dict[int, Json], place: int) -> list[Json] | None:
    """Blocks by kinds; ``None`` if there are more or fewer than these."""
    made: list[Json] = []
    for kind in order:
        queue = queues.get(kind) if isinstance(kind, str) else None
        if not queue:
            return None
        is_part = kind in ("content", "after")
        made.append(_taken(queue, members.get(place + len(made))) if is_part else queue.popleft())
    return None if any(queues.values()) else [block for block in made if block is not None]


def _taken(queue: deque[Any], rest: Json) -> Json:
    """The block of the next parts, with the members that were noted of it, if it is read as just these then."""
    plain = block_of(queue[0])
    for made in _candidates(plain, queue[0], rest) if isinstance(rest, dict) else ():
        read = sorted_out([(0, made)])
        taken = list(queue)[: len(read.parts)]
        if taken and jsonio.dumps([read.parts, read.members]) == jsonio.dumps([taken, [{"at": 0, "rest": rest}]]):
            for _ in taken:
                queue.popleft()
            return made
    queue.popleft()
    return plain


def _candidates(plain: Json, part: Json, rest: Object) -> Iterator[Object]:
    """What a block may have been: a wrapper of texts, one with more members, a document of text."""
    noted = rest.get("source")
    source: Object = noted if isinstance(noted, dict) else {}
    yield rest
    if isinstance(plain, dict):
        sourced = {"source": {**plain["source"], **source}} if "source" in plain else {}
        yield {**plain, **rest, **sourced}
    if rest.get("type") == "document" and isinstance(at(part, "text"), str):
        yield {**rest, "source": {**source, "data": part["text"]}}


def block_of(part: Json) -> Object | None:
    """A part as a block; ``None`` for sounds, for what no block can hold, and for an empty text, which is refused."""
    match part:
        case str(text) | {"type": "text", "text": str(text)} | {"type": "refusal", "refusal": str(text)}:
            return {"type": "text", "text": text} if text else None
        case {"type": "image_url", "image_url": {"url": str(url)}}:
            return _image(url)
        case {"type": "file", "file": dict(file)}:
            return _document(file)
    return None


def _image(url: str) -> Object | None:
    found = parts.DATA_URL.fullmatch(url)
    if found is None:
        return None if url.startswith("data:") else {"type": "image", "source": {"type": "url", "url": url}}
    mime = "image/jpeg" if found[1] == "image/jpg" else found[1]
    source = {"type": "base64", "media_type": mime, "data": found[2]}
    return {"type": "image", "source": source} if mime in _IMAGES else None


def _document(file: Object) -> Object | None:
    """A PDF or a text by its data; a file that is elsewhere by its address or its id."""
    source = _data(string(file, "file_data")) or _elsewhere(string(file, "file_url"), string(file, "file_id"))
    if source is None:
        return None
    title = string(file, "filename")
    return {"type": "document", "source": source, **({"title": title} if title else {})}


def _data(data: str) -> Object | None:
    found = parts.DATA_URL.fullmatch(data)
    if found is None:
        return {"type": "url", "url": data} if _is_address(data) else None
    if found[1] == "application/pdf":
        return {"type": "base64", "media_type": found[1], "data": found[2]}
    if not found[1].startswith("text/"):
        return None
    try:
        text = base64.b64decode(found[2], validate=True).decode()
    except ValueError:
        return None
    return {"type": "text", "media_type": "text/plain", "data": text} if text else None


def _elsewhere(url: str, file_id: str) -> Object | None:
    if url or _is_address(file_id):
        return {"type": "url", "url": url or file_id}
    return {"type": "file", "file_id": file_id} if file_id else None


def _is_address(where: str) -> bool:
    return "://" in where


def _is_ours(block: Object, role: str) -> bool:
    """Whether a block that was kept aside is one of Anthropic's that may stand in a turn or result of this role."""
    of = string(block, "type")
    if role == "tool":
        return of in REFERENCES
    is_behind = of in ("image", "document") and isinstance(block.get("source"), dict)
    return of in _KEPT or (of.endswith("_tool_result") and of != "tool_result") or (role == "assistant" and is_behind)


# Reasoning and calls


def _thoughts(message: Message) -> list[Object]:
    """The blocks of reasoning, if they say just what the message's reasoning does; else that in a block of its own."""
    held = [block for block in objects(chat.private(message).get("thinking")) if _says(block)]
    said = string(message, "reasoning_content")
    if reasoning.joined(held) == said:
        return [_thought(block) for block in held]
    return [_thought({"text": said})] if said else [_thought(block) for block in held if "redacted" in block]


def _says(block: Object) -> bool:
    """Whether there is a block of this: a text, a signature of no text, or encrypted reasoning of Anthropic's."""
    return isinstance(block.get("text"), str) or isinstance(block.get("redacted"), str)


def _thought(block: Object) -> Object:
    """A block of reasoning; one that nobody has signed has an empty signature, since there must be one."""
    if isinstance(block.get("redacted"), str):
        return {"type": "redacted_thinking", "data": block["redacted"]}
    return {"type": "thinking", "thinking": block["text"], "signature": string(block, "signature")}


def call_block(call: Object, call_id: str) -> Object:
    """A call with its arguments as an object; what a custom tool gets is its ``input``."""
    name, given = called(call)
    return {"type": "tool_use", "id": call_id, "name": name, "input": given, **used(call)}


def used(holder: Json) -> Object:
    """What else a call or a result was logged with."""
    held = chat.private(holder).get("block")
    return {key: held[key] for key in _USED if key in without(held)} if isinstance(held, dict) else {}
