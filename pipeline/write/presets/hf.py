"""For TRL, axolotl, Unsloth, ms-swift, Oumi and Megatron-Bridge: wrapped tools, object arguments, texts, no nulls."""

from __future__ import annotations

from typing import Any

from pipeline.model import Conversation
from pipeline.write import schema
from pipeline.write.arguments import objects
from pipeline.write.presets import REFUSED, Choices, Column, Shaped
from pipeline.write.schema import TEXT, WORD
from pipeline.write.shaping import Plain, shaped

NAME = "hf"
_ASSISTANT = schema.exactly(
    {"role": {"const": "assistant"}, "content": TEXT},
    {"reasoning_content": WORD, "tool_calls": schema.calls({"type": "object"})},
)
_FUNCTION = {
    "type": "object",
    "properties": {"name": WORD, "parameters": {"type": "object"}},
    "required": ["name", "parameters"],
    "additionalProperties": {"not": {"type": "null"}},
}
SCHEMA: dict[str, Any] = schema.record(
    {
        "messages": schema.messages(
            schema.said("system"), schema.said("user"), _ASSISTANT, schema.said("tool", tool_call_id=WORD, name=WORD)
        )
    },
    {"tools": schema.tools(_FUNCTION)},
)
COLUMNS = (Column("messages", "messages"), Column("tools", "messages"))


def shape(conversation: Conversation, choices: Choices = REFUSED) -> Shaped:
    """Turns as they are read; tools if there are any."""
    return shaped(conversation, objects, _record, choices)


def _record(plain: Plain) -> dict[str, Any]:
    return {"messages": plain.turns, "tools": plain.tools} if plain.tools else {"messages": plain.turns}
