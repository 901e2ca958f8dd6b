"""Members of blocks and definitions that only their provider has, and that the model got; records do not have them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from chatsquash.core import chat
from chatsquash.core.blocks import Block, Call, Media, Text
from chatsquash.core.model import Tool

_OF_BLOCKS = {
    "anthropic": ("title", "source", "context"),
    "openai": ("pending_safety_checks",),
    "google": ("audioTranscription",),
}
"""Those of texts, media and calls: what a document or a search result is, a transcript next to a medium."""
_OF_DEFINITIONS = {
    "anthropic": ("input_examples",),
    "openai": ("output_schema", "description"),
    "google": ("response", "responseJsonSchema"),
}
"""Those of tools; the description is that of a namespace."""
_HOLDERS = ("wrapper", "document", "more", "namespace")
"""Members of a native object that have such members in turn."""


def of_block(block: Block) -> Iterator[str]:
    """The names of such members of a text, a medium or a call."""
    if isinstance(block, Text | Media | Call) and block.native:
        yield from _names(block.native, _OF_BLOCKS)


def of_definitions(tools: list[Tool]) -> list[tuple[Tool, list[str]]]:
    """The definitions with such members, and the names of these."""
    return [(tool, names) for tool in tools if (names := list(_names(chat.private(tool), _OF_DEFINITIONS)))]


def _names(native: dict[str, Any], table: dict[str, tuple[str, ...]]) -> Iterator[str]:
    for provider, members in native.items():
        names = table.get(provider, ())
        if not names or not isinstance(members, dict):
            continue
        for holder in (members, *map(members.get, _HOLDERS)):
            if isinstance(holder, dict):
                yield from (name for name in names if holder.get(name) and not _is_place(name, holder[name]))


def _is_place(name: str, value: Any) -> bool:
    """Whether a source says where the data of a document is, and not where a search found it."""
    return name == "source" and not isinstance(value, str)
