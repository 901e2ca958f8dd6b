"""One record as a conversation: its messages in windows, what was found of them, what a find of its own finds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple

from chatsquash.core import chat
from chatsquash.core.model import Json
from chatsquash.core.outcome import Place
from chatsquash.formats.parts import image_type
from chatsquash.pages.html.record import answers
from chatsquash.records import media
from chatsquash.records.datasets import PARQUET
from chatsquash.records.message_texts import parts
from chatsquash.records.places import image_file, images
from chatsquash.records.reading import NotARecordError, StoredRecord, native, parsed, record
from chatsquash.view.needle import Needle
from chatsquash.view.result import Result

WINDOW = 50
"""Messages that are shown at once."""
_FAILED = "tool-result-"
"""What the codes of failed calls begin with."""
_BESIDE = {"type": "image"}
"""The part that stands for an image beside the record."""
_FOUND = 2_000
"""Places that the keys lead to."""


class Window(NamedTuple):
    """Some messages of a record."""

    held: StoredRecord
    start: int
    stop: int


class Picture(NamedTuple):
    """An image and its type."""

    data: bytes
    type: str


class Conversation:
    """A record, and what the reports say of it."""

    def __init__(self, result: Result, at: int) -> None:
        """Raises ``UsageError`` where the record does not stand where the session table says."""
        self.result, self.at = result, at
        self.row: dict[str, Any] = result.sessions.row(at, named=True)
        self.place: Place | None = result.place(at)
        self.data = result.records.read(self.place) if self.place else b""
        self.problem = ""
        """Why the record is shown as its JSON only."""
        self.held = StoredRecord([], None)
        if self.place:
            try:
                self.held = native(record(parsed(self.data)))
            except NotARecordError as problem:
                self.problem = str(problem)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """The whole line of the session table."""
        return self.result.session_lines[self.at]

    @cached_property
    def findings(self) -> list[dict[str, Any]]:
        """The findings about this record, and those about all of its session."""
        name = f"{self.place.file}:{self.place.row}" if self.place else None
        found = self.result.findings_of(self.row["key"])
        return [each for each in found if each.get("record") in (None, name)]

    # Messages are named by their index in the file, which a preset may write otherwise than they are shown.

    def number(self, at: int) -> int:
        """The index in the file of a message that is shown."""
        return self.held.places[at] if self.held.places else at

    def index(self, number: int) -> int:
        """The first message that is shown of one of the file; the last one where there are not so many."""
        places = self.held.places
        if places is None:
            return max(0, min(number, len(self.held.messages) - 1))
        return next((at for at, place in enumerate(places) if place >= number), max(0, len(places) - 1))

    @cached_property
    def _answered(self) -> dict[int, int]:
        """By the results that stand beside calls, the messages of these."""
        return {result: call for (call, _), result in answers(self.held.messages).items()}

    def window(self, message: int) -> Window:
        """The messages around one of the file; a result is with its call."""
        at = self.index(message)
        at = self._answered.get(at, at)
        start = at - at % WINDOW
        stop = min(start + WINDOW, len(self.held.messages))
        while start < stop and self._answered.get(start, start) < start:
            start += 1
        while stop < len(self.held.messages) and start <= self._answered.get(stop, stop) < stop:
            stop += 1
        places = [self.number(each) for each in range(start, stop)]
        return Window(StoredRecord(self.held.messages[start:stop], self.held.tools, places), start, stop)

    @cached_property
    def prompts(self) -> list[int]:
        """Where the user says something."""
        said = (at for at, message in enumerate(self.held.messages) if message["role"] == "user")
        return [self.number(at) for at in said][:_FOUND]

    def found_at(self, *, errors: bool) -> list[int]:
        """The messages that findings are about, or only errors and failed calls."""
        found = (each for each in self.findings if isinstance(each.get("message"), int))
        if errors:
            found = (each for each in found if each["severity"] == "error" or each["code"].startswith(_FAILED))
        return sorted({each["message"] for each in found})[:_FOUND]

    def find(self, needle: Needle) -> tuple[list[tuple[int, int]], int]:
        """The messages of the file that say something, each with how often, and how often these do."""
        hits: dict[int, int] = {}
        for at, times in needle.counts(self.held.messages):
            hits[self.number(at)] = hits.get(self.number(at), 0) + times
        return list(hits.items()), sum(hits.values())

    def whole(self, number: int) -> str:
        """All texts of a message of the file, one behind the other."""
        at = self.index(number)
        said = parts(self.held.messages[at]) if self.held.messages else ()
        return "\n\n".join(f"{part.name} {part.text}" if part.kind == "call" else part.text for part in said)

    def length(self, at: int) -> int:
        """The characters of all texts of a message that is shown."""
        return sum(len(part.text) for part in parts(self.held.messages[at]))

    # Images

    @cached_property
    def images(self) -> dict[int, str]:
        """By the ``id()`` of a part, the name of its image: that of what is in it, or of the one beside the record."""
        beside = iter(self._beside())
        found: dict[int, str] = {}
        for part in self._media():
            if part == _BESIDE:
                found[id(part)] = next(beside, "")
                continue
            with suppress(media.NoPictureError):
                found[id(part)] = media.picture(part).name
        return found

    def picture(self, name: str) -> Picture | None:
        """The image with a name, from the record or from beside it; ``None`` where it holds none."""
        part = next((part for part in self._media() if self.images.get(id(part)) == name), None)
        if part is None or self.place is None or not name:
            return None
        if part != _BESIDE:
            return _typed(media.picture(part).data)
        if not self._is_parquet:
            return _typed(image_file(self.result.folder, f"{media.FOLDER}/{name}"))
        held = images(self.result.folder, self.place)
        number = int(name)
        return _typed(held[number]) if number < len(held) else None

    def _beside(self) -> Iterator[str]:
        """The names of the images that stand beside the record: of their files, or in Parquet their numbers."""
        if self._is_parquet:
            yield from map(str, count())
        value = parsed(self.data)
        named = value.get("images") if isinstance(value, dict) else None
        for name in named if isinstance(named, list) else []:
            yield name.rpartition("/")[2] if isinstance(name, str) else ""

    @property
    def _is_parquet(self) -> bool:
        return self.place is not None and self.place.file.lower().endswith(PARQUET)

    def _media(self) -> list[Json]:
        return [part for message in self.held.messages for part in chat.other_parts(message) if isinstance(part, dict)]


def _typed(data: bytes) -> Picture | None:
    """An image with the type that its first bytes show, whatever its name says."""
    kind = image_type(data[:12])
    return Picture(data, kind) if kind in media.TYPES else None
