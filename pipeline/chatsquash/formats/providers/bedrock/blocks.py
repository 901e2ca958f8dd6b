"""Convert Converse blocks to Anthropic's."""

from __future__ import annotations

from chatsquash.core.model import Json
from chatsquash.formats.values import Object, as_list, at, compact, string

BLOCKS = frozenset(("text", "toolUse", "toolResult", "reasoningContent", "image", "document", "video", "cachePoint"))
_IMAGES = {"jpeg": "image/jpeg", "jpg": "image/jpeg", "png": "image/png", "gif": "image/gif", "webp": "image/webp"}
_DOCUMENTS = {"pdf": "application/pdf", "txt": "text/plain", "csv": "text/csv", "html": "text/html"}


def blocks(content: Json) -> list[Json]:
    """Convert a block or a list of blocks; cache points are skipped."""
    return [converted for block in as_list(content) if (converted := block_of(block)) is not None]


def block_of(block: Json) -> Json:  # noqa: PLR0911 - one for each kind
    """Convert a block; unknown blocks are returned unchanged, and cache points become ``None``."""
    match block:
        case {"text": str(text)}:
            return {"type": "text", "text": text}
        case {"toolUse": dict(tool_use)}:
            id_and_name = {"id": tool_use.get("toolUseId"), "name": tool_use.get("name")}
            return {"type": "tool_use", **id_and_name, "input": tool_use.get("input")}
        case {"toolResult": dict(result)}:
            return _result(result)
        case {"reasoningContent": dict(thought)}:
            return _reasoning(thought)
        case {"image": dict(image)}:
            return _medium("image", image, _IMAGES.get(string(image, "format"), "image/png"))
        case {"document": dict(document)}:
            mime = _DOCUMENTS.get(string(document, "format"), "application/octet-stream")
            return {**_medium("document", document, mime), "title": string(document, "name")}
        case {"cachePoint": _}:
            return None
    return block


def _result(result: Object) -> Object:
    content = [_result_block(block) for block in as_list(result.get("content"))]
    failed = {"is_error": True} if result.get("status") == "error" else {}
    return {"type": "tool_result", "tool_use_id": result.get("toolUseId"), "content": content, **failed}


def _result_block(block: Json) -> Json:
    """Convert a block of a result; JSON becomes text."""
    if isinstance(block, dict) and "json" in block:
        return {"type": "text", "text": compact(block["json"])}
    return block_of(block)


def _reasoning(thought: Object) -> Object | None:
    reasoning = thought.get("reasoningText")
    if isinstance(reasoning, dict):
        signature_member = {"signature": reasoning["signature"]} if isinstance(reasoning.get("signature"), str) else {}
        return {"type": "thinking", "thinking": string(reasoning, "text"), **signature_member}
    encrypted = thought.get("redactedContent")
    return {"type": "redacted_thinking", "data": encrypted} if isinstance(encrypted, str) else None


def _medium(of: str, medium: Object, mime: str) -> Object:
    data = at(medium, "source", "bytes")
    if isinstance(data, str):
        return {"type": of, "source": {"type": "base64", "media_type": mime, "data": data}}
    place = at(medium, "source", "s3Location", "uri")
    # S3 locations are written as URLs, because Anthropic's blocks have no other place for them.
    return {"type": of, "source": {"type": "url", "url": place if isinstance(place, str) else ""}}
