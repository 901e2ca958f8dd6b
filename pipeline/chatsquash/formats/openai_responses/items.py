"""Items of OpenAI Responses: what they are, and what is in their content."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from chatsquash.formats import parts
from chatsquash.formats.values import Object, listed
from chatsquash.model import Json

ROLES = ("user", "assistant", "system", "developer")
CALLS = ("function_call", "custom_tool_call")
RESULTS = ("function_call_output", "custom_tool_call_output")
_TEXTS = ("input_text", "output_text", "text")
_FILES = ("file_data", "file_id", "file_url")
"""Where a file is, by the same names in both."""
_USUAL_DETAIL = "auto"
"""What an image must say where a canonical one says nothing."""


class Content(NamedTuple):
    """The blocks of a content."""

    parts: list[Json]
    """Canonical ones."""
    native: list[Json]
    """Those that are none, as logged."""
    citations: list[Json]
    """The annotations of each part."""


def type_of(item: Object) -> Json:
    """An item without a type is a message, or a reference to an item if it has nothing but an id."""
    kind = item.get("type")
    if kind is None:
        return "item_reference" if item.keys() - {"type"} == {"id"} else "message"
    return kind


def slot(item: Object) -> str:
    """Where an item goes in an assistant's message: reasoning, message, call, native."""
    kind = type_of(item)
    if kind == "message":
        return "m" if item.get("role") in (None, "assistant") else "n"
    return "r" if kind == "reasoning" else "c" if kind in CALLS else "n"


def content_of(content: Json, part: Callable[[Json], Json]) -> Content:
    """The blocks of a content, by what ``part`` makes of them; a string is one text."""
    held = Content([], [], [])
    for block in listed(content):
        made = part(block)
        if made is None:
            held.native.append(block)
        else:
            held.parts.append(made)
            held.citations.append(block.get("annotations") if isinstance(block, dict) else None)
    return held


def _text_part(block: Json) -> Json:
    """A block as a text; ``None`` for what is none."""
    if isinstance(block, str):
        return parts.text(block)
    is_text = isinstance(block, dict) and block.get("type") in _TEXTS and isinstance(block.get("text"), str)
    return parts.text(block["text"]) if is_text else None


def own_part(block: Json) -> Json:
    """A block of the assistant as a text or a refusal, the only parts that the canonical form gives it."""
    is_refusal = isinstance(block, dict) and block.get("type") == "refusal" and isinstance(block.get("refusal"), str)
    return {"type": "refusal", "refusal": block["refusal"]} if is_refusal else _text_part(block)


def part_of(block: Json) -> Json:
    """A block as a canonical part; ``None`` for what has none, such as an image that is only an id."""
    kind = block.get("type") if isinstance(block, dict) else None
    if kind == "input_image" and isinstance(block.get("image_url"), str):
        detail = {} if block.get("detail") == _USUAL_DETAIL else _strings(block, detail="detail")
        return {"type": "image_url", "image_url": {"url": block["image_url"], **detail}}
    if kind == "input_audio" and isinstance(block.get("input_audio"), dict):
        return {"type": "input_audio", "input_audio": block["input_audio"]}
    if kind == "input_file" and (file := _strings(block, **{name: name for name in _FILES})):
        return parts.file(**file, **_strings(block, filename="filename"))
    return _text_part(block)


def _strings(block: Object, **names: str) -> dict[str, str]:
    return {new: block[old] for new, old in names.items() if isinstance(block.get(old), str)}


def joined(held: list[Json]) -> Json:
    """Parts as a content: a text alone is a string."""
    text = parts.alone(held)
    return text if text is not None else held or None


def collapsed(logged: Json, content: Json) -> bool:
    """Whether a content was logged as a list and is none any more."""
    return isinstance(logged, list) and not isinstance(content, list)


def some(values: list[Json]) -> list[Json] | None:
    """One value for each of something, unless there are none at all."""
    return values if any(values) else None
