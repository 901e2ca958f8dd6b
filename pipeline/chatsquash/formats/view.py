"""Convert turns to OpenAI chat messages."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, cast

from chatsquash.core.blocks import Block, Call, Media, Reasoning, Refusal, Result, Text, Turn
from chatsquash.core.chat import PRIVATE, texts_after_calls
from chatsquash.core.model import Json, Message
from chatsquash.formats import parts
from chatsquash.formats.values import Object, at

AUDIO_FORMATS = {"audio/wav": "wav", "audio/mpeg": "mp3"}
"""OpenAI's audio formats by media type."""


def messages(turns: Iterable[Turn]) -> list[Message]:
    """Convert turns to messages: one per turn, but one per result for turns with results.

    If a message does not express its turn completely (because of text after calls, for example, or content that OpenAI
    chat does not support), it contains the turn under ``PRIVATE``.
    """
    converted: list[Message] = []
    for turn in turns:
        if turn.role == "tool":
            converted += _results(turn)
        else:
            converted.append(message(turn))
    return converted


def public(turns: Iterable[Turn]) -> list[Message]:
    """Convert turns to messages without ``PRIVATE``; text after calls becomes the last part of the content."""
    converted = list[Message]()
    for each in messages(turns):
        late_parts = [parts.text(text) for text in texts_after_calls(each)]
        plain_message: Any = {name: value for name, value in each.items() if name != PRIVATE}
        if late_parts:
            content = plain_message["content"]
            content_parts = content if isinstance(content, list) else [parts.text(content)] if content else []
            plain_message["content"] = parts.content([*content_parts, *late_parts])
        converted.append(plain_message)
    return converted


def message(turn: Turn) -> Message:
    """Convert a turn without results to a message."""
    if turn.role == "assistant":
        return _assistant_message(turn)
    blocks = turn.blocks
    if len(blocks) == 1 and type(blocks[0]) is Text:
        converted: Any = {"role": turn.role, "content": blocks[0].text}
        if blocks[0].native or turn.native or turn.instructions:
            converted[PRIVATE] = turn
        return cast("Message", converted)
    content_parts = [part for block in blocks if (part := part_of(block))]
    converted = {"role": turn.role, "content": parts.content(content_parts)}
    if blocks or turn.native or turn.instructions:
        converted[PRIVATE] = turn
    return cast("Message", converted)


def _assistant_message(turn: Turn) -> Message:
    """Convert an assistant turn; only text blocks followed by calls are expressed completely."""
    content_parts: list[Object] = []
    thoughts: list[str] = []
    refusals: list[str] = []
    calls: list[Object] = []
    is_complete = not turn.native
    for block in turn.blocks:
        if type(block) is Call:
            calls.append(call(block))
            if block.native or block.made_up:
                is_complete = False
            continue
        if calls or type(block) is not Text or block.native or block.apart:
            is_complete = False
        if type(block) is Reasoning:
            thoughts.append(block.text)
        elif type(block) is Refusal:
            refusals.append(block.text)
        elif not calls and (part := part_of(block)):
            content_parts.append(part)
    converted: Any = {
        "role": "assistant",
        "content": parts.content(content_parts, beside_calls=bool(calls or refusals)),
        **_members(thoughts, refusals),
    }
    if calls:
        converted["tool_calls"] = calls
    if not is_complete:
        converted[PRIVATE] = turn
    return cast("Message", converted)


def _members(thoughts: list[str], refusals: list[str]) -> Object:
    """Return the members for refusals and reasoning."""
    members = {"refusal": "\n\n".join(refusals)} if refusals else {}
    if thoughts and (thought := "\n\n".join(filter(None, thoughts))):
        members["reasoning_content"] = thought
    return members


def reply(text: str | None, calls: list[Call], thoughts: Sequence[str] = ()) -> Message:
    """Convert the blocks of an assistant turn that consists of thoughts, at most one text, and calls, in this order."""
    converted: Any = {"role": "assistant", "content": text or (None if calls else "")}
    if thoughts:
        converted["reasoning_content"] = "\n\n".join(thoughts)
    if calls:
        converted["tool_calls"] = list(map(call, calls))
    if thoughts or any(each.made_up or each.native for each in calls):
        texts = (Text(text),) if text else ()
        converted[PRIVATE] = Turn("assistant", (*map(Reasoning, thoughts), *texts, *calls))
    return cast("Message", converted)


def result(block: Result) -> Message:
    """Convert the only result of a turn, or one of several if the turn has no provider-specific data."""
    converted: Any = {"role": "tool", "tool_call_id": block.id}
    if block.name:
        converted["name"] = block.name
    converted["content"] = _result_content(block)
    if not _is_plain(block):
        converted[PRIVATE] = Turn("tool", (block,))
    return cast("Message", converted)


def call(block: Call) -> Object:
    """Convert a call, with its arguments unchanged."""
    kind, member = ("custom", "input") if block.custom else ("function", "arguments")
    members = {member: block.arguments} if block.name is None else {"name": block.name, member: block.arguments}
    return {"id": block.id, "type": kind, kind: members}


def _results(turn: Turn) -> list[Message]:
    """Convert each result of a turn to a message; provider-specific data of the turn goes into the first."""
    results = [block for block in turn.blocks if type(block) is Result]
    converted = list(map(result, results))
    if turn.native and converted:
        own: Any = {PRIVATE: Turn("tool", (results[0],), native=turn.native)}
        converted[0] = {**converted[0], **own}
    return converted


def _result_content(result: Result) -> Json:
    content = result.content
    if len(content) == 1 and type(content[0]) is Text:  # the usual case
        return content[0].text
    return parts.content([part for each in content if (part := part_of(each))])


def _is_plain(result: Result) -> bool:
    """Return whether a message expresses a result completely."""
    if result.json or result.made_up or result.native or result.outcome != "success":
        return False
    content = result.content
    return not content or (len(content) == 1 and type(content[0]) is Text and not content[0].native)


# Parts


def part_of(block: Block) -> Object | None:
    """Convert a text or media block to a content part; return ``None`` for other blocks."""
    if type(block) is Text:
        return parts.text(block.text)
    return _medium(block) if type(block) is Media else None


def _medium(block: Media) -> Object | None:
    url = parts.data_url(block.mime, block.data) if block.data else block.url
    if block.kind == "image" and url:
        return parts.image(url, at(block.native, "openai", "detail"))
    if block.kind == "audio" and block.data and block.mime in AUDIO_FORMATS and not block.name:
        return {"type": "input_audio", "input_audio": {"data": block.data, "format": AUDIO_FORMATS[block.mime]}}
    if block.kind == "video" and block.url:
        return parts.video(block.url)
    if block.kind == "audio" and block.url and not block.mime and not block.name:
        return parts.audio(block.url)
    place: Json = (
        {"file_data": url} if block.data else {"file_id": block.file_id} if block.file_id else {"file_url": url}
    )
    return parts.file(**place, filename=block.name or None) if url or block.file_id else None
