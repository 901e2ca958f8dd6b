"""Convert turns of the most frequent structures directly to messages, without blocks.

The messages are the same as those of ``load``, which loads any turn.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

from chatsquash.core.blocks import Block, Call, Reasoning, Text, Turn
from chatsquash.core.chat import PRIVATE
from chatsquash.core.model import Json, Message
from chatsquash.formats import view
from chatsquash.formats.base import TurnError
from chatsquash.formats.calls import State, arguments, have_ids
from chatsquash.formats.providers.anthropic.blocks import PROVIDER
from chatsquash.formats.providers.anthropic.read import START, load
from chatsquash.formats.values import Object


def plain(turn: Json) -> list[Message] | None:
    """Convert a turn to messages if all of its calls and results have ids; return ``None`` for any other value."""
    if (known := _usual_messages(turn)) is not None:
        return known
    try:
        turns = load(turn, START).turns
    except TurnError:
        return None
    return view.messages(turns) if have_ids(turns) else None


def usual(turn: Json, state: State) -> tuple[list[Message], State] | None:
    """Convert a turn of a usual structure, given the state before it, to messages and the state after it."""
    messages = _usual_messages(turn)
    if messages is None:
        return None
    first = messages[0]
    if first["role"] == "assistant":
        calls: Any = first.get("tool_calls", [])
        return messages, state.with_calls(tuple([(call["id"], call["function"]["name"]) for call in calls]))
    if first["role"] == "tool" and state.open:
        return messages, state.without({each["tool_call_id"] for each in messages})
    return messages, state


def _usual_messages(turn: Json) -> list[Message] | None:
    """Convert a turn with plain text, with results, or with an assistant's reasoning, text and calls."""
    if type(turn) is not dict or len(turn) != 2:
        return None
    role, content = turn.get("role"), turn.get("content")
    if role == "assistant":
        message = reply_message(content) if type(content) is list and content else None
        return None if message is None else [message]
    if role != "user":
        return None
    text = content if type(content) is str else _only_text(content)
    if text:
        return [{"role": "user", "content": text}]
    results: Any = list(map(_result_message, content)) if type(content) is list and content else [None]
    return None if None in results else results


def _only_text(content: Json) -> str | None:
    """Return the text of content with a single text block without other members, or ``None`` for other content."""
    return _text(content[0]) if type(content) is list and len(content) == 1 else None


def _text(block: Json) -> str | None:
    """Return the text of a text block without other members, or ``None`` for other blocks."""
    if type(block) is not dict or len(block) != 2 or block.get("type") != "text":
        return None
    text = block.get("text")
    return text if type(text) is str else None


def _result_message(block: Json) -> Message | None:
    """Convert a successful result with plain text."""
    if type(block) is not dict or block.get("type") != "tool_result":
        return None
    own, content = block.get("tool_use_id"), block.get("content")
    if len(block) > 3 and not (len(block) == 4 and block.get("is_error") is False):
        return None
    text = content if type(content) is str else _only_text(content)
    if own and type(own) is str and text:
        return {"role": "tool", "tool_call_id": own, "content": text}
    return None


def reply_message(content: list[Json]) -> Message | None:
    """Convert an assistant's blocks if they contain at most one text block, before all calls."""
    thoughts: list[str] = []
    calls: list[Object] = []
    text: str | None = None
    for each in content:
        of = each.get("type") if type(each) is dict else None
        if of == "tool_use":
            call = _call(each)
            if call is None:
                return None
            calls.append(call)
        elif of == "thinking":
            thought, signature = each.get("thinking"), each.get("signature", "")
            if type(thought) is not str or type(signature) is not str or len(each) != 2 + ("signature" in each):
                return None
            thoughts.append(thought)
        elif of == "text" and text is None and not calls and (text := _text(each)):
            continue
        else:
            return None
    message: Object = {"role": "assistant", "content": text or (None if calls else "")}
    if thought := "\n\n".join(filter(None, thoughts)):
        message["reasoning_content"] = thought
    if calls:
        message["tool_calls"] = calls
    if thoughts:
        message[PRIVATE] = Turn("assistant", tuple(_blocks(content, calls)))
    return cast("Message", message)


def _call(block: Object) -> Object | None:
    """Convert a call with only the usual members; return ``None`` for other calls."""
    own, name = block.get("id"), block.get("name")
    if len(block) == 4 and "input" in block and own and type(own) is str and type(name) is str:
        return {"id": own, "type": "function", "function": {"name": name, "arguments": arguments(block["input"])}}
    return None


def _blocks(content: list[Json], calls: list[Object]) -> Iterator[Block]:
    """Load the blocks of an assistant that have only the usual members, given its calls as converted."""
    rest = iter(calls)
    for each in content:
        of = each["type"]
        if of == "text":
            yield Text(each["text"])
        elif of == "tool_use":
            call = next(rest)
            yield Call(call["id"], call["function"]["name"], call["function"]["arguments"])
        else:
            signature = each.get("signature", "")
            yield Reasoning(each["thinking"], PROVIDER if signature else "", signature)
