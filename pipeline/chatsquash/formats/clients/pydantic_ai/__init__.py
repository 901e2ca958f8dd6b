"""Pydantic AI's ModelMessage JSON: requests and responses made of parts, instructions beside them."""

from __future__ import annotations

from chatsquash.formats.clients.pydantic_ai.read import read
from chatsquash.formats.clients.pydantic_ai.remainder import KEY, restored
from chatsquash.formats.clients.pydantic_ai.write import dump
from chatsquash.formats.values import at, objects
from chatsquash.model import Conversation, Json, Message

NAME = "pydantic_ai"
HOLDS_TOOLS = False

_MEMBERS = ("messages", "message_history")
"""What clients call the list where they keep it in an object."""

__all__ = ["HOLDS_TOOLS", "NAME", "conversations", "dump", "fits"]


def fits(objects: list[Json]) -> str | None:
    """A message with ``kind`` and parts with ``part_kind``."""
    told = any(_is_message(turn) for turns in _histories(objects) for turn in turns)
    return "messages with kind and part_kind" if told else None


def conversations(objects: list[Json]) -> list[Conversation]:
    """One per list of messages; messages that are lines of their own are one together."""
    return [Conversation(_messages(turns), []) for turns in _histories(objects)]


def _messages(turns: list[Json]) -> list[Message]:
    found = []
    for message, turn, part in read(turns):
        rest = at(turns[turn], "metadata", KEY)
        found.append(restored(message, at(rest, part) if part else rest))
    return found


def _histories(values: list[Json]) -> list[list[Json]]:
    """The lists of messages in a file."""
    single = [value for value in values if isinstance(value, dict) and "kind" in value]
    if single:
        return [values]
    return [found for value in values if (found := _history(value)) is not None]


def _history(value: Json) -> list[Json] | None:
    if isinstance(value, list):
        return value
    lists = [at(value, member) for member in _MEMBERS]
    return next((found for found in lists if isinstance(found, list)), None)


def _is_message(turn: Json) -> bool:
    """Whether this is a request or a response; one without parts tells too little."""
    if not isinstance(turn, dict) or turn.get("kind") not in ("request", "response"):
        return False
    return any(isinstance(part.get("part_kind"), str) for part in objects(turn.get("parts")))
