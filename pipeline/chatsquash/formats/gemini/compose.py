"""Canonical content, reasoning and calls as Gemini's parts."""

from __future__ import annotations

import base64
from typing import Any

from chatsquash import chat, reasoning
from chatsquash.formats import parts
from chatsquash.formats.calls import after, called
from chatsquash.formats.gemini.pieces import camel, mime_of
from chatsquash.formats.values import Object, at, objects, string
from chatsquash.model import Json, Message

_KEPT = frozenset(("executableCode", "codeExecutionResult", "toolCall", "toolResponse"))
"""What only Gemini has: what it runs itself."""


def shown(message: Message) -> list[Object]:
    """The texts and media of a message, with a refusal behind them; empty texts say nothing."""
    content, refusal = message.get("content"), message.get("refusal")
    found = [content] if isinstance(content, str) else content if isinstance(content, list) else []
    made = [block for part in [*found, *([refusal] if isinstance(refusal, str) else [])] if (block := _part(part))]
    _retype([part["fileData"] for part in made if "fileData" in part], chat.private(message).get("native"))
    return made


def _retype(linked: list[Object], native: Json) -> None:
    """Give what is elsewhere the types that were logged, if they are as many."""
    mimes = [mime for held in objects(native) if (mime := string(at(held, "fileData"), "mimeType"))]
    if len(mimes) == len(linked):
        for link, mime in zip(linked, mimes, strict=True):
            link["mimeType"] = mime


def model_parts(message: Message, calls: list[Object]) -> list[Json]:
    """What a model thinks, says and calls, and what it says behind that."""
    held = chat.private(message)
    said, behind = shown(message), [{"text": text} for text in after(message) if text]
    native = [part for part in objects(held.get("native")) if camel(part).keys() & _KEPT]
    return [*_thoughts(message, said), *said, *calls, *behind, *native]


def _thoughts(message: Message, said: list[Object]) -> list[Object]:
    """Thoughts, if they are what the reasoning says; a signature of no thought is that of the last text behind them."""
    held = objects(chat.private(message).get("thinking"))
    whole = string(message, "reasoning_content")
    if reasoning.joined(held) != whole:
        held = [{"text": whole}]
    made = [part for block in held if (part := _thought(block))]
    texts = [part for part in said if "text" in part]
    if texts and made and "thought" not in made[-1]:
        texts[-1] |= {"thoughtSignature": made.pop()["thoughtSignature"]}
    return made


def _thought(block: Object) -> Object | None:
    """A thought; a signature alone signs a text that is empty, as it does in streams."""
    text, signature = block.get("text"), signed(block)
    if isinstance(text, str) and (text or signature):
        return {"text": text, "thought": True, **signature}
    return {"text": "", **signature} if signature and block.keys() == {"signature"} else None


def signed(held: Json) -> Object:
    """A signature as a member of a part, if it is base64, as Gemini's are."""
    signature = string(held, "signature")
    try:
        decoded = base64.b64decode(parts.standard(signature), validate=True)
    except ValueError:
        return {}
    return {"thoughtSignature": signature} if decoded else {}


def _part(part: Json) -> Object | None:
    """A part as Gemini has it; ``None`` for an empty text, and for what has no place."""
    match part:
        case str(text) | {"type": "text", "text": str(text)} | {"type": "refusal", "refusal": str(text)}:
            return {"text": text} if text else None
        case {"type": "image_url", "image_url": {"url": str(url)}}:
            return _inline(url) or _linked(url, is_image=True)
        case {"type": "video_url", "video_url": {"url": str(url)}}:
            return _inline(url) or _linked(url)
        case {"type": "input_audio", "input_audio": {"data": str(data), "format": str(kind)}}:
            return {"inlineData": {"mimeType": f"audio/{kind}", "data": data}}
        case {"type": "file", "file": dict(file)}:
            return _file(file)
    return None


def _inline(url: str, name: str = "") -> Object | None:
    """What an address holds itself."""
    found = parts.DATA_URL.fullmatch(url)
    named = {"displayName": name} if name else {}
    return {"inlineData": {"mimeType": found[1], "data": found[2], **named}} if found else None


def _linked(url: str, *, is_image: bool = False) -> Object | None:
    """What is elsewhere; its type is told by the end of its address, and for an image there must be one."""
    if not url or url.startswith("data:"):
        return None
    mime = mime_of(url, is_image=is_image)
    return {"fileData": {"fileUri": url, **({"mimeType": mime} if mime else {})}}


def _file(file: Object) -> Object | None:
    data = string(file, "file_data")
    if data and "://" not in data and not data.startswith("data:"):
        data = parts.data_url("application/octet-stream", data)
    where = string(file, "file_url") or string(file, "file_id") or data
    return _inline(data, string(file, "filename")) or _linked(where)


def call_part(call: Object, call_id: str | None) -> Object:
    """A call with its arguments as an object; what a custom tool gets is its ``input``."""
    name, args = called(call)
    members: dict[str, Any] = {"id": call_id, "name": name or None, "args": args}
    known = {key: value for key, value in members.items() if value is not None}
    return {"functionCall": known, **signed(chat.private(call))}
