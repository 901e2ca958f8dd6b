"""What formats have in common that turns are written in."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import takewhile

from chatsquash import chat
from chatsquash.blocks import FAILED, PROMPTS, Block, Call, Media, Refusal, Result, Source, Text, Turn
from chatsquash.formats.calls import ERROR
from chatsquash.formats.values import Object, at
from chatsquash.model import Json

KEY = "chatsquash"
"""The member in which is kept what a format has no place for, and what only we read."""


# Turns


def prompts(turns: Iterable[Turn]) -> list[Turn]:
    """The turns of the system that stand before all others."""
    return list(takewhile(lambda turn: turn.role in PROMPTS, turns))


def joined(turns: Iterable[Turn]) -> list[list[Turn]]:
    """Turns as services want them that have results in the user's turns: with what he says behind them.

    Results that answer calls of one turn are one, whatever stands between them.
    """
    found = list[list[Turn]]()
    called = set[str]()
    for turn in turns:
        if turn.role == "assistant":
            called = {block.id for block in turn.blocks if type(block) is Call}
        if found and found[-1][0].role == "tool" and _goes_on(turn, found[-1], called):
            found[-1].append(turn)
        else:
            found.append([turn])
    return found


def _goes_on(turn: Turn, before: list[Turn], called: set[str]) -> bool:
    if turn.role == "tool":
        return before[-1].role == "tool" or any(type(block) is Result and block.id in called for block in turn.blocks)
    return turn.role == "user" and before[-1].role == "tool"


def names(turns: Iterable[Turn]) -> dict[str, str]:
    """The names of tools by the ids of their calls; of several with one id the last."""
    return {block.id: block.name or "" for turn in turns for block in turn.blocks if type(block) is Call}


# Texts


def text_of(blocks: Iterable[Block], *, by_assistant: bool = False) -> str:
    """The texts among blocks as one, as those of a record are joined."""
    texts, breaks = list[Json](), list[int]()
    is_apart = False
    for block in blocks:
        if isinstance(block, Text | Refusal):
            if texts and (is_apart or getattr(block, "apart", False)):
                breaks.append(len(texts))
            texts.append(block.text)
            is_apart = False
        else:
            is_apart = is_apart or type(block) is not Source
    return texts[0] if len(texts) == 1 else chat.join(texts, by_assistant, breaks)


def with_texts_joined(blocks: Iterable[Block], *, by_assistant: bool = False) -> list[Block]:
    """Blocks with each run of texts that nothing stands between as one, for what has one text in a place."""
    found = list[Block]()
    run = list[Block]()
    for block in [*blocks, None]:
        if isinstance(block, Text | Refusal | Source):
            run.append(block)
            continue
        if run:
            found += [Text(text)] if (text := text_of(run, by_assistant=by_assistant)) else []
            run = []
        if block is not None:
            found.append(block)
    return found


def failed(text: str, result: Result) -> str:
    """The text of a result, with what says so before it where its call failed; for what has no member for that."""
    return f"{ERROR}{text}" if result.outcome in FAILED else text


def mark(result: Result) -> Object:
    """What tells us that the text of a result says in our words that its call failed."""
    return {KEY: {"failed": True}} if result.outcome in FAILED else {}


def unmarked(text: str, holder: Json) -> str | None:
    """The text of a result that failed, without our words for that; ``None`` for one that is not marked so."""
    is_ours = at(holder, KEY, "failed") is True and text.startswith(ERROR)
    return text.removeprefix(ERROR) if is_ours else None


def instructed(turn: Turn) -> Object:
    """What tells us that a system prompt was given as instructions, for what has no place for such."""
    return {KEY: {"instructions": True}} if turn.instructions else {}


def are_instructions(holder: Json) -> bool:
    """Whether a system prompt is marked as one that was given as instructions."""
    return at(holder, KEY, "instructions") is True


_MARKS = ((KEY, {"failed": True}), (KEY, {"instructions": True}), ("partMetadata", {"role": "system"}))
"""Members, and what stands in them, that say to us alone what something is."""


def without_marks(document: Json) -> Json:
    """A document without what only we read, and without members in which nothing else stands."""
    if isinstance(document, list):
        return list(map(without_marks, document))
    if isinstance(document, dict):
        left = {key: without_marks(value) for key, value in document.items() if (key, value) not in _MARKS}
        return {key: value for key, value in left.items() if value != {} or value == document[key]}
    return document


# Media


EXTENSIONS = {
    "application/pdf": "pdf",
    "audio/mpeg": "mp3",
    "audio/wav": "wav",
    "image/gif": "gif",
    "image/jpeg": "jpg",
    "image/png": "png",
    "image/webp": "webp",
    "text/csv": "csv",
    "text/html": "html",
    "text/markdown": "md",
    "text/plain": "txt",
    "video/mp4": "mp4",
}


def file_name(media: Media) -> str:
    """The name of a file, made from its type where it has none."""
    return media.name or f"file.{EXTENSIONS.get(media.mime, 'bin')}"


def native(holder: Json, provider: str) -> Object:
    """What a block, a turn or a definition has that only one provider knows."""
    return holder.native.get(provider, {})  # type: ignore[no-any-return]
