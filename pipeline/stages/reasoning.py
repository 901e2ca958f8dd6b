"""What becomes of the reasoning of assistant messages: kept, written before the text, or removed."""

from __future__ import annotations

import re
from typing import Literal

from pipeline import chat
from pipeline.formats import openai_chat
from pipeline.ledger import Ledger
from pipeline.model import Conversation, Json, Message

OPEN, CLOSE = "<think>", "</think>"
_LEADING = re.compile(r"\s*<think>(.*?)</think>\s*", re.DOTALL)


def reason(conversation: Conversation, ledger: Ledger, line: int, *, mode: Literal["inline", "drop"]) -> Conversation:
    """Reasoning, in every spelling that vendors have, as ``<think>`` blocks before the text, or removed."""
    del ledger, line
    work = _inline if mode == "inline" else _drop
    messages = [work(message) if message["role"] == "assistant" else message for message in conversation.messages]
    return Conversation(messages, conversation.tools)


def _inline(message: Message) -> Message:
    bare = _without(message)
    text = openai_chat.reasoning(message).strip()
    leading = _LEADING.match(_start(bare))
    if leading and leading[1].strip():
        return bare
    said = _unopened(bare, leading) if leading else bare  # an empty block says nothing
    return _prefixed(said, f"{OPEN}\n{text}\n{CLOSE}\n\n") if text else said


def _drop(message: Message) -> Message:
    bare = _without(message)
    leading = _LEADING.match(_start(bare))
    return _unopened(bare, leading) if leading else bare


def _start(message: Message) -> str:
    """The text that a message begins with."""
    content = message.get("content")
    first = content[0] if isinstance(content, list) and content else content
    return chat.part_text(first) or ""


def _unopened(message: Message, leading: re.Match[str]) -> Message:
    """The message without the block that it begins with."""
    content, rest = message["content"], leading.string[leading.end() :]
    if isinstance(content, list):
        part = {**content[0], "text": rest} if isinstance(content[0], dict) else {"type": "text", "text": rest}
        return {**message, "content": [*([part] if rest else []), *content[1:]]}
    return {**message, "content": rest}


def _without(message: Message) -> Message:
    """The message without its reasoning members and without parts of its content that are reasoning."""
    content = message.get("content")
    if not any(key in message for key in chat.REASONING_KEYS) and not isinstance(content, list):
        return message
    kept: Message = {key: value for key, value in message.items() if key not in chat.REASONING_KEYS}  # type: ignore[assignment]
    if isinstance(content, list):
        kept["content"] = [part for part in content if not _is_reasoning(part)]
    return kept


def _is_reasoning(part: Json) -> bool:
    return isinstance(part, dict) and part.get("type") in ("thinking", "reasoning", "redacted_thinking")


def _prefixed(message: Message, prefix: str) -> Message:
    content = message.get("content")
    if isinstance(content, list):
        return {**message, "content": [{"type": "text", "text": prefix}, *content]}
    return {**message, "content": prefix + (content if isinstance(content, str) else "")}
