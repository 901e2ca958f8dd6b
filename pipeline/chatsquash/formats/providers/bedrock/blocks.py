"""Blocks of Converse as those of Anthropic."""

from __future__ import annotations

from chatsquash.core.model import Json
from chatsquash.formats.values import Object, as_list, at, compact, string

BLOCKS = frozenset(("text", "toolUse", "toolResult", "reasoningContent", "image", "document", "video", "cachePoint"))
_IMAGES = {"jpeg": "image/jpeg", "jpg": "image/jpeg", "png": "image/png", "gif": "image/gif", "webp": "image/webp"}
_DOCUMENTS = {"pdf": "application/pdf", "txt": "text/plain", "csv": "text/csv", "html": "text/html"}


def blocks(content: Json) -> list[Json]:
    """The blocks of a content; marks of the cache say nothing."""
    return [made for block in as_list(content) if (made := block_of(block)) is not None]


def block_of(block: Json) -> Json:  # noqa: PLR0911 - one for each kind
    """A block; one that is not known stays as it is, with a type that says so."""
    match block:
        case {"text": str(said)}:
            return {"type": "text", "text": said}
        case {"toolUse": dict(called)}:
            named = {"id": called.get("toolUseId"), "name": called.get("name")}
            return {"type": "tool_use", **named, "input": called.get("input")}
        case {"toolResult": dict(result)}:
            return _result(result)
        case {"reasoningContent": dict(thought)}:
            return _thought(thought)
        case {"image": dict(image)}:
            return _medium("image", image, _IMAGES.get(string(image, "format"), "image/png"))
        case {"document": dict(document)}:
            mime = _DOCUMENTS.get(string(document, "format"), "application/octet-stream")
            return {**_medium("document", document, mime), "title": string(document, "name")}
        case {"cachePoint": _}:
            return None
    return block


def _result(result: Object) -> Object:
    content = [_said(block) for block in as_list(result.get("content"))]
    failed = {"is_error": True} if result.get("status") == "error" else {}
    return {"type": "tool_result", "tool_use_id": result.get("toolUseId"), "content": content, **failed}


def _said(block: Json) -> Json:
    """A block of a result, which may be JSON."""
    if isinstance(block, dict) and "json" in block:
        return {"type": "text", "text": compact(block["json"])}
    return block_of(block)


def _thought(thought: Object) -> Object | None:
    reasoning = thought.get("reasoningText")
    if isinstance(reasoning, dict):
        signed = {"signature": reasoning["signature"]} if isinstance(reasoning.get("signature"), str) else {}
        return {"type": "thinking", "thinking": string(reasoning, "text"), **signed}
    sealed = thought.get("redactedContent")
    return {"type": "redacted_thinking", "data": sealed} if isinstance(sealed, str) else None


def _medium(of: str, medium: Object, mime: str) -> Object:
    data = at(medium, "source", "bytes")
    if isinstance(data, str):
        return {"type": of, "source": {"type": "base64", "media_type": mime, "data": data}}
    place = at(medium, "source", "s3Location", "uri")
    return {"type": of, "source": {"type": "url", "url": place if isinstance(place, str) else ""}}
