"""Calls and results out of the texts of a record, for the presets that write them so."""

from __future__ import annotations

from collections import deque
from typing import Any

from chatsquash import chat
from chatsquash.checks.tags import outlined
from chatsquash.model import Json
from chatsquash.records.reading import StoredRecord

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
