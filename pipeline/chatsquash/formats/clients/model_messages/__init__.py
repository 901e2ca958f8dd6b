"""ModelMessage arrays, which the AI SDK sends and its servers keep: calls and results are parts of content."""

from __future__ import annotations

from chatsquash.formats.clients.model_messages.read import ROLES, read
from chatsquash.formats.clients.model_messages.write import dump
from chatsquash.formats.evidence import Evidence, History, histories, numbers, of_turns, origin
from chatsquash.formats.values import Object, objects
from chatsquash.model import Conversation, Json

NAME = "model_messages"
HOLDS_TOOLS = False
MEMBERS = ("content", "messages")
"""What messages have, and the member of objects with more that holds them."""

LOSES = "developer role, developer mid, refusal, custom tool call, source"
"""The kinds of content of which something is lost when they are written, as ``docs/formats.md`` names them."""
BLURS = "instructions, hosted call, hosted call alone, native members"
"""Those of which only places, bounds and marks are."""

__all__ = ["HOLDS_TOOLS", "NAME", "conversations", "dump", "fits"]


def fits(found: list[Json]) -> str | None:
    """A message with a part that calls a tool, answers, thinks, or is a file, as the AI SDK spells these."""
    for chat in histories(found, numbers(found, None), "role", "messages"):
        for turn in objects(chat.turns):
            content, role = turn.get("content"), turn.get("role")
            if type(content) is list and role in ROLES and any(_tells(part, role) for part in objects(content)):
                return "messages with parts such as tool-call and tool-result"
    return None


def conversations(objects: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """One per list of messages; messages that are lines of their own are one together."""
    return [_conversation(chat) for chat in histories(objects, numbers(objects, lines), "role", "messages")]


def _conversation(chat: History) -> Conversation:
    turns = read(chat.turns)
    evidence = (Evidence(chat.lines[number], is_sampled=turn.role == "assistant") for turn, number in turns)
    told = of_turns(zip((turn for turn, _ in turns), evidence, strict=True))
    return Conversation(told.messages, [], origin=origin(told), told=tuple(turn for turn, _ in turns))


def _tells(part: Object, role: str) -> bool:
    """Whether no other format has such a part."""
    match part:
        case {"type": "tool-call" | "tool-result", "toolCallId": str(), "toolName": str()}:
            return True
        case {"type": "tool-approval-request" | "tool-approval-response", "approvalId": str()}:
            return True
        case {"type": "file", "mediaType": str(), "data": _} | {"type": "image", "mediaType": str(), "image": _}:
            return True
        case {"type": "reasoning", "text": str()}:
            return role == "assistant"
    return False
