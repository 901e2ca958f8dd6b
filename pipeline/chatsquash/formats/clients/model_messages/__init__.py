"""ModelMessage arrays, which the AI SDK sends and its servers keep: calls and results are parts of content."""

from __future__ import annotations

from itertools import chain

from chatsquash.core.model import Conversation, Json
from chatsquash.formats.clients.model_messages.read import ROLES, read
from chatsquash.formats.clients.model_messages.write import dump
from chatsquash.formats.evidence import Evidence, History, conversation, histories, numbers
from chatsquash.formats.values import Object, at, objects

NAME = "model_messages"
HOLDS_TOOLS = False
MEMBERS = ("role", "messages")

LOSES = "developer role, developer mid, refusal, custom tool call, source"
BLURS = """
instructions, file id of OpenAI, file id of Anthropic, hosted call, hosted call alone, native members
"""

__all__ = ["HOLDS_TOOLS", "NAME", "conversations", "dump", "fits"]


def fits(documents: list[Json]) -> str | None:
    """A message with a part that calls a tool, answers, thinks, or is a file, as the AI SDK spells these."""
    is_one = any(isinstance(value, dict) and "role" in value for value in documents)
    lists = (
        [documents] if is_one else (value if isinstance(value, list) else at(value, "messages") for value in documents)
    )
    for turn in chain.from_iterable(map(objects, lists)):
        content, role = turn.get("content"), turn.get("role")
        if type(content) is list and role in ROLES and any(_tells(part, role) for part in objects(content)):
            return "messages with parts such as tool-call and tool-result"
    return None


def conversations(objects: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """One per list of messages; messages that are lines of their own are one together."""
    return [_conversation(chat) for chat in histories(objects, numbers(objects, lines), "role", "messages")]


def _conversation(chat: History) -> Conversation:
    turns = read(chat.turns)
    said = ((turn, Evidence(chat.lines[place], is_sampled=turn.role == "assistant")) for turn, place in turns)
    return conversation(said, {})


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
