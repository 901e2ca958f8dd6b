"""What becomes of the reasoning of assistant messages: kept, written before the text, or removed."""

from __future__ import annotations

from typing import Any, Literal

from chatsquash.checks import reading
from chatsquash.core import chat
from chatsquash.core.marks import without
from chatsquash.core.model import Conversation, Message, StageResult
from chatsquash.core.reasoning import MEMBERS, is_part, text
from chatsquash.records.markup import drop_thought, inline_thought

_PROVIDER = "provider_specific_fields"
"""Where LiteLLM repeats what it takes from a provider."""


def reason(conversation: Conversation, *, mode: Literal["inline", "drop"]) -> StageResult:
    """Reasoning, in every spelling that vendors have, as ``<think>`` blocks before the text, or removed.

    A message that held nothing else is left out, which is reported.
    """
    work = _inline if mode == "inline" else _drop
    messages: list[Message] = []
    gone: list[int] = []
    for at, message in enumerate(conversation.messages):
        new = work(message) if message["role"] == "assistant" else message
        left = new is message or _says_something(new) or not _says_something(message)
        if left:
            messages.append(new)
        else:
            gone.append(at)
    findings = [reading.not_held({"reasoning alone": len(gone)}, None)] if gone else []
    return Conversation(messages, conversation.tools, marks=without(conversation, gone)), findings


def _says_something(message: Message) -> bool:
    return any(value for key, value in message.items() if key != "role")


def _inline(message: Message) -> Message:
    bare = _without(message)
    said = _start(bare)
    thought = text(message)
    written = inline_thought(said, thought)
    if written == said:
        return bare
    return _prefixed(bare, written) if written.endswith(said) else _begun(bare, written)


def _drop(message: Message) -> Message:
    bare = _without(message)
    said = _start(bare)
    left = drop_thought(said, text(message))
    return bare if left == said else _begun(bare, left)


def _start(message: Message) -> str:
    """The text that a message begins with."""
    content = message.get("content")
    first = content[0] if isinstance(content, list) and content else content
    return chat.part_text(first) or ""


def _begun(message: Message, beginning: str) -> Message:
    """The message with another text where it begins; a part of which nothing is left goes."""
    content = message["content"]
    if isinstance(content, list):
        part = (
            {**content[0], "text": beginning} if isinstance(content[0], dict) else {"type": "text", "text": beginning}
        )
        return {**message, "content": [*([part] if beginning else []), *content[1:]]}
    return {**message, "content": beginning}


def _without(message: Message) -> Message:
    """The message without its reasoning members and without parts of its content that are reasoning."""
    content = message.get("content")
    if not any(key in message for key in (*MEMBERS, _PROVIDER)) and not isinstance(content, list):
        return message
    kept: Message = _bare(message)
    if isinstance(provider := message.get(_PROVIDER), dict):
        kept[_PROVIDER] = _bare(provider)  # type: ignore[literal-required]
    if isinstance(content, list):
        kept["content"] = [part for part in content if not is_part(part)]
    return kept


def _bare(holder: Any) -> Any:
    return {key: value for key, value in holder.items() if key not in MEMBERS}


def _prefixed(message: Message, written: str) -> Message:
    """The message with a text that ends with the one that it begins with; parts stay as they are."""
    content = message.get("content")
    if isinstance(content, list):
        prefix = written.removesuffix(_start(message))
        return {**message, "content": [{"type": "text", "text": prefix}, *content]}
    return {**message, "content": written}
