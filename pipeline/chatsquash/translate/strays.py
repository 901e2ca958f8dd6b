"""Lines of JSON that are no conversation, among lines that are."""

from __future__ import annotations

import io
from collections.abc import Iterator

from chatsquash.errors import UsageError
from chatsquash.formats import documents
from chatsquash.model import Json, Rejected
from chatsquash.translate import conversations


def holds_any(objects: list[Json], forced: str | None) -> bool:
    """Whether one of these holds a conversation of its own."""
    return any(isinstance(each, dict) and _why_none(each, forced) is None for each in objects)


def _why_none(value: Json, form: str | None) -> str | None:
    """Why a value is no conversation of a format, or of any; ``None`` for one."""
    try:
        conversations.load_all([value], form)
    except UsageError as problem:
        return str(problem)
    return None


def aside(objects: list[Json], broken: list[Rejected], form: str, data: bytes) -> tuple[list[Json], list[Rejected]]:
    """Of the values of lines those that are conversations, and all lines that are none.

    Where there is none, or the values are those of one document, they are returned as they are.
    """
    places = list(_places(data, {line.line for line in broken}))
    if form in documents.names() or len(objects) < 2 or len(places) != len(objects):
        return objects, broken
    taken, left = list[Json](), list[Rejected]()
    for value, (number, offset, length) in zip(objects, places, strict=True):
        why = _why_none(value, form)
        if why is None:
            taken.append(value)
        else:
            left.append(Rejected(number, offset, length, "bad-entry", why))
    return (taken, sorted(broken + left)) if taken else (objects, broken)


def _places(data: bytes, aside: set[int]) -> Iterator[tuple[int, int, int]]:
    """Number, offset and length of each line but the blank ones and those named."""
    offset = 0
    for number, line in enumerate(io.BytesIO(data), 1):
        if number not in aside and line.removeprefix(b"\xef\xbb\xbf").strip():
            yield number, offset, len(line.removesuffix(b"\n"))
        offset += len(line)
