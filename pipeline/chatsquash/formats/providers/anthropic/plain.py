"""Convert turns that depend on no other turn to messages, with shortcuts for the most common structures."""

from __future__ import annotations

from collections.abc import Iterator
from typing import cast

from chatsquash.core.blocks import Block, Call, Reasoning, Result, Text, Turn
from chatsquash.core.chat import PRIVATE
from chatsquash.core.model import Json, Message
from chatsquash.formats import view
from chatsquash.formats.base import TurnError
from chatsquash.formats.calls import arguments
from chatsquash.formats.providers.anthropic.blocks import PROVIDER
from chatsquash.formats.providers.anthropic.read import START, load
from chatsquash.formats.values import Object


def plain(turn: Json) -> list[Message] | None:
    """Convert a turn to messages if all of its calls and results have ids; return ``None`` for any other value."""
    if type(turn) is dict and len(turn) == 2 and (usual := _simple_message(turn)) is not None:
        return [usual]
    try:
        turns = load(turn, START).turns
    except TurnError:
        return None
    for each in turns:
        for block in each.blocks:
            if (type(block) is Call or type(block) is Result) and block.made_up:
                return None
    return view.messages(turns)


def _simple_message(turn: Object) -> Message | None:
    """Convert a turn with plain text, a single result, or an assistant's reasoning, text and calls."""
    role, content = turn.get("role"), turn.get("content")
    if type(content) is str:
        return {"role": role, "content": content} if role in ("user", "assistant") else None
    if type(content) is not list or not content:
        return None
    if role == "assistant":
        return _assistant_message(content)
    return _user_message(content[0]) if role == "user" and len(content) == 1 and type(content[0]) is dict else None


def _user_message(block: Object) -> Message | None:
    """Convert the only block of a user turn."""
    if block.get("type") == "tool_result":
        return _result_message(block)
    text = _text(block)
    return {"role": "user", "content": text} if text else None


def _text(block: Object) -> str | None:
    """Return the text of a text block without other members, or ``None`` for other blocks."""
    text = block.get("text")
    return text if len(block) == 2 and block.get("type") == "text" and type(text) is str else None


def _result_message(block: Object) -> Message | None:
    """Convert a successful result with plain text."""
    own, content = block.get("tool_use_id"), block.get("content")
    if len(block) > 3 and not (len(block) == 4 and block.get("is_error") is False):
        return None
    if type(content) is list and len(content) == 1 and type(content[0]) is dict:
        content = _text(content[0])
    if own and type(own) is str and content and type(content) is str:
        return {"role": "tool", "tool_call_id": own, "content": content}
    return None


def _assistant_message(content: list[Json]) -> Message | None:
    """Convert an assistant's blocks if they contain at most one text block, before all calls."""
    thoughts, calls = list[str](), list[Object]()
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
