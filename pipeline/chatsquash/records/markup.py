"""Calls, results and reasoning as text, and back: ``<tool_call>``, ``<tool_response>`` and blocks of ``<think>``."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from chatsquash.checks.tags import to_native
from chatsquash.core import chat
from chatsquash.core.model import Json
from chatsquash.core.reasoning import CLOSE, OPEN, leading_block
from chatsquash.records.line import StoredRecord
from chatsquash.records.turns import Turn

BEHIND_REASONING = f"{CLOSE}\n\n"
"""How a text ends that is reasoning alone."""
_MARKS = (chat.CALL_OPEN, chat.CALL_CLOSE, OPEN, CLOSE)


def text(turn: Turn) -> str:
    """The text of an assistant's turn, its reasoning in one block in front."""
    reasoning = turn.get("reasoning_content")
    content: str = turn["content"]
    return inline_thought(content, reasoning) if reasoning else content


def call(called: dict[str, Any]) -> str:
    """A call as JSON, in which nothing looks like a mark."""
    function = called["function"]
    return to_json({"name": function["name"], "arguments": function["arguments"]})


def to_json(value: Any) -> str:
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
    for message, place in zip(to_native(said), places, strict=True):
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


class _Block(NamedTuple):
    """A block in a text: from where to where it stands, tags included, and what is in it."""

    start: int
    stop: int
    inside: str


def bare(thought: str) -> str:
    """Reasoning without white space and tags around it."""
    return thought.strip().removeprefix(OPEN).removesuffix(CLOSE).strip()


def inline_thought(text: str, thought: str) -> str:
    """A text with reasoning in one block before it.

    A text that has this reasoning in a block already stays, wherever that stands.  Other reasoning that it begins with
    goes behind this one, in the same block; an empty block gives way.
    """
    thought = bare(thought)
    logged, rest = _leading(text, thought)
    inside = "\n\n".join(logged)
    is_closed_only = bool(inside) and not text.lstrip().startswith(OPEN)
    if len(logged) == 1 and thought in inside and not is_closed_only:
        return text
    if (not thought or _has(rest, thought)) and not is_closed_only:
        return text if logged else rest
    if thought not in inside:
        inside = "\n\n".join([thought, *(each for each in logged if each not in thought)])
    return f"{OPEN}\n{inside}\n{CLOSE}\n\n{rest}"


def drop_thought(text: str, thought: str) -> str:
    """A text without the blocks that it begins with, and without those of this reasoning."""
    thought = bare(thought)
    _, rest = _leading(text, thought)
    pieces, at = list[str](), 0
    for block in _blocks(rest):
        if thought and block.inside.strip() == thought:
            pieces.append(rest[at : block.start])
            at = block.stop
    return "".join([*pieces, rest[at:]])


def _blocks(text: str) -> Iterator[_Block]:
    """The blocks of a text, in order; a search for each would take quadratic time where none is closed."""
    start = text.find(OPEN)
    while start >= 0 and (close := text.find(CLOSE, start + len(OPEN))) >= 0:
        yield _Block(start, close + len(CLOSE), text[start + len(OPEN) : close])
        start = text.find(OPEN, close + len(CLOSE))


def _has(text: str, thought: str) -> bool:
    return any(block.inside.strip() == thought for block in _blocks(text))


def _leading(text: str, thought: str) -> tuple[list[str], str]:
    """What is thought in the blocks that a text begins with, without empty ones, and the text behind them."""
    inside, at = list[str](), 0
    for block in _blocks(text):
        if text[at : block.start].strip():
            break
        inside.append(block.inside.strip())
        at = block.stop
    if at:
        return [each for each in inside if each], text[at:].lstrip()
    said, close, rest = text.partition(CLOSE)
    if close and said.strip() and said.strip() == thought:  # of models whose prompt opens the block
        return [], rest.lstrip()
    inside_prompt, rest = leading_block(text)
    return ([inside_prompt] if inside_prompt else []), rest
