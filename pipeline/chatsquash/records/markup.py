"""Calls and reasoning as text, for trainers that know nothing but text."""

from __future__ import annotations

import json
from typing import Any

from chatsquash import chat
from chatsquash.reasoning import CLOSE, OPEN
from chatsquash.records.notes import Notes
from chatsquash.records.turns import Turn

_MARKS = (chat.CALL_OPEN, chat.CALL_CLOSE, OPEN, CLOSE)


def text(turn: Turn, notes: Notes) -> str:
    """The text of an assistant's turn, its reasoning in front, unless the text begins with some."""
    reasoning = turn.get("reasoning_content", "").strip()
    content: str = turn["content"]
    if not reasoning:
        return content
    if content.lstrip().startswith(OPEN):
        notes.dropped["reasoning beside <think>"] += reasoning not in content
        return content
    return f"{OPEN}\n{reasoning}\n{CLOSE}\n\n{content}"


def call(called: dict[str, Any]) -> str:
    """A call as JSON, in which nothing looks like a mark."""
    function = called["function"]
    return written({"name": function["name"], "arguments": function["arguments"]})


def written(value: Any) -> str:
    """A value as templates write it, in which nothing looks like a mark."""
    text = json.dumps(value, ensure_ascii=False)
    return text.replace("<", "\\u003c") if any(mark in text for mark in _MARKS) else text
