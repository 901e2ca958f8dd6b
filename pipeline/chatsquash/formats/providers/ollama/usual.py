"""Convert messages of the most frequent structures directly to OpenAI chat messages.

The messages are the same as those of ``load``, which loads any message.
"""

from __future__ import annotations

from typing import Any

from chatsquash.core.blocks import Call, Result, Text
from chatsquash.core.model import Json, Message
from chatsquash.formats import view
from chatsquash.formats.calls import State, arguments
from chatsquash.formats.values import Object

_PLAIN = ("user", "system", "developer")


def usual(turn: Json, state: State) -> tuple[list[Message], State] | None:
    """Convert a message that has only text, with calls of the assistant or as the result of a tool."""
    role: Any = turn.get("role") if type(turn) is dict else None
    if role == "assistant":
        reply = text_and_calls(turn, state.call)
        return reply and ([view.reply(*reply)], state.after_calls(reply[1], by_assistant=True))
    content: Any = turn.get("content") if role == "tool" or role in _PLAIN else None
    if not content or type(content) is not str:
        return None
    if role == "tool":
        name = turn.get("tool_name")
        if len(turn) != 3 or not name or type(name) is not str:
            return None
        call_id, state = state.answer("", name)
        messages = [view.result(Result(call_id, name, (Text(content),), made_up=True))]
    elif len(turn) == 2:
        messages = [{"role": role, "content": content}]
    else:
        return None
    return messages, state.evolve(by_assistant=False) if state.by_assistant else state


def text_and_calls(turn: Object, number: int) -> tuple[str | None, list[Call]] | None:
    """Load a message of the assistant that has only text and calls without ids.

    Args:
        turn: the message as logged
        number: the number of the first call
    """
    content, calls = turn.get("content"), turn.get("tool_calls")
    if type(content) is not str or len(turn) != 2 + (calls is not None):
        return None
    if calls is None:
        return content, []
    loaded_calls: list[Call] = []
    for place, each in enumerate(calls if type(calls) is list else [calls]):
        call = _call(each, number + place)
        if call is None:
            return None
        loaded_calls.append(call)
    return content, loaded_calls


def _call(logged_call: Json, number: int) -> Call | None:
    function = logged_call.get("function") if type(logged_call) is dict and len(logged_call) == 1 else None
    if type(function) is not dict or len(function) != 2 or "arguments" not in function:
        return None
    name = function.get("name")
    if not name or type(name) is not str:
        return None
    return Call(f"call_{number}", name, arguments(function["arguments"]), made_up=True)
