"""Vercel's UIMessage arrays, as the AI SDK 5 to 7 keeps conversations: a call and its result are one part."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from chatsquash.formats.clients.pydantic_ai.remainder import restored
from chatsquash.formats.clients.vercel_ai.read import read
from chatsquash.formats.clients.vercel_ai.write import dump
from chatsquash.formats.evidence import Evidence, Told, moment, numbers, origin
from chatsquash.formats.values import Object, at, objects, string
from chatsquash.model import Conversation, Json, Message

NAME = "vercel_ai"
HOLDS_TOOLS = False
MEMBERS = ("parts", "messages")

__all__ = ["HOLDS_TOOLS", "NAME", "conversations", "dump", "fits"]


def fits(found: list[Json]) -> str | None:
    """A message with a role and typed parts."""
    turns = [turn for chat in _chats(found, numbers(found, None)) for turn in chat.turns]
    named = (turn for turn in objects(turns) if turn.get("role") in ("system", "user", "assistant"))
    told = any(_tells(part) for turn in named for part in objects(turn.get("parts")))
    return "messages with typed parts such as text and tool-*" if told else None


class _Chat(NamedTuple):
    """A list of messages, the line of each, and the request that it stands in."""

    turns: list[Json]
    lines: Sequence[int]
    request: Json = None


def conversations(objects: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """One per list of messages; messages that are lines of their own are one together."""
    return [_conversation(chat) for chat in _chats(objects, numbers(objects, lines))]


def _conversation(chat: _Chat) -> Conversation:
    found = Told([], [])
    for told in read(chat.turns):
        found.messages.append(restored(told.message, told.rest))
        found.evidence.append(_evidence(chat.turns[told.turn], told.message, chat.lines[told.turn]))
    return Conversation(found.messages, [], origin=origin(found, session_id=string(chat.request, "id") or None))


def _evidence(turn: Object, message: Message, line: int) -> Evidence:
    """What a message says of itself: the SDK leaves its metadata to the client, and shows these names."""
    metadata = turn.get("metadata")
    time = moment(turn.get("createdAt") or at(metadata, "createdAt"))
    if message["role"] != "assistant":
        return Evidence(line, time)
    return Evidence(line, time, is_sampled=True, model=string(metadata, "model") or None)


def _chats(values: list[Json], lines: Sequence[int]) -> list[_Chat]:
    """The lists of messages in a file, which may stand in requests that have more."""
    if any(isinstance(value, dict) and "parts" in value for value in values):
        return [_Chat(values, lines)]
    both = zip(values, lines, strict=True)
    lists = [(value if isinstance(value, list) else at(value, "messages"), line, value) for value, line in both]
    return [_Chat(found, [line] * len(found), value) for found, line, value in lists if isinstance(found, list)]


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
