"""The records of sessions: of lines by their offset, of other files by one pass."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from itertools import count
from typing import Any, NamedTuple

from chatsquash.html.markup import Html, tag
from chatsquash.html.record import medium, size
from chatsquash.model import Json
from chatsquash.records.datasets import rows
from chatsquash.records.media import FOLDER
from chatsquash.records.reading import NotARecordError, StoredRecord, native, parsed, record
from chatsquash.run.page.result import Result

_PLAIN = ".jsonl"
_IMAGE = re.compile(rf"{FOLDER}/[A-Za-z0-9]+\.[a-z]+")


class Read(NamedTuple):
    """A record, or why it cannot be shown."""

    held: StoredRecord | None
    problem: str = ""


def records(result: Result, places: Iterable[dict[str, Any]]) -> dict[str, Read]:
    """The records at places of the session table, by ``FILE:ROW``."""
    found: dict[str, Read] = {}
    by_file: dict[str, set[int]] = defaultdict(set)
    for facts in places:
        if facts["file"] is None:
            continue
        if facts["file"].endswith(_PLAIN) and facts["offset"] is not None:
            found[f"{facts['file']}:{facts['row']}"] = _read(result, _line(result, facts))
        else:
            by_file[facts["file"]].add(facts["row"])
    for file, wanted in by_file.items():
        for row in rows(str(result.path / file)):
            if row.number in wanted:
                found[f"{file}:{row.number}"] = _read(result, row.data)
    return found


def _line(result: Result, facts: dict[str, Any]) -> bytes:
    with result.folder.reading(facts["file"]) as file:
        file.seek(facts["offset"])
        return file.readline()


def _read(result: Result, data: bytes) -> Read:
    try:
        value = parsed(data)
        held = record(value)
        _with_sizes(result, value, held)
        return Read(native(held))
    except NotARecordError as problem:
        return Read(None, f"The record cannot be read ({problem}): chatsquash verify says what changed.")


def _with_sizes(result: Result, value: Json, held: StoredRecord) -> None:
    """Put sizes into the parts that stand for images in files of their own."""
    images = value.get("images")
    if not isinstance(images, list):
        return
    number = count()
    for message in held.messages:
        content = message.get("content")
        for part in content if isinstance(content, list) else ():
            if part == {"type": "image"}:
                part[_SIZE] = _size_of(result, images, next(number))


_SIZE = "size of the file"


def _size_of(result: Result, images: list[Json], at: int) -> int | None:
    name = images[at] if at < len(images) else None
    if not isinstance(name, str) or not _IMAGE.fullmatch(name):
        return None
    status = result.folder.status(name)
    return status.st_size if status else None


def sized(part: Json) -> Html:
    """A part that is no text as its size, also where a file holds it."""
    if isinstance(part, dict) and isinstance(part.get(_SIZE), int):
        return tag("p", f"image, {size(part[_SIZE])}", class_="medium")
    return medium(part)
