"""Take off what messages carry privately: what their format has and OpenAI chat has no place for."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from itertools import groupby
from typing import Any

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
from chatsquash.core.marks import without
from chatsquash.core.model import Conversation, Json, Message, StageResult, Violation
from chatsquash.formats.view import part_of
from chatsquash.session import provider_members

_UNHELD = (HostedCall, HostedResult, Approval, Other)
"""Blocks that chat messages have no place for, and that a reader of the record misses."""
_TOLD = ("groundingMetadata", "citationMetadata", "urlContextMetadata")
"""Members of Gemini's turns of which that is true, too."""
_USUAL = frozenset((Text, Reasoning, Call))
"""Blocks that chat messages have places for."""


def leave_out(conversation: Conversation, *, joins: Wanted | None = None, judged: bool = False) -> StageResult:
    """The conversation without messages that hold nothing a record has a place for; what is lost so is reported.

    Text behind calls has a place in messages that ``joins`` names.  ``judged``: media are judged later, so messages of
    nothing else stay.
    """
    if not conversation.has_private:
        return conversation, ()
    messages: list[Message] = []
    findings: list[Violation] = []
    gone: list[int] = []
    for at, message in enumerate(conversation.messages):
        kinds = Counter(_losses(message, joins)) if PRIVATE in message and not _is_usual(message) else None
        left = not kinds or _says_something(message) or (judged and bool(_media(message)))
        if kinds:
            findings.append(reading.unsupported_content(kinds, len(messages) if left else None))
        if left:
            messages.append(message)
        else:
            gone.append(at)
    return replace(conversation, messages=messages, marks=without(conversation, gone)), findings


def with_media(conversation: Conversation) -> StageResult:
    """The conversation with media that chat messages have no place for, behind what the message says: to be judged."""
    if not conversation.has_private:
        return conversation, ()
    messages = [_with_media(message) for message in conversation.messages]
    return Conversation(messages, conversation.tools, has_private=True, marks=conversation.marks), ()


def _with_media(message: Message) -> Message:
    lost = _media(message)
    if not lost:
        return message
    content = message.get("content")
    parts = content if isinstance(content, list) else [content] if content else []
    made: dict[str, Any] = {**message, "content": [*parts, *lost]}
    return made  # type: ignore[return-value]


def _media(message: Message) -> list[Json]:
    """The media that a message has beside its content."""
    made = chat.turn(message)
    media, called = list[Json](), False
    for block in made.blocks if made else ():
        called = called or type(block) is Call
        inner = block.content if type(block) is Result else (block,) if called or type(block) is Other else ()
        for each in inner:
            if type(each) is Media and called and (part := part_of(each)):
                media.append(part)
            elif type(each) is Other and _is_medium(logged := _as_logged(each)):
                media.append(logged)
    return media


def _as_logged(other: Other) -> Json:
    """What was logged, which may be an item of a turn, or a part of its content."""
    value = other.value
    inner = next(iter(value)) if isinstance(value, dict) and len(value) == 1 else ""
    return value[inner] if inner in ("item", "content") and isinstance(value[inner], dict) else value


def _is_medium(block: Json) -> bool:
    """Whether a block is a whole medium; what has no type may be what was left of one that has a place."""
    return isinstance(block, dict) and ("images" in block or ("type" in block and chat.media_type(block) is not None))


def public(conversation: Conversation) -> StageResult:
    """The conversation without private members."""
    if not conversation.has_private:
        return conversation, ()
    messages = [_bare(message) for message in conversation.messages]
    tools = conversation.tools
    if any(map(chat.private, tools)):
        tools = [_bare(tool) for tool in tools]
    return Conversation(messages, tools, marks=conversation.marks), ()


def _bare(holder: Any) -> Any:
    if not isinstance(holder, dict) or not isinstance(holder.get(PRIVATE), Turn | Private):
        return holder
    return {key: value for key, value in holder.items() if key != PRIVATE}


def _losses(message: Message, joins: Wanted | None) -> Iterator[str]:
    """What a message holds beside its text, its parts, its reasoning and its calls, in words."""
    made = chat.turn(message)
    if made is None:
        return
    called = False
    yield from (name for name in _TOLD if name in made.native.get("google", ()))
    for block in made.blocks:
        called = called or type(block) is Call
        for each in block.content if type(block) is Result else (block,):
            if (type(each) is Media and (called or not part_of(each))) or isinstance(each, _UNHELD):
                yield _kind(each)
            else:
                yield from provider_members.of_block(each)
    if not (joins and joins(message)):
        yield from ("text behind calls" for _ in chat.texts_after_calls(message))


def _is_usual(message: Message) -> bool:
    """Whether a message has a place for its turn, told by one look: thoughts and texts stand before the calls."""
    made = chat.turn(message)
    if made is None or made.native:
        return False
    kinds = list(map(type, made.blocks))
    late = kinds[kinds.index(Call) if Call in kinds else len(kinds) :]
    return _USUAL.issuperset(kinds) and Text not in late and not any(_has_members(block) for block in made.blocks)


def _has_members(block: Block) -> bool:
    return next(provider_members.of_block(block), None) is not None


def _says_something(message: Message) -> bool:
    return message["role"] == "tool" or any(message[key] for key in message.keys() - {"role", PRIVATE})  # type: ignore[literal-required]


def _kind(block: Block) -> str:
    """What a block calls itself, or the first of its members."""
    value = _as_logged(block) if type(block) is Other else {"type": block.__struct_config__.tag}
    if not isinstance(value, dict):
        return "block"
    named = value.get("type")
    return named if isinstance(named, str) else next(iter(value), "block")


Wanted = Callable[[Message], bool]
"""Whether the texts of a message are to be one."""


def join_texts(conversation: Conversation, *, wanted: Wanted, loaded_only: bool) -> StageResult:
    """Texts between which no other part stands become one; those behind calls come before them, which is reported.

    ``loaded_only``: those of plain chat stay as they were logged.
    """
    if loaded_only and not conversation.has_private:
        return conversation, ()
    moved = 0
    messages: list[Message] = []
    for message in conversation.messages:
        late = chat.texts_after_calls(message)
        if (late or isinstance(message.get("content"), list)) and wanted(message):
            moved += len(late)
            messages.append(_join(message, late))
        else:
            messages.append(message)
    findings = [shapes.shape_changed({"texts behind calls moved before them": moved})] if moved else []
    return Conversation(
        messages, conversation.tools, has_private=conversation.has_private, marks=conversation.marks
    ), findings


def _join(message: Message, late: list[str]) -> Message:
    content = message.get("content")
    parts: list[Json] = content if isinstance(content, list) else [content] if content else []
    breaks = {*chat.break_positions(message), *range(len(parts), len(parts) + len(late))}
    made: dict[str, Any] = {**message, "content": _runs([*parts, *late], message["role"] == "assistant", breaks)}
    return made  # type: ignore[return-value]


def _runs(content: list[Json], by_assistant: bool, breaks: set[int]) -> Json:
    """The parts with each run of texts as one, and reasoning in front of all; a text alone is a string."""
    thoughts: list[Json] = []
    others: list[Json] = []
    apart: set[int] = set()
    for at, part in enumerate(content):
        is_thought = by_assistant and reasoning.is_part(part)
        if is_thought or at in breaks:
            apart.add(len(others))
        (thoughts if is_thought else others).append(part)
    parts = [*thoughts, *_joined_runs(others, by_assistant, apart)]
    text = chat.part_text(parts[0]) if len(parts) == 1 else None
    return parts if text is None else text


def _joined_runs(parts: list[Json], by_assistant: bool, apart: set[int]) -> list[Json]:
    joined: list[Json] = []
    for is_text, run in groupby(range(len(parts)), key=lambda at: chat.part_text(parts[at]) is not None):
        places = list(run)
        run_parts = parts[places[0] : places[-1] + 1]
        if is_text:
            inner = {at - places[0] for at in places if at in apart}
            joined.append({"type": "text", "text": chat.join(run_parts, by_assistant, inner)})
        else:
            joined += run_parts
    return joined
