"""Helpers for formats that write turns."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from itertools import takewhile
from typing import Any

from msgspec.structs import replace

from chatsquash.core import chat
from chatsquash.core.blocks import FAILED, PROMPTS, Block, Call, Media, Outcome, Refusal, Result, Source, Text, Turn
from chatsquash.core.model import Json
from chatsquash.formats import calls
from chatsquash.formats.calls import ERROR, is_mark
from chatsquash.formats.values import Object, at

KEY = calls.KEY
SPEAKERS = {"system": "system", "developer": "system", "user": "user", "assistant": "assistant"}
"""Roles for formats without a developer role."""


# Turns


def leading_prompts(turns: Iterable[Turn]) -> list[Turn]:
    """Return the prompts before the first turn of another role."""
    return list(takewhile(lambda turn: turn.role in PROMPTS, turns))


def join_results(turns: Iterable[Turn]) -> list[list[Turn]]:
    """Group turns for services that expect results in user turns: results with the user turn that follows them.

    Results for calls of the same turn form one group, even if other turns separate them.
    """
    groups = list[list[Turn]]()
    call_ids = set[str]()
    for turn in turns:
        if turn.role == "assistant":
            call_ids = {block.id for block in turn.blocks if type(block) is Call}
        if groups and groups[-1][0].role == "tool" and _belongs_to_group(turn, groups[-1], call_ids):
            groups[-1].append(turn)
        else:
            groups.append([turn])
    return groups


def _belongs_to_group(turn: Turn, group: list[Turn], call_ids: set[str]) -> bool:
    if turn.role == "tool":
        return group[-1].role == "tool" or any(type(block) is Result and block.id in call_ids for block in turn.blocks)
    return turn.role == "user" and group[-1].role == "tool"


def with_tool_names(turns: tuple[Turn, ...]) -> tuple[tuple[Turn, ...], dict[str, str]]:
    """Return the turns, and the names of tools by call id.

    If calls of several tools share an id (for example because ids restart in each turn), results without a name get the
    name of the call that they answer: the first unanswered call in the nearest previous turn.
    """
    tool_names, shared_ids = dict[str, str](), set[str]()
    for turn in turns:
        for block in turn.blocks:
            if type(block) is Call and tool_names.setdefault(block.id, block.name or "") != (block.name or ""):
                shared_ids.add(block.id)
    if not shared_ids:
        return turns, tool_names  # the usual case: ids are unique
    open_calls, converted = OpenCallNames(), list[Turn]()
    for turn in turns:
        open_calls.add(
            (each.id, each.name or "") for each in turn.blocks if type(each) is Call and each.id in shared_ids
        )
        converted.append(replace(turn, blocks=tuple(_with_tool_name(block, open_calls) for block in turn.blocks)))
    return tuple(converted), tool_names


def _with_tool_name(block: Block, waiting: OpenCallNames) -> Block:
    name = waiting.take(block.id) if type(block) is Result else None
    return replace(block, name=name) if type(block) is Result and name and not block.name else block


class OpenCallNames:
    """The names of calls without a result, by ids that may be ambiguous.

    A result answers the call with its id in the nearest previous turn.  If several calls of that turn share the id,
    results answer them in order, and further results answer the last call.
    """

    def __init__(self) -> None:
        self._open = dict[str, deque[str]]()

    def add(self, calls: Iterable[tuple[str, str]]) -> None:
        """Add the calls of a turn as pairs of an id and a name."""
        fresh = dict[str, deque[str]]()
        for ident, known in calls:
            fresh.setdefault(ident, deque()).append(known)
        self._open |= fresh

    def take(self, ident: str) -> str | None:
        """Return the name of the call that the next result with this id answers, or ``None``."""
        names = self._open.get(ident)
        # The last name is kept, because further results with this id answer the same call.
        return None if names is None else names.popleft() if len(names) > 1 else names[0]


# Texts


def text_of(blocks: Iterable[Block], *, by_assistant: bool = False) -> str:
    """Join the text of blocks in the same way as in records."""
    texts, breaks = list[Json](), set[int]()
    starts_paragraph = False
    for block in blocks:
        if isinstance(block, Text | Refusal):
            is_refused = type(block) is Refusal
            if texts and (starts_paragraph or is_refused or getattr(block, "apart", False)):
                breaks.add(len(texts))
            texts.append(block.text)
            starts_paragraph = is_refused
        else:
            starts_paragraph = starts_paragraph or type(block) is not Source
    return texts[0] if len(texts) == 1 else chat.join(texts, by_assistant, breaks)


def failure_text(text: str, result: Result) -> str:
    """Return the text of a result, prefixed with ``ERROR`` on failure, for formats without a member for failures."""
    return f"{ERROR}{text}" if result.outcome in FAILED else text


def failure_mark(result: Result) -> Object:
    """Return the mark for results to whose text chatsquash adds ``ERROR``, or an empty object for other results."""
    return {KEY: {"failed": True}} if result.outcome in FAILED else {}


def is_failed(holder: Json) -> bool:
    """Return whether a result has the mark for failures."""
    return is_mark(at(holder, KEY), "failed")


def parse_outcome(content: tuple[Any, ...], *, is_marked: bool) -> tuple[tuple[Any, ...], Outcome]:
    """Return the content of a result without the ``ERROR`` prefix of a marked failure, and its outcome."""
    if not (is_marked and content and type(content[0]) is Text and content[0].text.startswith(ERROR)):
        return content, "success"
    first, *others = content
    text = first.text.removeprefix(ERROR)
    return (*((replace(first, text=text),) if text else ()), *others), "failed"


def instructions_mark(turn: Turn) -> Object:
    """Return the mark for a prompt sent as instructions, for formats without instructions."""
    return {KEY: {"instructions": True}} if turn.instructions else {}


def are_instructions(holder: Json) -> bool:
    """Return whether a prompt has the mark for instructions."""
    return is_mark(at(holder, KEY), "instructions")


def without_marks(document: Json) -> Json:
    """Remove chatsquash's own marks from a document, and the members that are empty without them."""
    if isinstance(document, list):
        return list(map(without_marks, document))
    if isinstance(document, dict):
        remaining = {key: without_marks(value) for key, value in document.items() if not is_own_mark(key, value)}
        return {key: value for key, value in remaining.items() if value != {} or value == document[key]}
    return document


def is_own_mark(key: str, value: Json) -> bool:
    """Return whether a member is one of chatsquash's own marks."""
    return is_mark(value) if key == KEY else (key, value) == ("partMetadata", {"role": "system"})


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
    """Return the name of a file; a missing name is derived from its media type."""
    return media.name or f"file.{EXTENSIONS.get(media.mime, 'bin')}"


def native(holder: Json, provider: str) -> Object:
    """Return a provider's data in a block, a turn or a definition."""
    return holder.native.get(provider, {})  # type: ignore[no-any-return]
