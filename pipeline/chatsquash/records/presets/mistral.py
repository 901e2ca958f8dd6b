"""For Mistral's API and mistral-finetune: ids of nine characters, text or calls but not both, no unknown members."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial, reduce
from itertools import groupby
from typing import Any

from chatsquash.checks import shapes
from chatsquash.core.model import Conversation
from chatsquash.records import schema, wire
from chatsquash.records.arguments import PATTERN, short_ids, texts
from chatsquash.records.notes import CannotHoldError, Notes
from chatsquash.records.presets import NO_CHOICES, Choices, Column, ShapeResult
from chatsquash.records.schema import TEXT, WORD
from chatsquash.records.shaping import PlainConversation, shape_record
from chatsquash.records.turns import Turn

NAME = "mistral"
TRAINERS = {"Mistral": ("weight",), "mistral-finetune": ("weight",)}
_ID = {"type": "string", "pattern": PATTERN}
_ASSISTANT = {"role": {"const": "assistant"}}
SCHEMA: dict[str, Any] = schema.record(
    {
        "messages": schema.messages(
            schema.message("system"),
            schema.message("user"),
            schema.exactly({**_ASSISTANT, "content": WORD}, schema.WEIGHT),
            schema.exactly(
                {**_ASSISTANT, "content": {"const": ""}, "tool_calls": schema.calls(TEXT, ident=_ID, name=wire.NAME)},
                schema.WEIGHT,
            ),
            schema.message("tool", tool_call_id=_ID, name=wire.NAME),
        )
    },
    {"tools": wire.TOOLS},
)
COLUMNS = (Column("messages", "messages"), Column("tools", "messages"))


def shape(conversation: Conversation, choices: Choices = NO_CHOICES) -> ShapeResult:
    """Return turns with short ids; consecutive assistant turns are joined, and text next to calls is dropped."""
    return shape_record(conversation, texts, _record, choices)


def _record(plain: PlainConversation) -> dict[str, Any]:
    turns = list(_joined_turns(wire.messages(plain.turns, plain.notes), plain.notes))
    first = next(turn for turn in turns if turn["role"] != "system")
    if first["role"] != "user":
        raise CannotHoldError(shapes.unsupported_shape("the first message is not from the user", None))
    if any(turn["role"] == "assistant" and not (turn["content"] or turn.get("tool_calls")) for turn in turns):
        raise CannotHoldError(shapes.unsupported_shape("an assistant message is empty", None))
    short = short_ids(call["id"] for turn in turns for call in turn.get("tool_calls", ()))
    return wire.record([_with_ids(turn, short) for turn in turns], plain.tools, plain.notes)


def _joined_turns(turns: Iterator[Turn], notes: Notes) -> Iterator[Turn]:
    """Join consecutive assistant turns, and drop their text if there are calls."""
    for by_assistant, run in groupby(turns, key=lambda turn: turn["role"] == "assistant"):
        if by_assistant:
            yield _text_or_calls(reduce(partial(_join_two, notes), run), notes)
        else:
            yield from run


def _join_two(notes: Notes, last: Turn, turn: Turn) -> Turn:
    notes.changed["consecutive assistant messages merged"] += 1
    return {**last, **turn, "content": "\n\n".join(filter(None, (last["content"], turn["content"])))}


def _text_or_calls(turn: Turn, notes: Notes) -> Turn:
    if "tool_calls" not in turn or not turn["content"]:
        return turn
    notes.dropped["text next to calls"] += 1
    return {**turn, "content": ""}


def _with_ids(turn: Turn, short: dict[str, str]) -> Turn:
    if "tool_calls" in turn:
        return {**turn, "tool_calls": [{**call, "id": short[call["id"]]} for call in turn["tool_calls"]]}
    return {**turn, "tool_call_id": short[turn["tool_call_id"]]} if turn["role"] == "tool" else turn
