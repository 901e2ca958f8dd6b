"""Pydantic AI's ModelMessage JSON: requests and responses made of parts, instructions beside them."""

from __future__ import annotations

from collections.abc import Sequence

from chatsquash.core.model import Conversation, Json
from chatsquash.formats.clients.pydantic_ai.read import PartTurn, read
from chatsquash.formats.clients.pydantic_ai.write import dump
from chatsquash.formats.evidence import Evidence, conversation, histories, moment, numbers
from chatsquash.formats.values import Object, at, count, objects, string

NAME = "pydantic_ai"
HOLDS_TOOLS = False
MEMBERS = ("kind", "messages", "message_history")

_USED = (("input_tokens", "request_tokens"), ("output_tokens", "response_tokens"))
"""The members of usage, and what they were called before version 1."""

LOSES = "developer role, developer mid, approval, refusal, custom tool call"
BLURS = "result parts"

__all__ = ["HOLDS_TOOLS", "NAME", "conversations", "dump", "fits"]


def fits(objects: list[Json]) -> str | None:
    """A message with ``kind`` and parts with ``part_kind``."""
    matches = any(
        _is_message(turn) for each in histories(objects, numbers(objects, None), *MEMBERS) for turn in each.turns
    )
    return "messages with kind and part_kind" if matches else None


def conversations(objects: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """One per list of messages; messages that are lines of their own are one together."""
    return [_conversation(each.turns, each.lines) for each in histories(objects, numbers(objects, lines), *MEMBERS)]


def _conversation(messages: list[Json], lines: Sequence[int]) -> Conversation:
    turns = read(messages)
    said = ((each.turn, _evidence(messages[each.message], each, lines)) for each in turns)
    named = (name for message in messages if (name := string(message, "conversation_id")))
    return conversation(said, {}, session_id=next(named, None))


def _evidence(message: Object, turn: PartTurn, lines: Sequence[int]) -> Evidence:
    """What a message says of itself: a response of its model and its tokens, parts of a request when they came."""
    line = lines[turn.message]
    if message["kind"] != "response":
        return Evidence(line, moment(turn.part.get("timestamp") or message.get("timestamp")))
    used = message.get("usage")
    asked, said = (count(at(used, new) if at(used, new) is not None else at(used, old)) for new, old in _USED)
    names = ("model_name", "finish_reason", "provider_response_id")
    model, ended, answer = (string(message, name) or None for name in names)
    return Evidence(line, moment(message.get("timestamp")), True, model, asked, said, ended, answer)


def _is_message(turn: Json) -> bool:
    """Whether this is a request or a response; one without parts tells too little."""
    if not isinstance(turn, dict) or turn.get("kind") not in ("request", "response"):
        return False
    return any(isinstance(part.get("part_kind"), str) for part in objects(turn.get("parts")))
