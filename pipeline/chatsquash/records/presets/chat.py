"""The specified record: messages as logged, and flattened tool definitions."""

from __future__ import annotations

from typing import Any

from chatsquash.core.model import Conversation
from chatsquash.records.presets import NO_CHOICES, Choices, Column, ShapeResult

NAME = "chat"
SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "properties": {
        "messages": {
            "type": "array",
            "items": {"type": "object", "properties": {"role": {"type": "string"}}, "required": ["role"]},
        },
        "tools": {"type": "array"},
    },
    "required": ["messages", "tools"],
    "additionalProperties": False,
}
COLUMNS = (Column("messages", "messages"), Column("tools", "messages"))


def shape(conversation: Conversation, choices: Choices = NO_CHOICES) -> ShapeResult:  # noqa: ARG001
    """Return messages and tools unchanged."""
    return ShapeResult({"messages": conversation.messages, "tools": conversation.tools}, [])
