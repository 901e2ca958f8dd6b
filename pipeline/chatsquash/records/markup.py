"""Calls, results and reasoning as text, for trainers that know nothing but text, and out of it."""

from __future__ import annotations

import json
from collections import deque
from typing import Any

from chatsquash.checks.tags import outlined
from chatsquash.core import chat
from chatsquash.core.model import Json
from chatsquash.core.reasoning import CLOSE, OPEN
from chatsquash.records.reading import StoredRecord
from chatsquash.records.think_blocks import inlined
from chatsquash.records.turns import Turn

BEHIND_REASONING = f"{CLOSE}\n\n"
"""How a text ends that is reasoning alone."""
_MARKS = (chat.CALL_OPEN, chat.CALL_CLOSE, OPEN, CLOSE)


def text(turn: Turn) -> str:
    """The text of an assistant's turn, its reasoning in one block in front."""
    reasoning = turn.get("reasoning_content")
    content: str = turn["content"]
    return inlined(content, reasoning) if reasoning else content


def call(called: dict[str, Any]) -> str:
    """A call as JSON, in which nothing looks like a mark."""
    function = called["function"]
    return written({"name": function["name"], "arguments": function["arguments"]})


def written(value: Any) -> str:
    """A value as templates write it, in which nothing looks like a mark."""
    text = json.dumps(value, ensure_ascii=False)
    return text.replace("<", "\\u003c") if any(mark in text for mark in _MARKS) else text


RESULT_OPEN, RESULT_CLOSE = "<tool_response>\n", "\n</tool_response>"
BETWEEN_RESULTS = f"{RESULT_CLOSE}\n{RESULT_OPEN}"


def native(said: list[Any], places: list[int], tools: Json) -> StoredRecord:
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
        # At most as many as there are calls: what stands between two results may also stand in one.
        for text in message["content"].split(BETWEEN_RESULTS, max(0, len(waiting) - 1)):
            answered = {"tool_call_id": waiting.popleft()} if waiting else {}
            messages.append({"role": "tool", **answered, "content": text})
            at.append(place)
    return StoredRecord(messages, tools, at)
