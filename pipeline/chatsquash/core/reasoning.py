"""What the reasoning of an assistant is: members of its message, parts of its content, tags in its text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple

from chatsquash.core.chat import part_text
from chatsquash.core.model import Json, Message

MEMBER = "reasoning_content"
"""The member of canonical messages that holds it as a text."""
TEXTS = (MEMBER, "reasoning", "thinking")
"""The members in which vendors write a text."""
MEMBERS = (MEMBER, "reasoning", "reasoning_details", "thinking", "thinking_blocks")
"""All members in which vendors write it, in the order in which they count."""
PARTS = ("thinking", "redacted_thinking", "reasoning")
"""The types of parts of a content that are reasoning."""
OPEN, CLOSE = "<think>", "</think>"
"""What encloses it where it is a part of a text."""

_CLOSING_LINE = f"\n{CLOSE}"
_SPACE = re.compile(r"\s*")

_TEXT_MEMBERS = ("text", "content", "summary", "thinking", "reasoning")
"""The members of a block that may hold its text, in the order in which they count."""
_INNER = ("text", "reasoning_text", "summary_text")
"""The types of what a block may be made of."""
_IGNORED_MEMBERS = {"type", "index", "format"}
"""The members of a block that say nothing by themselves."""

_Object = dict[str, Any]


class ReasoningParts(NamedTuple):
    """The reasoning of a message."""

    text: str
    source: str
    """The member that the text is from; empty if there is none."""
    blocks: list[_Object]
    """The blocks, unless they say no more than the text does."""
    unknown: list[Json]
    """What stood among the blocks and is none."""


def is_part(part: Json) -> bool:
    """Whether a part of a content is reasoning."""
    return isinstance(part, dict) and part.get("type") in PARTS


def leading_block(text: str) -> tuple[str, str]:
    """The reasoning in the blocks that a text begins with, and the text after them.

    A prompt may open the block, so that the text only closes it, on a line of its own.
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
    """A text without the reasoning that it begins with."""
    return leading_block(text)[1] if CLOSE in text else text


def _skip_space(text: str, at: int) -> int:
    match = _SPACE.match(text, at)
    return match.end() if match else at


def join_blocks(blocks: Iterable[_Object]) -> str:
    """The texts of blocks of reasoning as one."""
    texts = (block.get("text") for block in blocks)
    return "\n\n".join(each for each in texts if each and isinstance(each, str))


def text(message: Message) -> str:
    """The text of an assistant's reasoning, in whichever spelling it was logged; empty if there is none."""
    if type(message.get("content")) is not list and message.keys().isdisjoint(MEMBERS):
        return ""
    return pop(dict(message)).text


def text_or_block(message: Message) -> str:
    """The same, also where it is only the block that the text begins with, as open models write it."""
    return text(message) or in_text(message)


def in_text(message: Message) -> str:
    """The reasoning in the block that the text of a message begins with; empty if there is none."""
    content = message.get("content")
    if type(content) is list:
        content = next((said for part in content if not is_part(part) and (said := part_text(part))), "")
    return leading_block(content)[0] if type(content) is str and CLOSE in content else ""


def pop(message: _Object) -> ReasoningParts:
    """Remove the reasoning from a message, in whichever spelling, and return it.

    The first member with a text counts, plus the reasoning parts of the content.
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
    """The blocks of a member; anything else is added to ``odd``."""
    result = []
    for item in value if isinstance(value, list) else [value]:
        block = {"text": item} if isinstance(item, str) else _block(item)
        if block is None:
            unknown.append(item)
        elif block.keys() - _IGNORED_MEMBERS and block != {"text": ""}:
            result.append(block)
    return result


def _block(item: Json) -> _Object | None:
    """A block with our names for its members, empty for null; ``None`` for anything else."""
    if not isinstance(item, dict):
        return {} if item is None else None
    rest = dict(item)
    member = next((key for key in _TEXT_MEMBERS if _texts(rest.get(key))), "")
    between = "\n\n" if rest.get("type") == "reasoning" else ""
    block_text = between.join(_texts(rest.pop(member))) if member else ""
    if "text" in rest:  # of another type
        return None
    data = "redacted" if rest.get("type") == "redacted_thinking" else "encrypted"
    block = {"text": block_text, data: rest.pop("data", None) or rest.pop("encrypted_content", None), **rest}
    if is_part(block):
        del block["type"]
    return {key: value for key, value in block.items() if value not in (None, "", [], {})}


def _texts(value: Json) -> list[str]:
    """The texts of a block's member, which some vendors split into parts; empty if it contains anything else."""
    items = value if isinstance(value, list) else [] if value is None else [value]
    texts = [_inner_text(item) for item in items]
    return [] if None in texts else [each for each in texts if each is not None]


def _inner_text(item: Json) -> str | None:
    if isinstance(item, dict) and item.get("type") in _INNER and isinstance(item.get("text"), str):
        return str(item["text"])
    return part_text(item)
