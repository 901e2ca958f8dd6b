"""For TRL, axolotl, Unsloth, ms-swift, Oumi and Megatron-Bridge: wrapped tools, object arguments, text, no nulls."""

from __future__ import annotations

from typing import Any

from chatsquash.core.model import Conversation
from chatsquash.records import media, schema
from chatsquash.records.arguments import objects
from chatsquash.records.presets import NO_CHOICES, Choices, Column, ShapeResult
from chatsquash.records.schema import TEXT, WORD
from chatsquash.records.shaping import PlainConversation, count_users_after_results, shape_record

NAME = "hf"
TRAINERS: dict[str, tuple[str, ...]] = {
    "TRL": (),
    "axolotl": ("training",),
    "Unsloth": (),
    "ms-swift": ("loss",),
    "Oumi": (),
    "Megatron-Bridge": (),
}
_FILE = f"^{media.FOLDER}/[0-9a-f]{{40}}\\.(png|jpg|gif|webp)$"
_PARTS: schema.Schema = {
    "type": "array",
    "items": {
        "oneOf": [
            schema.exactly({"type": {"const": "text"}, "text": WORD}),
            schema.exactly({"type": {"const": "image"}}),
        ]
    },
}
_CONTENT: schema.Schema = {"anyOf": [TEXT, _PARTS]}
"""Text or, with ``--media keep``, texts and images in order."""
_ASSISTANT = schema.exactly(
    {"role": {"const": "assistant"}, "content": _CONTENT},
    {"reasoning_content": WORD, "tool_calls": schema.calls({"type": "object"}), **schema.FLAGS},
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
            *(
                schema.exactly({"role": {"const": role}, "content": _CONTENT}, schema.TRAINABLE)
                for role in ("system", "user")
            ),
            _ASSISTANT,
            schema.message("tool", schema.TRAINABLE, tool_call_id=WORD, name=WORD),
        )
    },
    {"tools": schema.tools(_FUNCTION), "images": {"type": "array", "items": {"type": "string", "pattern": _FILE}}},
)
COLUMNS = (Column("messages", "messages"), Column("tools", "messages"), Column("images", "images"))


def shape(conversation: Conversation, choices: Choices = NO_CHOICES) -> ShapeResult:
    """Return the turns unchanged, with tools if there are any."""
    return shape_record(conversation, objects, _with_images if choices.media == "keep" else _record, choices)


def _record(plain: PlainConversation) -> dict[str, Any]:
    plain.notes.users_after_results = count_users_after_results(plain.turns)
    return {"messages": plain.turns, "tools": plain.tools} if plain.tools else {"messages": plain.turns}


def _with_images(plain: PlainConversation) -> dict[str, Any]:
    """Return the record with the names of its images."""
    # TRL inserts all images before the first content that is a string, so all user content becomes lists.
    pictures = [
        part
        for turn in plain.turns
        if isinstance(turn["content"], list)
        for part in turn["content"]
        if isinstance(part, media.Picture)
    ]
    if pictures:
        plain = plain._replace(turns=list(map(_as_parts, plain.turns)))
    return {**_record(plain), "images": list(map(media.name, pictures))}


def _as_parts(turn: dict[str, Any]) -> dict[str, Any]:
    if turn["role"] != "user" or isinstance(turn["content"], list):
        return turn
    return {**turn, "content": media.parts_of(turn["content"])}
