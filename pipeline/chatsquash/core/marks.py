"""Update the marks of assistant messages while stages drop, join and split the messages."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from msgspec.structs import replace

from chatsquash.core.model import Conversation, Json, Mark, Message

FLAGS = {"weight": (0, 1), "training": (False, True), "loss": (False, True), "trainable": (False, True)}
"""The values of each flag: for messages that are not trained on, and for those that are."""
_ON_ALL_MESSAGES = frozenset({"trainable"})
"""Flags that their trainer requires in every message, whatever its role."""
_ASSISTANT_SENDERS = ("gpt", "function_call")
"""The values of ``from`` in assistant messages, for records with ``conversations``."""


def without(conversation: Conversation, indices: list[int]) -> list[Mark] | None:
    """Return the remaining marks after the messages at ``indices`` were dropped."""
    marks = conversation.marks
    if not marks or not indices:
        return marks
    dropped = set(indices)
    return [mark for at, mark in zip(_places(conversation.messages), marks, strict=True) if at not in dropped]


def join_marks(conversation: Conversation, indices: list[int]) -> list[Mark] | None:
    """Return the marks after the messages at ``indices`` were joined with the preceding message."""
    marks = conversation.marks
    if not marks or not indices:
        return marks
    continued = set(indices)
    result: list[Mark] = []
    for at, mark in zip(_places(conversation.messages), marks, strict=True):
        if at in continued:
            result[-1] = _combine((result[-1], mark))
        else:
            result.append(mark)
    return result


def split_marks(conversation: Conversation, parts: list[int]) -> list[Mark] | None:
    """Return the marks after each assistant message was split into the given number of ``parts``."""
    marks = conversation.marks
    if marks is None:
        return None
    return [mark for mark, count in zip(marks, parts, strict=True) for _ in range(count)]


# Presets write each assistant turn as a separate message, or consecutive turns as one message.
def record_marks(marks: list[Mark], turns: Iterable[dict[str, Any]], record: dict[str, Any]) -> list[Mark]:
    """Return the marks of a record, which may end before its conversation does."""
    if "messages" in record:
        places = [*_places(record["messages"])]
    else:
        places = [at for at, turn in enumerate(record["conversations"]) if turn["from"] in _ASSISTANT_SENDERS]
    runs = [(role, len([*run])) for role, run in groupby(turn["role"] for turn in turns)]
    counts = [count for role, count in runs if role == "assistant"]
    if sum(counts) == len(places):
        counts = [1] * len(places)
    remaining = iter(marks)
    joined_marks = [_combine([next(remaining) for _ in range(count)]) for count in counts]
    return [mark._replace(place=at) for mark, at in zip(joined_marks, places, strict=True)]


def with_places(conversation: Conversation) -> list[Mark]:
    """Return the marks with the indices of their messages."""
    places = _places(conversation.messages)
    marks = zip(places, conversation.marks or (), strict=True)
    return [Mark(mark.at, mark.why, at, mark.model, mark.weight) for at, mark in marks]  # faster than ``_replace``


def by_ordinal(marks: Iterable[Mark]) -> dict[int, Mark]:
    """Return the first mark for each logged message in a record."""
    first: dict[int, Mark] = {}
    for mark in marks:
        for at in mark.at:
            first.setdefault(at, mark)
    return first


def add_flags(conversation: Conversation, flag: str, placed_marks: Iterable[Mark]) -> Conversation:
    """Return the conversation with a flag in each message that has it; ``placed_marks`` are from ``with_places``."""
    messages = _unmarked(conversation.messages, flag) if flag in _ON_ALL_MESSAGES else conversation.messages.copy()
    for mark in placed_marks:
        messages[mark.place] = _with(messages[mark.place], flag, mark)
    return replace(conversation, messages=messages, encoded_messages=None)


def flag_record(record: dict[str, Any], marks: list[Mark], flag: str, *, everywhere: bool) -> dict[str, Any]:
    """Return a preset's record with a flag in each assistant message.

    With ``everywhere``, all other messages get the flag for not training, so that all messages have the same members.
    """
    name = "messages" if "messages" in record else "conversations"
    messages = _unmarked(record[name], flag) if everywhere or flag in _ON_ALL_MESSAGES else [*record[name]]
    for mark in marks:
        messages[mark.place] = _with(messages[mark.place], flag, mark)
    return {**record, name: messages}


def is_of_assistant(message: Any) -> bool:
    """Return whether a message or turn of a record was written by the assistant."""
    return message.get("role") == "assistant" or message.get("from") in _ASSISTANT_SENDERS


def _unmarked(messages: Iterable[Any], flag: str) -> list[Any]:
    """Return messages with the flag for not training."""
    return [{**message, flag: FLAGS[flag][0]} for message in messages]


def _with(message: Any, flag: str, mark: Mark) -> Any:
    is_part = flag == "weight" and not mark.why and 0 < mark.weight < 1
    return {**message, flag: mark.weight if is_part else FLAGS[flag][not mark.why]}


def is_trained(message: Any, flag: str) -> bool:
    """Return whether a message has a flag with which it is trained on, with any weight."""
    value = message.get(flag)
    return value is not None and value != FLAGS[flag][False]


def _combine(marks: Iterable[Mark]) -> Mark:
    """Return the mark of a joined message, which is trained on only if all of its parts are."""
    parts = [*marks]
    why = next((mark.why for mark in parts if mark.why), "")
    model = next((mark.model for mark in parts if mark.model), "")
    weight = min(mark.weight for mark in parts)
    return Mark(tuple(at for mark in parts for at in mark.at), why, model=model, weight=weight)


def _places(messages: Iterable[Message | Json]) -> Iterator[int]:
    """Return the indices of the assistant messages."""
    return (at for at, message in enumerate(messages) if message["role"] == "assistant")
