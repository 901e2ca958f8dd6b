"""A record as the viewer shows it: its messages by window, its images, and the messages that are trained on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from itertools import count
from typing import Any, NamedTuple

from chatsquash.core import chat
from chatsquash.core.marks import FLAGS, is_trained
from chatsquash.core.model import Json, Message
from chatsquash.core.outcome import Place
from chatsquash.pages.html.record import answers
from chatsquash.records import NotARecordError, StoredRecord, media
from chatsquash.records.datasets import PARQUET
from chatsquash.records.places import image_file, images
from chatsquash.records.reading import message_parts, native, parse, record
from chatsquash.results.titles import title
from chatsquash.view.needle import Needle
from chatsquash.view.result import ViewerResult

WINDOW = 50
"""Messages per page."""
LINK_PARAMETERS = ("as", "list")
"""The query parameters that links between the pages of a session carry over: text rendering, and query of the list."""
_FAILED = "tool-result-"
"""The prefix of the codes of failed calls."""
_IMAGE_PLACEHOLDER = {"type": "image"}
"""The part that refers to an image stored outside the messages."""
_MOST_PLACES = 2_000
"""Messages that can be reached with keyboard shortcuts."""


class Window(NamedTuple):
    """Some messages of a record."""

    record: StoredRecord
    start: int
    stop: int


class Picture(NamedTuple):
    """An image and its type."""

    data: bytes
    type: str


class Conversation:
    """A record with its row in the session table and its findings."""

    def __init__(
        self,
        result: ViewerResult,
        at: int,
        *,
        has_template: bool = False,
        is_compared: bool = False,
        link_parameters: Mapping[str, str] | None = None,
    ) -> None:
        """Read the record of a row of the session table.

        Args:
            result: The result that contains the record.
            at: The row of the session table.
            has_template: Whether the page with the rendered template is available.
            is_compared: Whether the page with an earlier version of the record is available.
            link_parameters: Query parameters that links between the pages of the session carry over.

        Raises:
            UsageError: The record is not at the location stated in the session table.
        """
        self.result, self.at, self.has_template, self.link_parameters = result, at, has_template, link_parameters or {}
        self.is_compared = is_compared
        self.row: dict[str, Any] = result.sessions.row(at, named=True)
        self.place: Place | None = result.place(at)
        self.data = result.records.read(self.place) if self.place else b""
        self.problem = ""
        """Why the record can only be shown as JSON; empty if it can be shown as a conversation."""
        self.record = StoredRecord([], None)
        if self.place:
            try:
                self.record = native(record(parse(self.data)))
            except NotARecordError as problem:
                self.problem = str(problem)

    @cached_property
    def facts(self) -> dict[str, Any]:
        """The complete line of the session table."""
        return self.result.session_lines[self.at]

    @cached_property
    def findings(self) -> list[dict[str, Any]]:
        """The findings about this record and about its session as a whole."""
        name = f"{self.place.file}:{self.place.row}" if self.place else None
        findings = self.result.findings_of(self.row["key"])
        return [each for each in findings if each.get("record") in (None, name)]

    # URLs use the index of a message in the file; with some presets it differs from the index on the page.

    def number(self, at: int) -> int:
        """Return the index in the file of a message on the page."""
        return self.record.places[at] if self.record.places else at

    def index(self, number: int) -> int:
        """Return the index on the page of a message of the file, or of the last message if ``number`` is too large."""
        places = self.record.places
        if places is None:
            return max(0, min(number, len(self.record.messages) - 1))
        return next((at for at, place in enumerate(places) if place >= number), max(0, len(places) - 1))

    @cached_property
    def _calls_by_result(self) -> dict[int, int]:
        """The messages with calls, by the messages of their results."""
        return {result: call for (call, _), result in answers(self.record.messages).items()}

    def window(self, message: int) -> Window:
        """Return the window that contains a message of the file; results are in the window of their call."""
        at = self.index(message)
        at = self._calls_by_result.get(at, at)
        start = at - at % WINDOW
        stop = min(start + WINDOW, len(self.record.messages))
        while start < stop and self._calls_by_result.get(start, start) < start:
            start += 1
        while stop < len(self.record.messages) and start <= self._calls_by_result.get(stop, stop) < stop:
            stop += 1
        places = [self.number(each) for each in range(start, stop)]
        return Window(StoredRecord(self.record.messages[start:stop], self.record.tools, places), start, stop)

    @property
    def is_as_written(self) -> bool:
        """Whether texts are shown as written instead of rendered as Markdown."""
        return self.link_parameters.get("as") == "written"

    @cached_property
    def title(self) -> str:
        """The first prompt, or the id of a session without one."""
        return title(self.record.messages) or str(self.row["session"] or "a session without an id")

    @cached_property
    def trained(self) -> frozenset[int]:
        """The messages of the file that are trained on."""
        return (
            frozenset(map(self.number, trained_on(parse(self.data), self.record.messages)))
            if self.data
            else frozenset()
        )

    @cached_property
    def prompts(self) -> list[int]:
        """The messages of the user."""
        said = (at for at, message in enumerate(self.record.messages) if message["role"] == "user")
        return [self.number(at) for at in said][:_MOST_PLACES]

    def finding_numbers(self, *, errors: bool) -> list[int]:
        """Return the messages that have findings; with ``errors``, only those with errors and failed calls."""
        findings = (each for each in self.findings if isinstance(each.get("message"), int))
        if errors:
            findings = (each for each in findings if each["severity"] == "error" or each["code"].startswith(_FAILED))
        return sorted({each["message"] for each in findings})[:_MOST_PLACES]

    def find(self, needle: Needle) -> tuple[list[tuple[int, int]], int]:
        """Find a text; return the matching messages with their numbers of matches, and the total."""
        hits: dict[int, int] = {}
        for at, times in needle.counts(self.record.messages):
            hits[self.number(at)] = hits.get(self.number(at), 0) + times
        return list(hits.items()), sum(hits.values())

    def full_text(self, number: int) -> str:
        """Return all texts of a message of the file, separated by empty lines."""
        at = self.index(number)
        said = message_parts(self.record.messages[at]) if self.record.messages else ()
        return "\n\n".join(f"{part.name} {part.text}" if part.kind == "call" else part.text for part in said)

    def length(self, at: int) -> int:
        """Return the number of characters of all texts of a message on the page."""
        return sum(len(part.text) for part in message_parts(self.record.messages[at]))

    # Images

    @cached_property
    def images(self) -> dict[int, str]:
        """The names of images by the ``id()`` of their part: derived from its data, or from the file it refers to."""
        beside = iter(self._image_names())
        names: dict[int, str] = {}
        for part in self._media():
            if part == _IMAGE_PLACEHOLDER:
                names[id(part)] = next(beside, "")
                continue
            with suppress(media.NoPictureError):
                names[id(part)] = media.picture(part).name
        return names

    def picture(self, name: str) -> Picture | None:
        """Return an image by name, from the record or from its image file, or ``None`` if it does not exist."""
        part = next((part for part in self._media() if self.images.get(id(part)) == name), None)
        if part is None or self.place is None or not name:
            return None
        if part != _IMAGE_PLACEHOLDER:
            return _as_picture(media.picture(part).data)
        if not self._is_parquet:
            return _as_picture(image_file(self.result.folder, f"{media.FOLDER}/{name}"))
        pictures = images(self.result.folder, self.place)
        number = int(name)
        return _as_picture(pictures[number]) if number < len(pictures) else None

    def _image_names(self) -> Iterator[str]:
        """Yield the names of images stored outside the messages: of their files, or their numbers in Parquet."""
        if self._is_parquet:
            yield from map(str, count())
        value = parse(self.data)
        names = value.get("images") if isinstance(value, dict) else None
        for name in names if isinstance(names, list) else []:
            yield name.rpartition("/")[2] if isinstance(name, str) else ""

    @property
    def _is_parquet(self) -> bool:
        return self.place is not None and self.place.file.lower().endswith(PARQUET)

    def _media(self) -> list[Json]:
        return [
            part for message in self.record.messages for part in chat.other_parts(message) if isinstance(part, dict)
        ]


def _as_picture(data: bytes) -> Picture | None:
    """Return an image with the type detected from its first bytes; its name is not trusted."""
    kind = media.type_of(data)
    return Picture(data, kind) if kind else None


def trained_on(value: Json, messages: list[Message]) -> list[int]:
    """Return the replies that are trained on: those with flags, those of a completion, or all of them."""
    members: list[dict[str, Json]] = [dict(message) for message in messages]
    flags = [name for name in FLAGS if any(name in message for message in members)]
    prompt = value.get("prompt") if isinstance(value, dict) and "completion" in value else None
    first = len(prompt) if isinstance(prompt, list) else 0
    replies = [at for at, message in enumerate(members) if message["role"] == "assistant" and at >= first]
    return [at for at in replies if not flags or any(is_trained(members[at], name) for name in flags)]
