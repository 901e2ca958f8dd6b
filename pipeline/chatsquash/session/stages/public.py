"""Remove the private fields for content that OpenAI chat does not support, and report losses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from chatsquash.checks import reading, shapes
from chatsquash.core import chat, reasoning
from chatsquash.core.blocks import (
    Approval,
    Block,
    Call,
    HostedCall,
    HostedResult,
    Media,
    Other,
    Reasoning,
    Result,
    Text,
    Turn,
)
from chatsquash.core.chat import PRIVATE, Private
from chatsquash.core.lazy import LazyModule
from chatsquash.core.model import Conversation, Json, Message, StageResult, Violation

if TYPE_CHECKING:
    from chatsquash.core import marks
    from chatsquash.formats import view
    from chatsquash.session import provider_members
else:
    marks = LazyModule("chatsquash.core.marks")
    provider_members = LazyModule("chatsquash.session.provider_members")
    view = LazyModule("chatsquash.formats.view")

_UNSUPPORTED = (HostedCall, HostedResult, Approval, Other)
"""Blocks that cannot be represented in chat messages and that a reader of the record would miss."""
_GROUNDING = ("groundingMetadata", "citationMetadata", "urlContextMetadata")
"""Fields of Gemini turns that cannot be represented in chat messages either."""
_PRIVATE_TYPES = (Turn, Private)
_REPRESENTABLE = frozenset((Text, Reasoning, Call))
"""Blocks that can be represented in chat messages."""


def drop_unsupported(
    conversation: Conversation, *, joins: MessageFilter | None = None, keeps_media: bool = False
) -> StageResult:
    """Drop messages without any content that a record can represent, and report what is lost.

    Args:
        conversation: The conversation, which is changed only if it was loaded from another format.
        joins: The messages whose texts are joined, so text after their calls is not lost.
        keeps_media: Keep messages that contain only media, because the preset handles media later.
    """
    if not conversation.has_private:
        return conversation, ()
    messages = conversation.messages
    findings: list[Violation] = []
    dropped: list[int] = []
    for at in [at for at, message in enumerate(messages) if PRIVATE in message and not _fits_chat(message)]:
        message = messages[at]
        if not (kinds := Counter(_losses(message, joins))):
            continue
        is_kept = _has_content(message) or (keeps_media and bool(_media(message)))
        findings.append(reading.unsupported_content(kinds, at - len(dropped) if is_kept else None))
        if not is_kept:
            dropped.append(at)
    if not dropped:
        return conversation, findings
    dropped_places = set(dropped)
    remaining = [message for at, message in enumerate(messages) if at not in dropped_places]
    return replace(conversation, messages=remaining, marks=marks.without(conversation, dropped)), findings


def add_media(conversation: Conversation) -> StageResult:
    """Append media that chat messages cannot represent to the content, so that the preset can handle them."""
    if not conversation.has_private:
        return conversation, ()
    messages = [_add_media(message) for message in conversation.messages]
    return Conversation(messages, conversation.tools, has_private=True, marks=conversation.marks), ()


def _add_media(message: Message) -> Message:
    media = _media(message)
    if not media:
        return message
    content = message.get("content")
    parts = content if isinstance(content, list) else [content] if content else []
    result: dict[str, Any] = {**message, "content": [*parts, *media]}
    return result  # type: ignore[return-value]


def _media(message: Message) -> list[Json]:
    """Return the media of a message that are not in its content."""
    turn = chat.turn(message)
    media, is_after_call = list[Json](), False
    for block in turn.blocks if turn else ():
        is_after_call = is_after_call or type(block) is Call
        inner = block.content if type(block) is Result else (block,) if is_after_call or type(block) is Other else ()
        for each in inner:
            if type(each) is Media and is_after_call and (part := view.part_of(each)):
                media.append(part)
            elif type(each) is Other and _is_medium(medium := _as_logged(each)):
                media.append(medium)
    return media


def _as_logged(other: Other) -> Json:
    """Return the logged value, which may be an item of a turn or a part of its content."""
    value = other.value
    inner = next(iter(value)) if isinstance(value, dict) and len(value) == 1 else ""
    return value[inner] if inner in ("item", "content") and isinstance(value[inner], dict) else value


def _is_medium(block: Json) -> bool:
    """Return whether a value is a complete medium."""
    # A value without a type may be the rest of a medium that is already in the content.
    return isinstance(block, dict) and ("images" in block or ("type" in block and chat.media_type(block) is not None))


def remove_private(conversation: Conversation) -> StageResult:
    """Remove the private fields of messages and tool definitions."""
    if not conversation.has_private:
        return conversation, ()
    messages = [_bare(message) if PRIVATE in message else message for message in conversation.messages]
    tools = conversation.tools
    if any(map(chat.private, tools)):
        tools = [_bare(tool) for tool in tools]
    return Conversation(messages, tools, marks=conversation.marks), ()


def _bare(members: Any) -> Any:
    if not isinstance(members, dict) or not isinstance(members.get(PRIVATE), _PRIVATE_TYPES):
        return members
    public = members.copy()
    del public[PRIVATE]
    return public


def _losses(message: Message, joins: MessageFilter | None) -> Iterator[str]:
    """Yield the kinds of content in a message other than text, parts, reasoning and calls."""
    turn = chat.turn(message)
    if turn is None:
        return
    is_after_call = False
    yield from (name for name in _GROUNDING if name in turn.native.get("google", ()))
    for block in turn.blocks:
        is_after_call = is_after_call or type(block) is Call
        for each in block.content if type(block) is Result else (block,):
            if (type(each) is Media and (is_after_call or not view.part_of(each))) or isinstance(each, _UNSUPPORTED):
                yield _kind(each)
            else:
                yield from provider_members.of_block(each)
    if not (joins and joins(message)):
        yield from ("text after calls" for _ in chat.texts_after_calls(message))


def _fits_chat(message: Message) -> bool:
    """Return whether a turn loses nothing as a chat message: texts and reasoning, then calls, or results with texts."""
    turn = chat.turn(message)
    if turn is None or turn.native:
        return False
    is_after_call = False
    for block in turn.blocks:
        kind = type(block)
        if type(block) is Result:
            if not all(type(each) is Text and not each.native for each in block.content):
                return False
            continue
        if kind not in _REPRESENTABLE or (kind is Text and is_after_call):
            return False
        is_after_call = is_after_call or kind is Call
        if block.native and next(provider_members.of_block(block), None) is not None:
            return False
    return True


def _has_content(message: Message) -> bool:
    return message["role"] == "tool" or any(message[key] for key in message.keys() - {"role", PRIVATE})  # type: ignore[literal-required]


def _kind(block: Block) -> str:
    """Return the type of a block, or the name of its first field."""
    value = _as_logged(block) if type(block) is Other else {"type": block.__struct_config__.tag}
    if not isinstance(value, dict):
        return "block"
    kind = value.get("type")
    return kind if isinstance(kind, str) else next(iter(value), "block")


MessageFilter = Callable[[Message], bool]
"""Returns whether the texts of a message are joined."""


def join_texts(conversation: Conversation, *, joins: MessageFilter, loaded_only: bool) -> StageResult:
    """Join adjacent texts, move texts that follow calls before the calls, and report how many were moved.

    Args:
        conversation: The conversation.
        joins: Returns whether the texts of a message are joined.
        loaded_only: Leave plain chat conversations as they were logged.
    """
    if loaded_only and not conversation.has_private:
        return conversation, ()
    count = 0
    messages: list[Message] = []
    for message in conversation.messages:
        late_texts = chat.texts_after_calls(message)
        if (late_texts or isinstance(message.get("content"), list)) and joins(message):
            count += len(late_texts)
            messages.append(_join(message, late_texts))
        else:
            messages.append(message)
    findings = [shapes.shape_changed({"text after calls moved before them": count})] if count else []
    return Conversation(
        messages, conversation.tools, has_private=conversation.has_private, marks=conversation.marks
    ), findings


def _join(message: Message, late_texts: list[str]) -> Message:
    content = message.get("content")
    parts: list[Json] = content if isinstance(content, list) else [content] if content else []
    breaks = {*chat.break_positions(message), *range(len(parts), len(parts) + len(late_texts))}
    result: dict[str, Any] = {
        **message,
        "content": _runs([*parts, *late_texts], message["role"] == "assistant", breaks),
    }
    return result  # type: ignore[return-value]


def _runs(content: list[Json], by_assistant: bool, breaks: set[int]) -> Json:
    """Join each run of texts and put reasoning first; a single text becomes a string."""
    thoughts: list[Json] = []
    others: list[Json] = []
    breaks_of_others: set[int] = set()
    for at, part in enumerate(content):
        is_thought = by_assistant and reasoning.is_part(part)
        if is_thought or at in breaks:
            breaks_of_others.add(len(others))
        (thoughts if is_thought else others).append(part)
    parts = [*thoughts, *_join_runs(others, by_assistant, breaks_of_others)]
    text = chat.part_text(parts[0]) if len(parts) == 1 else None
    return parts if text is None else text


def _join_runs(parts: list[Json], by_assistant: bool, breaks: set[int]) -> list[Json]:
    result: list[Json] = []
    for is_text, run in groupby(range(len(parts)), key=lambda at: chat.part_text(parts[at]) is not None):
        places = list(run)
        run_parts = parts[places[0] : places[-1] + 1]
        if is_text:
            inner = {at - places[0] for at in places if at in breaks}
            result.append({"type": "text", "text": chat.join(run_parts, by_assistant, inner)})
        else:
            result += run_parts
    return result
