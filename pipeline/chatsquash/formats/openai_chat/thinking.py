"""Reasoning of assistants, in every spelling that vendors have."""

from __future__ import annotations

from chatsquash.chat import REASONING_KEYS, part_text
from chatsquash.formats import parts
from chatsquash.formats.openai_chat.members import keep
from chatsquash.formats.values import Object, listed
from chatsquash.model import Json


def reasoning(message: Json) -> str:
    """The text of an assistant's reasoning, in whichever spelling it was logged; empty if there is none."""
    return taken_reasoning(dict(message), {})


def taken_reasoning(message: Object, extra: Object) -> str:
    """Take the reasoning out of a message, in whichever spelling it came; the first one that has text counts."""
    found = [(key, message.pop(key)) for key in REASONING_KEYS if key in message]
    content = message.get("content")
    if isinstance(content, list):
        found.append(("content", [part for part in content if is_thinking(part)]))
        message["content"] = [part for part in content if not is_thinking(part)]
    read = [(key, _blocks(value, extra)) for key, value in found]
    sources = [(key, parts.reasoning(blocks), blocks) for key, blocks in read if blocks]
    key, said, _ = next((source for source in sources if source[1]), sources[0] if sources else ("", "", []))
    whole = [block for _, _, blocks in sources for block in blocks if block != {"text": said}]
    extra["thinking"] = whole or extra.get("thinking")
    extra["reasoning_key"] = key if key not in ("", "reasoning_content") else extra.get("reasoning_key")
    return said


def _blocks(value: Json, extra: Object) -> list[Object]:
    return [block for item in listed(value) if (block := _thinking(item, extra))]


def is_thinking(part: Json) -> bool:
    """Whether a part of a content is reasoning."""
    return isinstance(part, dict) and part.get("type") in ("thinking", "redacted_thinking")


def _thinking(item: Json, extra: Object) -> Object | None:
    """A block of reasoning with our names for its members, those aside that only its vendor knows."""
    if isinstance(item, str):
        return {"text": item} if item else None
    if item is None:
        return None
    rest = dict(item) if isinstance(item, dict) else {}
    member = next((key for key in ("text", "summary", "thinking") if _texts(rest.get(key))), "")
    text = "".join(_texts(rest.pop(member))) if member else ""
    if not isinstance(item, dict) or "text" in rest:  # of another type
        keep(extra, item)
        return None
    data = "redacted" if rest.get("type") == "redacted_thinking" else "encrypted"
    block = {"text": text, data: rest.pop("data", None), **rest}
    if block.get("type") in ("thinking", "redacted_thinking"):
        del block["type"]
    held = {key: value for key, value in block.items() if value not in (None, "", [], {})}
    return held if held.keys() - {"type", "index", "format"} else None


def _texts(value: Json) -> list[str]:
    """The text of a block's member, which some vendors split into parts; empty if something in it is no text."""
    texts = [part_text(part) for part in listed(value)]
    return [] if None in texts else [text for text in texts if text is not None]
