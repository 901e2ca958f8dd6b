"""Vercel's UIMessage arrays, as the AI SDK 5 to 7 keeps conversations: a call and its result are one part."""

from __future__ import annotations

from chatsquash.formats.clients.pydantic_ai.remainder import restored
from chatsquash.formats.clients.vercel_ai.read import read
from chatsquash.formats.clients.vercel_ai.write import dump
from chatsquash.formats.values import Object, at, objects
from chatsquash.model import Conversation, Json

NAME = "vercel_ai"
HOLDS_TOOLS = False

__all__ = ["HOLDS_TOOLS", "NAME", "conversations", "dump", "fits"]


def fits(objects: list[Json]) -> str | None:
    """A message with a role and typed parts."""
    told = any(_is_message(turn) for turns in _chats(objects) for turn in turns)
    return "messages with typed parts such as text and tool-*" if told else None


def conversations(objects: list[Json]) -> list[Conversation]:
    """One per list of messages; messages that are lines of their own are one together."""
    return [Conversation([restored(told.message, told.rest) for told in read(turns)], []) for turns in _chats(objects)]


def _chats(values: list[Json]) -> list[list[Json]]:
    """The lists of messages in a file, which may stand in requests that have more."""
    if any(isinstance(value, dict) and "parts" in value for value in values):
        return [values]
    lists = [value if isinstance(value, list) else at(value, "messages") for value in values]
    return [found for found in lists if isinstance(found, list)]


def _is_message(turn: Json) -> bool:
    named = isinstance(turn, dict) and turn.get("role") in ("system", "user", "assistant")
    return named and any(map(_tells, objects(turn.get("parts"))))


def _tells(part: Object) -> bool:
    """Whether no other format has such a part."""
    match part:
        case {"type": "text" | "reasoning", "text": str()} | {"type": "step-start"}:
            return True
        case {"type": "file", "mediaType": str(), "url": str()} | {"type": "dynamic-tool", "toolCallId": str()}:
            return True
        case {"type": str(of)}:
            return (of.startswith("tool-") and "toolCallId" in part) or (of.startswith("data-") and "data" in part)
    return False
