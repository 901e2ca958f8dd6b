"""Which messages of a session are one conversation: compactions cut it, and what was undone is left."""

from __future__ import annotations

from itertools import chain
from typing import NamedTuple

from chatsquash.formats.agents.opencode import newer, older
from chatsquash.formats.agents.opencode.message_texts import Item
from chatsquash.formats.evidence import Unread
from chatsquash.formats.values import Object, at, string

_MOST, _LEAST = 20, 100_000
"""How many times all messages may stand in what compactions left, and how many at least."""


class Cut(NamedTuple):
    """A compaction."""

    end: int
    """Where the conversation before it ends."""
    head: tuple[range, ...]
    """What the one behind it begins with."""
    resume: int
    """What follows then."""


def is_older(item: Item) -> bool:
    """Whether a message is one of version 1."""
    return "info" in item.value


def name(item: Item) -> str:
    """The id of a message."""
    return string(older.info(item) if is_older(item) else item.value, "id")


def eras(items: list[Item], unread: Unread) -> list[list[int]]:
    """The messages before the first compaction, what the model was sent behind it, and so on."""
    found: list[list[int]] = [[]]
    place = 0
    for cut in cuts(items, unread):
        found[-1] += range(place, cut.end)
        found.append(list(chain(*cut.head)))
        place = cut.resume
    found[-1] += range(place, len(items))
    return found


def cuts(items: list[Item], unread: Unread) -> list[Cut]:
    """The compactions of a session, in their order."""
    places = {name(item): place for place, item in reversed(list(enumerate(items)))}
    left = max(_LEAST, _MOST * len(items))
    found, met = list[Cut](), set[int]()
    for place, item in enumerate(items):
        cut = _cut(items, place, places) if is_older(item) else _of_newer(item, place)
        if cut is None or cut.end in met:
            continue
        met.add(cut.end)
        left -= sum(map(len, cut.head))
        if left < 0:
            unread.one("messages kept by a compaction beyond those that are read")
            cut = cut._replace(head=(range(place, place + 1),))
        found.append(cut)
    return found


def _of_newer(item: Item, place: int) -> Cut | None:
    return Cut(place, (range(place, place + 1),), place + 1) if newer.is_boundary(item) else None


def _cut(items: list[Item], place: int, places: dict[str, int]) -> Cut | None:
    """The compaction that a summary ends; in older versions nobody asks for it."""
    header = older.info(items[place])
    is_summary = header.get("role") == "assistant" and header.get("summary") is True
    if not is_summary or older.is_failed(items[place]):
        return None
    asked = places.get(string(header, "parentID"))
    part = _compaction(items[asked]) if asked is not None and asked < place and is_older(items[asked]) else None
    if asked is None or part is None:
        has_text = any(part["type"] == "text" for part in older.parts(items[place]))
        return Cut(place, (range(place, place + 1),), place + 1) if has_text else None
    if not header.get("finish"):
        return None
    tail = places.get(string(part, "tail_start_id"), asked)
    return Cut(asked, (range(asked, place + 1), range(tail, asked)), place + 1)


def _compaction(item: Item) -> Object | None:
    """The part by which a message asks for a compaction."""
    if older.info(item).get("role") != "user":
        return None
    return next((part for part in older.parts(item) if part["type"] == older.COMPACTION), None)


def kept(items: list[Item], header: Object, unread: Unread) -> list[Item] | None:
    """The messages that are left of a session once something was undone; ``None`` where nothing was."""
    undone, part = (string(header.get("revert"), member) for member in ("messageID", "partID"))
    if not undone:
        return None
    place = next((place for place, item in enumerate(items) if name(item) == undone), None)
    if place is None:
        unread.one("revert to a message that is not there")
        return None
    item = items[place]
    if not part or not is_older(item):
        return items[:place]
    held = older.parts(item)
    end = next((number for number, each in enumerate(held) if at(each, "id") == part), 0)
    return [*items[:place], item._replace(value={**item.value, "parts": held[:end]})] if end else items[:place]
