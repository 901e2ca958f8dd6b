"""Records whose calls, results and tools stand in texts, as the presets ``sharegpt`` and ``text`` write them."""

from __future__ import annotations

from collections import deque
from typing import Any

from chatsquash import chat, jsonio
from chatsquash.checks.tags import outlined
from chatsquash.model import Json
from chatsquash.records.reading import NotARecordError, Record
from chatsquash.text import json_type

_RESPONSE_OPEN, _RESPONSE_CLOSE = "<tool_response>\n", "\n</tool_response>"
_BETWEEN = f"{_RESPONSE_CLOSE}\n{_RESPONSE_OPEN}"
_TOOLS_OPEN, _TOOLS_CLOSE = "<tools>\n", "\n</tools>"
_ROLES = {"human": "user", "gpt": "assistant", "function_call": "assistant", "observation": "tool", "system": "system"}


def of_sharegpt(value: dict[str, Any]) -> Record:
    """The conversation of a ``sharegpt`` record; raises ``NotARecordError``."""
    turns, system = value["conversations"], value.get("system")
    if not isinstance(turns, list):
        raise NotARecordError(f"conversations is {json_type(turns)}")
    said: list[Any] = [{"role": "system", "content": system}] if isinstance(system, str) and system else []
    places = [0] * len(said)
    for at, turn in enumerate(turns):
        said.append(_turn(turn, at))
        places.append(at)
    tools = value.get("tools")
    return _native(said, places, (_loaded(tools) if tools else None) if isinstance(tools, str) else tools)


def of_text(messages: list[Any]) -> Record | None:
    """The conversation of a ``text`` record; ``None`` where nothing says that it is one."""
    if not all(map(_is_plain, messages)):
        return None
    first = messages[0] if messages and messages[0]["role"] == "system" else None
    tools = _defined(first["content"]) if first else None
    said = [_said(message) for message in messages]
    if tools is None and not any(message["role"] == "tool" for message in said):
        return None
    return _native(said, list(range(len(said))), tools)


def _turn(turn: Json, at: int) -> dict[str, Any]:
    role = _ROLES.get(turn["from"]) if isinstance(turn, dict) and isinstance(turn.get("from"), str) else None
    if role is None or not isinstance(turn.get("value"), str):
        raise NotARecordError(f"conversations[{at}] is no object with from and value that sharegpt knows")
    text = turn["value"]
    if turn["from"] == "function_call":
        text, marked, calls = text.partition(chat.CALL_OPEN)
        called = _loaded(calls.removesuffix(chat.CALL_CLOSE) if marked else text)
        blocks = [jsonio.dumps(call).decode() for call in (called if isinstance(called, list) else [called])]
        text = (text if marked else "") + "".join(f"{chat.CALL_OPEN}{block}{chat.CALL_CLOSE}" for block in blocks)
    return {"role": role, "content": text}


def _is_plain(message: dict[str, Any]) -> bool:
    texts = message.keys() == {"role", "content"} and isinstance(message["content"], str)
    return texts and message["role"] in ("system", "user", "assistant")


def _said(message: dict[str, Any]) -> dict[str, Any]:
    """A message, with the role of a tool where the user's text is results."""
    text = message["content"]
    if message["role"] == "user" and text.startswith(_RESPONSE_OPEN) and text.endswith(_RESPONSE_CLOSE):
        return {"role": "tool", "content": text[len(_RESPONSE_OPEN) : -len(_RESPONSE_CLOSE)]}
    return message


def _defined(text: str) -> list[Any] | None:
    listed, closed, _ = text.partition(_TOOLS_OPEN)[2].partition(_TOOLS_CLOSE)
    tools = [_loaded(line) for line in listed.split("\n")] if closed else None
    return tools if tools and all(isinstance(tool, dict) for tool in tools) else None


def _native(said: list[Any], places: list[int], tools: Json) -> Record:
    """The turns with their calls as ``tool_calls``, and a message for each result, which answers the next open call."""
    messages: list[dict[str, Any]] = []
    at: list[int] = []
    waiting: deque[str] = deque()
    for message, place in zip(outlined(said), places, strict=True):
        if message["role"] != "tool":
            waiting = deque(call["id"] for call in chat.calls(message)) if message["role"] == "assistant" else waiting
            messages.append({**message})
            at.append(place)
            continue
        for text in _results(message["content"], max(1, len(waiting))):
            answered = {"tool_call_id": waiting.popleft()} if waiting else {}
            messages.append({"role": "tool", **answered, "content": text})
            at.append(place)
    return Record(messages, tools, at)


def _results(text: str, count: int) -> list[str]:
    """The results in a text, at most so many: what stands between two of them may also stand in one."""
    return text.split(_BETWEEN, count - 1)


def _loaded(text: str) -> Json:
    try:
        return jsonio.loads(text)
    except (ValueError, RecursionError):
        return None
