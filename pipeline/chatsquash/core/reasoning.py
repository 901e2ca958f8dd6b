"""The reasoning of an assistant: in members of its message, parts of its content, or tags in its text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from msgspec import Struct

from chatsquash.core.chat import part_text
from chatsquash.core.lazy import lazy_compile
from chatsquash.core.model import Json, Message

MEMBER = "reasoning_content"
"""The member of canonical messages that contains reasoning as text."""
TEXTS = (MEMBER, "reasoning", "thinking")
"""The members in which vendors write reasoning as text."""
MEMBERS = (MEMBER, "reasoning", "reasoning_details", "thinking", "thinking_blocks")
"""All members in which vendors write reasoning, in order of precedence."""
_MEMBERS = frozenset(MEMBERS)
PARTS = ("thinking", "redacted_thinking", "reasoning")
"""The types of content parts with reasoning."""
OPEN, CLOSE = "<think>", "</think>"
"""The tags around reasoning within text."""

_CLOSING_LINE = f"\n{CLOSE}"
_SPACE = lazy_compile(r"\s*")

_TEXT_MEMBERS = ("text", "content", "summary", "thinking", "reasoning")
"""The members of a block that may contain its text, in order of precedence."""
_INNER = ("text", "reasoning_text", "summary_text")
"""The types of parts within a block."""
_IGNORED_MEMBERS = {"type", "index", "format"}
"""The members of a block that contain no reasoning themselves."""

_Object = dict[str, Any]


class ReasoningParts(Struct, frozen=True):
    """The reasoning of a message."""

    text: str
    source: str
    """The member that contains the text, or an empty string."""
    blocks: list[_Object]
    """The blocks, unless they only contain the text."""
    unknown: list[Json]
    """Items among the blocks that are not blocks."""


def is_part(part: Json) -> bool:
    """Return whether a content part is reasoning."""
    return isinstance(part, dict) and part.get("type") in PARTS


def leading_block(text: str) -> tuple[str, str]:
    """Split a text into the reasoning in its leading blocks and the text after them.

    If the prompt opened the block, the text contains only the closing tag, on a separate line.
    """
    inside, at = list[str](), _skip_space(text, 0)
    while text.startswith(OPEN, at) and (close := text.find(CLOSE, at)) >= 0:
        inside.append(text[at + len(OPEN) : close].strip())
        at = _skip_space(text, close + len(CLOSE))
    if inside:
        return "\n\n".join(filter(None, inside)), text[at:]
    close = text.find(_CLOSING_LINE)
    end = close + len(_CLOSING_LINE)
    if close < 0 or OPEN in text[:close] or text[end : end + 1] not in ("", "\n", "\r"):
        return "", text
    return text[:close].strip(), text[_skip_space(text, end) :]


def without_block(text: str) -> str:
    """Return a text without its leading reasoning."""
    return leading_block(text)[1] if CLOSE in text else text


def _skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def join_blocks(blocks: Iterable[_Object]) -> str:
    """Join the texts of reasoning blocks."""
    texts = (block.get("text") for block in blocks)
    return "\n\n".join(each for each in texts if each and isinstance(each, str))


def text(message: Message) -> str:
    """Return the reasoning of an assistant message as text, in any spelling, or an empty string."""
    if type(message.get("content")) is not list:
        if _MEMBERS.isdisjoint(message):
            return ""
        names = [name for name in MEMBERS if name in message]
        if len(names) == 1 and type(own := message[names[0]]) is str:  # type: ignore[literal-required]
            return str(own)
    return pop(dict(message)).text


def text_or_block(message: Message) -> str:
    """Return the reasoning like ``text``, or else from the leading block of the content, as written by open models."""
    return text(message) or in_text(message)


def in_text(message: Message) -> str:
    """Return the reasoning in the leading block of a message's text, or an empty string."""
    content = message.get("content")
    if type(content) is list:
        content = next((each for part in content if not is_part(part) and (each := part_text(part))), "")
    return leading_block(content)[0] if type(content) is str and CLOSE in content else ""


def pop(message: _Object) -> ReasoningParts:
    """Remove the reasoning from a message, in any spelling, and return it.

    The text is that of the first member with text, plus that of reasoning parts in the content.
    """
    members = {key: message.pop(key) for key in MEMBERS if key in message}
    content = message.get("content")
    if isinstance(content, list):
        members["content"] = [part for part in content if is_part(part)]
        message["content"] = [part for part in content if not is_part(part)]
    unknown: list[Json] = []
    blocks_by_member = {
        key: blocks_by_member for key, value in members.items() if (blocks_by_member := blocks(value, unknown))
    }
    texts_by_member = {key: text for key, blocks in blocks_by_member.items() if (text := join_blocks(blocks))}
    source = next(iter(texts_by_member), next(iter(blocks_by_member), ""))
    full_text = texts_by_member.get(source, "")
    if (content_text := texts_by_member.get("content", "")) not in full_text:
        full_text = f"{full_text}\n\n{content_text}"
    remaining = [block for each in blocks_by_member.values() for block in each if block != {"text": full_text}]
    return ReasoningParts(full_text, source, remaining, unknown)


def blocks(value: Json, unknown: list[Json]) -> list[_Object]:
    """Return the blocks of a member, and append anything else to ``unknown``."""
    result = []
    for item in value if isinstance(value, list) else [value]:
        block = {"text": item} if isinstance(item, str) else _block(item)
        if block is None:
            unknown.append(item)
        elif block.keys() - _IGNORED_MEMBERS and block != {"text": ""}:
            result.append(block)
    return result


def _block(item: Json) -> _Object | None:
    """Return a block with normalized member names; empty for null, ``None`` for anything that is not a block."""
    if not isinstance(item, dict):
        return {} if item is None else None
    rest = dict(item)
    member = next((key for key in _TEXT_MEMBERS if _texts(rest.get(key))), "")
    between = "\n\n" if rest.get("type") == "reasoning" else ""
    block_text = between.join(_texts(rest.pop(member))) if member else ""
    if "text" in rest:  # its text has another type
        return None
    data = "redacted" if rest.get("type") == "redacted_thinking" else "encrypted"
    block = {"text": block_text, data: rest.pop("data", None) or rest.pop("encrypted_content", None), **rest}
    if is_part(block):
        del block["type"]
    return {key: value for key, value in block.items() if value not in (None, "", [], {})}


def _texts(value: Json) -> list[str]:
    """Return the strings in a member, which some vendors split into parts; empty if it contains anything else."""
    items = value if isinstance(value, list) else [] if value is None else [value]
    texts = [_inner_text(item) for item in items]
    return [] if None in texts else [each for each in texts if each is not None]


def _inner_text(item: Json) -> str | None:
    if isinstance(item, dict) and item.get("type") in _INNER and isinstance(item.get("text"), str):
        return str(item["text"])
    return part_text(item)
