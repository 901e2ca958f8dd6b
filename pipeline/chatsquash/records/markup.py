"""Write calls, results and reasoning as tagged text, and read them back."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

from chatsquash.checks.tags import to_native
from chatsquash.core import chat
from chatsquash.core.model import Json
from chatsquash.core.reasoning import CLOSE, OPEN, leading_block
from chatsquash.records import StoredRecord
from chatsquash.records.turns import Turn

END_OF_REASONING = f"{CLOSE}\n\n"
"""The end of text that consists only of reasoning."""
_TAGS = (chat.CALL_OPEN, chat.CALL_CLOSE, OPEN, CLOSE)


def text(turn: Turn) -> str:
    """Return the text of an assistant turn, preceded by its reasoning in one block."""
    reasoning = turn.get("reasoning_content")
    content: str = turn["content"]
    return inline_thought(content, reasoning) if reasoning else content


def call(tool_call: dict[str, Any]) -> str:
    """Return a call as JSON in which no text can be mistaken for a tag."""
    function = tool_call["function"]
    return to_json({"name": function["name"], "arguments": function["arguments"]})


def to_json(value: Any) -> str:
    """Return a value as JSON in the notation of templates, in which no text can be mistaken for a tag."""
    text = json.dumps(value, ensure_ascii=False)
    return text.replace("<", "\\u003c") if any(mark in text for mark in _TAGS) else text


RESULT_OPEN, RESULT_CLOSE = "<tool_response>\n", "\n</tool_response>"
BETWEEN_RESULTS = f"{RESULT_CLOSE}\n{RESULT_OPEN}"


def native(texts: list[Any], places: list[int], tools: Json) -> StoredRecord:
    """Return turns with calls in ``tool_calls`` and one message per result, assigned to the next open call."""
    messages: list[dict[str, Any]] = []
    at: list[int] = []
    open_ids: deque[str] = deque()
    for message, place in zip(to_native(texts), places, strict=True):
        if message["role"] != "tool":
            open_ids = deque(call["id"] for call in chat.calls(message)) if message["role"] == "assistant" else open_ids
            messages.append({**message})
            at.append(place)
            continue
        # At most as many results as open calls, because the separator may also occur within a result.
        for text in message["content"].split(BETWEEN_RESULTS, max(0, len(open_ids) - 1)):
            link = {"tool_call_id": open_ids.popleft()} if open_ids else {}
            messages.append({"role": "tool", **link, "content": text})
            at.append(place)
    return StoredRecord(messages, tools, at)


class _Block(NamedTuple):
    """A block in text: its start and end including the tags, and its content."""

    start: int
    stop: int
    inside: str


def strip_tags(thought: str) -> str:
    """Return reasoning without tags and surrounding white space."""
    return thought.strip().removeprefix(OPEN).removesuffix(CLOSE).strip()


def inline_thought(text: str, thought: str) -> str:
    """Return text preceded by reasoning in one block.

    Text that already contains this reasoning in a block is returned unchanged. Other reasoning at the beginning is
    moved to the same block, after this reasoning; empty blocks are removed.
    """
    thought = strip_tags(thought)
    existing, rest = _leading(text, thought)
    inside = "\n\n".join(existing)
    is_closed_only = bool(inside) and not text.lstrip().startswith(OPEN)
    if len(existing) == 1 and thought in inside and not is_closed_only:
        return text
    if (not thought or _has_block(rest, thought)) and not is_closed_only:
        return text if existing else rest
    if thought not in inside:
        inside = "\n\n".join([thought, *(each for each in existing if each not in thought)])
    return f"{OPEN}\n{inside}\n{CLOSE}\n\n{rest}"


def drop_thought(text: str, thought: str) -> str:
    """Return text without leading blocks and without any block that contains this reasoning."""
    thought = strip_tags(thought)
    _, rest = _leading(text, thought)
    pieces, start = list[str](), 0
    for block in _blocks(rest):
        if thought and block.inside.strip() == thought:
            pieces.append(rest[start : block.start])
            start = block.stop
    return "".join([*pieces, rest[start:]])


def _blocks(text: str) -> Iterator[_Block]:
    """Yield the blocks of text in order, in linear time even if many tags are not closed."""
    start = text.find(OPEN)
    while start >= 0 and (close := text.find(CLOSE, start + len(OPEN))) >= 0:
        yield _Block(start, close + len(CLOSE), text[start + len(OPEN) : close])
        start = text.find(OPEN, close + len(CLOSE))


def _has_block(text: str, thought: str) -> bool:
    return any(block.inside.strip() == thought for block in _blocks(text))


def _leading(text: str, thought: str) -> tuple[list[str], str]:
    """Return the content of each nonempty leading block, and the text after them."""
    inside, at = list[str](), 0
    for block in _blocks(text):
        if text[at : block.start].strip():
            break
        inside.append(block.inside.strip())
        at = block.stop
    if at:
        return [each for each in inside if each], text[at:].lstrip()
    before, close, rest = text.partition(CLOSE)
    if close and before.strip() and before.strip() == thought:  # models whose prompt contains the opening tag
        return [], rest.lstrip()
    inside_prompt, rest = leading_block(text)
    return ([inside_prompt] if inside_prompt else []), rest
