"""For the fine-tuning APIs of Together, Fireworks, Azure and OpenAI: arguments as text, only known members."""

from __future__ import annotations

from typing import Any

from chatsquash.core.model import Conversation
from chatsquash.records import schema, wire
from chatsquash.records.arguments import texts
from chatsquash.records.presets import NO_CHOICES, Choices, Column, ShapeResult
from chatsquash.records.schema import TEXT, WORD
from chatsquash.records.shaping import PlainConversation, shape_record
from chatsquash.records.turns import Turn

NAME = "openai"
TRAINERS = dict.fromkeys(("Together", "Fireworks", "Azure", "OpenAI"), ("weight",))
_CALLS = schema.calls(TEXT, name=wire.NAME)
SCHEMA: dict[str, Any] = schema.record(
    {
        "messages": schema.messages(
            schema.message("system"),
            schema.message("user"),
            schema.message("assistant", schema.WEIGHT),
            schema.exactly({"role": {"const": "assistant"}, "tool_calls": _CALLS}, {"content": WORD, **schema.WEIGHT}),
            schema.message("tool", tool_call_id=WORD),
        )
    },
    {"tools": wire.TOOLS},
)
COLUMNS = (Column("messages", "messages"), Column("tools", "messages"))


def shape(conversation: Conversation, choices: Choices = NO_CHOICES) -> ShapeResult:
    """Return turns without reasoning and without names of results; turns with only calls have no content."""
    return shape_record(conversation, texts, _record, choices)


def _record(plain: PlainConversation) -> dict[str, Any]:
    messages = [_message(turn) for turn in wire.messages(plain.turns, plain.notes)]
    return wire.record(messages, plain.tools, plain.notes)


def _message(turn: Turn) -> Turn:
    if turn["role"] == "tool":
        return {"role": "tool", "tool_call_id": turn["tool_call_id"], "content": turn["content"]}
    if "tool_calls" in turn and not turn["content"]:
        return {"role": "assistant", "tool_calls": turn["tool_calls"]}
    return turn
