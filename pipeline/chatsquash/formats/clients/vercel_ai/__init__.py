"""Vercel's UIMessage arrays, as the AI SDK 4 to 7 keeps conversations: a call and its result are one part."""

from __future__ import annotations

from chatsquash.core.blocks import Turn
from chatsquash.core.model import Conversation, Json
from chatsquash.formats.clients.vercel_ai import version4
from chatsquash.formats.clients.vercel_ai.metadata import PROVIDER
from chatsquash.formats.clients.vercel_ai.read import ROLES, read
from chatsquash.formats.clients.vercel_ai.write import dump
from chatsquash.formats.evidence import Evidence, History, conversation, histories, moment, numbers
from chatsquash.formats.values import Object, at, members, objects, string, without

NAME = "vercel_ai"
HOLDS_TOOLS = False
MEMBERS = ("parts", "messages", *version4.MEMBERS)
_MARKS = frozenset(("parts", *version4.MEMBERS))

LOSES = "developer role, developer mid, results reordered, orphan result, refusal, custom tool call"
BLURS = "instructions, result parts, native members"

__all__ = ["HOLDS_TOOLS", "NAME", "conversations", "dump", "fits"]


def fits(documents: list[Json]) -> str | None:
    """A message with a role and typed parts, or with the calls of version 4."""
    is_of_4 = False
    for chat in histories(documents, numbers(documents, None), "role", "messages"):
        if isinstance(at(chat.holder, "meta", "uuid"), str):
            continue  # a session as Crush prints it, whose parts are called alike
        for turn in objects(chat.turns):
            if _MARKS.isdisjoint(turn) or turn.get("role") not in ROLES:
                continue
            if any(map(_tells, objects(turn.get("parts")))):
                return "messages with typed parts such as text and tool-*"
            is_of_4 = is_of_4 or version4.tells(turn)
    return "messages with toolInvocations or experimental_attachments" if is_of_4 else None


def conversations(objects: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """One per list of messages; messages that are lines of their own are one together."""
    return [_conversation(chat) for chat in histories(objects, numbers(objects, lines), "role", "messages")]


def _conversation(chat: History) -> Conversation:
    turns = ((turn, _evidence(chat.turns[place], turn, chat.lines[place])) for turn, place in read(chat.turns))
    holder = without(members(chat.holder), "messages")
    native = {PROVIDER: holder} if holder else {}
    return conversation(turns, native, session_id=string(chat.holder, "id") or None)


def _evidence(message: Object, turn: Turn, line: int) -> Evidence:
    """What a message says of itself: the SDK leaves its metadata to the client, and shows these names."""
    metadata = message.get("metadata")
    time = moment(message.get("createdAt") or at(metadata, "createdAt"))
    if turn.role != "assistant":
        return Evidence(line, time)
    return Evidence(line, time, is_sampled=True, model=string(metadata, "model") or None)


def _tells(part: Object) -> bool:
    """Whether no other format has such a part."""
    match part:
        case {"type": "text" | "reasoning", "text": str()} | {"type": "step-start"}:
            return True
        case {"type": "file", "mediaType": str(), "url": str()} | {"type": "dynamic-tool", "toolCallId": str()}:
            return True
        case {"type": "tool-invocation", "toolInvocation": {"toolName": str()}}:
            return True
        case {"type": str(of)}:
            return (of.startswith("tool-") and "toolCallId" in part) or (of.startswith("data-") and "data" in part)
    return False
