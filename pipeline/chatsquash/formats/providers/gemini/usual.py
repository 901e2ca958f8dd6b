"""Convert turns of the most frequent structures directly to messages.

The messages are the same as those of ``load``, which loads any turn.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from chatsquash.core.blocks import Call, Result, Text
from chatsquash.core.chat import PRIVATE
from chatsquash.core.model import Json, Message
from chatsquash.formats import view
from chatsquash.formats.base import TurnError
from chatsquash.formats.calls import State, arguments, have_ids
from chatsquash.formats.providers.gemini.read import START, load, match_calls
from chatsquash.formats.values import Object


class ReplyParts(NamedTuple):
    """The parts of a usual reply, in the order of ``view.reply``."""

    text: str | None
    calls: list[Call]
    thoughts: list[str]


def plain(turn: Json) -> list[Message] | None:
    """Convert a turn to messages if all of its calls and results have ids; return ``None`` for any other value."""
    if known := usual(turn, START):
        messages: list[Any] = known[0]
        # Messages with generated ids contain their turn.
        return known[0] if have_ids([each[PRIVATE] for each in messages if PRIVATE in each]) else None
    try:
        turns = load(turn, START).turns
    except TurnError:
        return None
    return view.messages(turns) if have_ids(turns) else None


def usual(turn: Json, state: State) -> tuple[list[Message], State] | None:
    """Convert a turn with one text, with results, or with the model's thoughts, text and calls, in this order."""
    if type(turn) is not dict or len(turn) != 2:
        return None
    role, parts = turn.get("role"), turn.get("parts")
    if type(parts) is not list or not parts:
        return None
    if role == "model":
        reply = reply_parts(parts, state.call)
        return reply and ([view.reply(*reply)], state.after_calls(reply.calls, by_assistant=True))
    return _user_turn(parts, state) if role == "user" else None


def _user_turn(parts: list[Json], state: State) -> tuple[list[Message], State] | None:
    text = _text(parts[0])
    if text and len(parts) == 1:
        return [{"role": "user", "content": text}], state.evolve(by_assistant=False) if state.by_assistant else state
    results = list(map(_result, parts))
    links = [(result.id, result.name) for result in results if result]
    if len(links) < len(results):
        return None
    ids, state = match_calls(links, state)
    return [view.result(each) for each in map(_with_id, results, ids) if each], state


def reply_parts(parts: list[Json], number: int) -> ReplyParts | None:
    """Load the parts of the model if they are thoughts, at most one text, and calls, with only the usual members.

    Args:
        parts: the parts as logged
        number: the number of the first call without an id
    """
    text: str | None = None
    calls: list[Call] = []
    thoughts: list[str] = []
    for part in parts:
        if type(part) is not dict:
            return None
        value = part.get("functionCall")
        if type(value) is dict and len(part) == 1:
            call = _call(value, number)
            if call is None:
                return None
            number += call.made_up
            calls.append(call)
        elif text is not None or calls:
            return None
        elif part.get("thought") is True:
            thought = part.get("text")
            if len(part) != 2 or not thought or type(thought) is not str:
                return None
            thoughts.append(thought)
        elif not (text := _text(part)):
            return None
    return ReplyParts(text, calls, thoughts)


def _text(part: Json) -> str | None:
    """Return the text of a part without other members."""
    text = part.get("text") if type(part) is dict and len(part) == 1 else None
    return text if type(text) is str else None


def _call(value: Object, number: int) -> Call | None:
    own, name, args = value.get("id", ""), value.get("name"), value.get("args")
    if len(value) != 2 + (own != "") or type(own) is not str or type(name) is not str or not name or args is None:
        return None
    return Call(own or f"call_{number}", name, arguments(args), made_up=not own)


def _result(part: Json) -> Result | None:
    """Load a result that has only a name and a text, and maybe an id; the id may be empty."""
    value = part.get("functionResponse") if type(part) is dict and len(part) == 1 else None
    if type(value) is not dict:
        return None
    own, name, response = value.get("id", ""), value.get("name"), value.get("response")
    if len(value) != 2 + (own != "") or type(own) is not str or type(name) is not str or not name:
        return None
    text = response.get("output") if type(response) is dict and len(response) == 1 else None
    return Result(own, name, (Text(text),), made_up=not own) if text and type(text) is str else None


def _with_id(result: Result | None, call_id: str) -> Result | None:
    if result is None or result.id == call_id:
        return result
    return Result(call_id, result.name, result.content, made_up=result.made_up)
