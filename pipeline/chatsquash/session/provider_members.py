"""Provider-specific fields of blocks and definitions that the model received but records do not support."""

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
"""Fields of texts, media and calls: the origin of a document or search result, or the transcript of a medium."""
_OF_DEFINITIONS = {
    "anthropic": ("input_examples",),
    "openai": ("output_schema", "description"),
    "google": ("response", "responseJsonSchema"),
}
"""Fields of tools; ``description`` belongs to a namespace."""
_CONTAINERS = ("wrapper", "document", "more", "namespace")
"""Fields of a native object that may contain provider-specific fields as well."""


def of_block(block: Block) -> Iterator[str]:
    """Yield the names of provider-specific fields in a text, medium or call."""
    if isinstance(block, Text | Media | Call) and block.native:
        yield from _names(block.native, _OF_BLOCKS)


def of_definitions(tools: list[Tool]) -> list[tuple[Tool, list[str]]]:
    """Return the definitions with provider-specific fields, and the names of these fields."""
    return [(tool, names) for tool in tools if (names := list(_names(chat.private(tool), _OF_DEFINITIONS)))]


def _names(native: dict[str, Any], table: dict[str, tuple[str, ...]]) -> Iterator[str]:
    for provider, members in native.items():
        names = table.get(provider, ())
        if not names or not isinstance(members, dict):
            continue
        for container in (members, *map(members.get, _CONTAINERS)):
            if isinstance(container, dict):
                yield from (name for name in names if container.get(name) and not _is_place(name, container[name]))


def _is_place(name: str, value: Any) -> bool:
    """Return whether a source states where a document's data is, as opposed to where a search found it."""
    return name == "source" and not isinstance(value, str)
