"""The records of sessions, read from where they stand, with the sizes of their images."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from itertools import count
from typing import Any

from chatsquash.core.model import Json
from chatsquash.core.outcome import Place
from chatsquash.pages.html.markup import Html, tag
from chatsquash.pages.html.record import medium, size
from chatsquash.records.media import FOLDER
from chatsquash.records.places import read_all
from chatsquash.records.reading import NotARecordError, StoredRecord, native, parsed, record
from chatsquash.results.output import ResultFolder, damaged

_IMAGE = re.compile(rf"{FOLDER}/[A-Za-z0-9]+\.[a-z]+")


def records(result: ResultFolder, places: Iterable[dict[str, Any]]) -> dict[Place, StoredRecord]:
    """The records at places of the session table; raises ``UsageError`` where one does not stand there."""
    by_file: dict[str, list[Place]] = defaultdict(list)
    for facts in places:
        if (place := place_of(facts)) is not None:
            by_file[place.file].append(place)
    return {
        place: _read(result, place, data)
        for name, of_file in by_file.items()
        for place, data in read_all(result.folder, name, of_file)
    }


def place_of(facts: dict[str, Any]) -> Place | None:
    """Where the record of a line of the session table stands; ``None`` for one without."""
    return None if facts["file"] is None else Place(facts["file"], facts["row"], facts["offset"])


def _read(result: ResultFolder, place: Place, data: bytes) -> StoredRecord:
    try:
        value = parsed(data)
        held = record(value)
    except NotARecordError:
        raise damaged(result.folder, place.file) from None
    _with_sizes(result, value, held)
    return native(held)


def _with_sizes(result: ResultFolder, value: Json, held: StoredRecord) -> None:
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


def _size_of(result: ResultFolder, images: list[Json], at: int) -> int | None:
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
