"""clippy-code's saved conversations: OpenAI messages in ``conversation_history``, or Anthropic turns in old files."""

from __future__ import annotations

from msgspec.structs import replace

from chatsquash import formats
from chatsquash.core.blocks import Block, Result, Turn
from chatsquash.core.model import Conversation, Json
from chatsquash.formats import bodies
from chatsquash.formats.base import TurnError, load_objects
from chatsquash.formats.calls import native
from chatsquash.formats.evidence import Evidence, at_line, conversation, line_numbers, moment
from chatsquash.formats.providers import anthropic
from chatsquash.formats.providers.openai_chat.read import turns_of
from chatsquash.formats.providers.openai_chat.write import messages
from chatsquash.formats.values import Object, kind, string
from chatsquash.formats.writing import KEY, parse_outcome

NAME = PROVIDER = "clippy"
HAS_TOOLS = False
MEMBERS = ("conversation_history",)

_HISTORY = "conversation_history"
_MEMBERS = {"model", "base_url", _HISTORY, "timestamp", "conversation_start_time", "system", "tools"}
_OWN = ("base_url", "conversation_start_time")
_OTHERS = ("chat_id", "format", "branches")
"""The members of Oumi's files, which also have a ``conversation_history``."""


# Reading


def fits(objects: list[Json]) -> str | None:
    """Check whether all objects have a history, and only clippy's members or a member that only clippy has."""
    return "conversation_history with the members of clippy" if objects and all(map(_is_clippy_file, objects)) else None


def _is_clippy_file(document: Json) -> bool:
    if not isinstance(document, dict) or any(member in document for member in _OTHERS):
        return False
    has_own_members = document.keys() <= _MEMBERS or any(member in document for member in _OWN)
    history = document.get(_HISTORY)
    return (
        has_own_members
        and isinstance(history, list)
        and all(isinstance(each, dict) and "role" in each for each in history)
    )


def conversations(objects: list[Json], lines: list[int] | None = None) -> list[Conversation]:
    """Load a conversation from each object; may raise ``TurnError``."""
    return list(map(at_line, load_objects(objects, _load), line_numbers(objects, lines)))


def _load(document: Json) -> Conversation:
    if not isinstance(document, dict):
        raise TurnError(f"expected an object, not {kind(document)}")
    history = document.get(_HISTORY)
    if not isinstance(history, list):
        seen = f"is {kind(history)}, expected a list" if _HISTORY in document else "is missing"
        raise TurnError(f"{_HISTORY} {seen}")
    # Old versions of clippy used Anthropic's messages, which are detected from their blocks.
    is_older = any(mark.test({"messages": history}) for mark in anthropic.marks.request)
    form = formats.get_format(anthropic.NAME if is_older else formats.PLAIN)
    try:
        body = bodies.load(form, {**document, form.TURNS: history})
    except TurnError as problem:
        raise TurnError(f"{_HISTORY}: {problem}") from None
    turns = turns_of(body)
    if not is_older:
        turns = tuple(map(_with_outcomes, turns))
    started_at, saved_at = moment(document.get("conversation_start_time")), moment(document.get("timestamp"))
    evidence = Evidence(time=saved_at or started_at, is_sampled=True, model=string(document, "model") or None)
    origin_members: Object = {"started_at": started_at.at} if started_at else {}
    own = native(PROVIDER, document, _HISTORY, "tools", *form.SYSTEM)
    return replace(conversation(((turn, evidence) for turn in turns), own, **origin_members), tools=body.tools)


def _with_outcomes(turn: Turn) -> Turn:
    """Set the outcome of results based on the prefix of their text, which marks failures in clippy's files."""
    return replace(turn, blocks=tuple(map(_outcome, turn.blocks))) if turn.role == "tool" else turn


def _outcome(block: Block) -> Block:
    if type(block) is not Result:
        return block
    content, outcome = parse_outcome(block.content, is_marked=True)
    return replace(block, content=content, outcome=outcome) if outcome == "failed" else block


# Writing


def dump(conversation: Conversation) -> Json:
    """Write a file with the history, and with the model, its URL and the times if they came from clippy.

    The text of failed results starts with the prefix that clippy uses.
    """
    history = [_without_mark(message) for message in messages(turns_of(conversation))]
    return {_HISTORY: history, **conversation.native.get(PROVIDER, {})}


def _without_mark(message: Object) -> Object:
    return {key: value for key, value in message.items() if key != KEY} if message["role"] == "tool" else message


LOSES = "video, result image, result file, approval, hosted call, unanswered hosted call"
BLURS = """
instructions, text after call, file id of Anthropic, result json obj, result json list, denied result, reasoning of
two blocks, reasoning between, anthropic signature, anthropic redacted, openai encrypted, native members
"""
