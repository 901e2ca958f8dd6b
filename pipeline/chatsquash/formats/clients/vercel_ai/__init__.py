"""Vercel's UIMessage arrays, as the AI SDK 5 to 7 keeps conversations: a call and its result are one part."""

from __future__ import annotations

from chatsquash.formats.clients.pydantic_ai.remainder import restored
from chatsquash.formats.clients.vercel_ai.read import read
from chatsquash.formats.clients.vercel_ai.write import dump
from chatsquash.formats.evidence import Evidence, History, Told, histories, moment, numbers, origin
from chatsquash.formats.values import Object, at, objects, string
from chatsquash.model import Conversation, Json, Message

NAME = "vercel_ai"
HOLDS_TOOLS = False
MEMBERS = ("parts", "messages")
"""What messages have, and the member of requests with more that holds them."""

__all__ = ["HOLDS_TOOLS", "NAME", "conversations", "dump", "fits"]


def fits(found: list[Json]) -> str | None:
    """A message with a role and typed parts."""
    turns = [turn for chat in histories(found, numbers(found, None), *MEMBERS) for turn in chat.turns]
    named = (turn for turn in objects(turns) if turn.get("role") in ("system", "user", "assistant"))
    told = any(_tells(part) for turn in named for part in objects(turn.get("parts")))
    return "messages with typed parts such as text and tool-*" if told else None


def conversations(objects: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """One per list of messages; messages that are lines of their own are one together."""
    return [_conversation(chat) for chat in histories(objects, numbers(objects, lines), *MEMBERS)]


def _conversation(chat: History) -> Conversation:
    found = Told([], [])
    for told in read(chat.turns):
        found.messages.append(restored(told.message, told.rest))
        found.evidence.append(_evidence(chat.turns[told.turn], told.message, chat.lines[told.turn]))
    return Conversation(found.messages, [], origin=origin(found, session_id=string(chat.holder, "id") or None))


def _evidence(turn: Object, message: Message, line: int) -> Evidence:
    """What a message says of itself: the SDK leaves its metadata to the client, and shows these names."""
    metadata = turn.get("metadata")
    time = moment(turn.get("createdAt") or at(metadata, "createdAt"))
    if message["role"] != "assistant":
        return Evidence(line, time)
    return Evidence(line, time, is_sampled=True, model=string(metadata, "model") or None)


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
