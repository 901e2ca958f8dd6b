"""A record as a conversation for the viewer, its windows, and the text that is searched for in it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from functools import cached_property
from itertools import count, islice
from typing import Any, NamedTuple

from chatsquash.core import chat, jsonio
from chatsquash.core.model import Json, Message
from chatsquash.core.outcome import Place
from chatsquash.pages.html.record import answers
from chatsquash.records import media
from chatsquash.records.datasets import PARQUET
from chatsquash.records.line import NotARecordError, StoredRecord
from chatsquash.records.places import image_file, images
from chatsquash.records.reading import message_parts, native, parse, record
from chatsquash.view.result import ViewerResult

WINDOW = 50
"""Messages that are shown at once."""
_FAILED = "tool-result-"
"""What the codes of failed calls begin with."""
_BESIDE = {"type": "image"}
"""The part that stands for an image beside the record."""
_MOST_PLACES = 2_000
"""Places that the keys lead to."""


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
    """A record, and what the reports say of it."""

    def __init__(self, result: ViewerResult, at: int, *, has_template: bool = False) -> None:
        """Raises ``UsageError`` where the record does not stand where the session table says."""
        self.result, self.at, self.has_template = result, at, has_template
        self.row: dict[str, Any] = result.sessions.row(at, named=True)
        self.place: Place | None = result.place(at)
        self.data = result.records.read(self.place) if self.place else b""
        self.problem = ""
        """Why the record is shown as its JSON only."""
        self.record = StoredRecord([], None)
        if self.place:
            try:
                self.record = native(record(parse(self.data)))
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
        findings = self.result.findings_of(self.row["key"])
        return [each for each in findings if each.get("record") in (None, name)]

    # Messages are named by their index in the file, which a preset may write otherwise than they are shown.

    def number(self, at: int) -> int:
        """The index in the file of a message that is shown."""
        return self.record.places[at] if self.record.places else at

    def index(self, number: int) -> int:
        """The first message that is shown of one of the file; the last one where there are not so many."""
        places = self.record.places
        if places is None:
            return max(0, min(number, len(self.record.messages) - 1))
        return next((at for at, place in enumerate(places) if place >= number), max(0, len(places) - 1))

    @cached_property
    def _calls_by_result(self) -> dict[int, int]:
        """By the results that stand beside calls, the messages of these."""
        return {result: call for (call, _), result in answers(self.record.messages).items()}

    def window(self, message: int) -> Window:
        """The messages around one of the file; a result is with its call."""
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

    @cached_property
    def prompts(self) -> list[int]:
        """Where the user says something."""
        said = (at for at, message in enumerate(self.record.messages) if message["role"] == "user")
        return [self.number(at) for at in said][:_MOST_PLACES]

    def finding_numbers(self, *, errors: bool) -> list[int]:
        """The messages that findings are about, or only errors and failed calls."""
        findings = (each for each in self.findings if isinstance(each.get("message"), int))
        if errors:
            findings = (each for each in findings if each["severity"] == "error" or each["code"].startswith(_FAILED))
        return sorted({each["message"] for each in findings})[:_MOST_PLACES]

    def find(self, needle: Needle) -> tuple[list[tuple[int, int]], int]:
        """The messages of the file that say something, each with how often, and how often these do."""
        hits: dict[int, int] = {}
        for at, times in needle.counts(self.record.messages):
            hits[self.number(at)] = hits.get(self.number(at), 0) + times
        return list(hits.items()), sum(hits.values())

    def whole(self, number: int) -> str:
        """All texts of a message of the file, one behind the other."""
        at = self.index(number)
        said = message_parts(self.record.messages[at]) if self.record.messages else ()
        return "\n\n".join(f"{part.name} {part.text}" if part.kind == "call" else part.text for part in said)

    def length(self, at: int) -> int:
        """The characters of all texts of a message that is shown."""
        return sum(len(part.text) for part in message_parts(self.record.messages[at]))

    # Images

    @cached_property
    def images(self) -> dict[int, str]:
        """By the ``id()`` of a part, the name of its image: that of what is in it, or of the one beside the record."""
        beside = iter(self._beside())
        names: dict[int, str] = {}
        for part in self._media():
            if part == _BESIDE:
                names[id(part)] = next(beside, "")
                continue
            with suppress(media.NoPictureError):
                names[id(part)] = media.picture(part).name
        return names

    def picture(self, name: str) -> Picture | None:
        """The image with a name, from the record or from beside it; ``None`` where it holds none."""
        part = next((part for part in self._media() if self.images.get(id(part)) == name), None)
        if part is None or self.place is None or not name:
            return None
        if part != _BESIDE:
            return _as_picture(media.picture(part).data)
        if not self._is_parquet:
            return _as_picture(image_file(self.result.folder, f"{media.FOLDER}/{name}"))
        pictures = images(self.result.folder, self.place)
        number = int(name)
        return _as_picture(pictures[number]) if number < len(pictures) else None

    def _beside(self) -> Iterator[str]:
        """The names of the images that stand beside the record: of their files, or in Parquet their numbers."""
        if self._is_parquet:
            yield from map(str, count())
        value = parse(self.data)
        named = value.get("images") if isinstance(value, dict) else None
        for name in named if isinstance(named, list) else []:
            yield name.rpartition("/")[2] if isinstance(name, str) else ""

    @property
    def _is_parquet(self) -> bool:
        return self.place is not None and self.place.file.lower().endswith(PARQUET)

    def _media(self) -> list[Json]:
        return [
            part for message in self.record.messages for part in chat.other_parts(message) if isinstance(part, dict)
        ]


def _as_picture(data: bytes) -> Picture | None:
    """An image with the type that its first bytes show, whatever its name says."""
    kind = media.type_of(data)
    return Picture(data, kind) if kind else None


LONGEST = 200
"""Characters that are looked for."""
COUNTED = 10_000
"""Times that are counted in one message."""
_TOTAL = 100_000
"""Times that are counted in one record, about."""
_MESSAGES = 5_000
"""Messages of a record in which something is found."""

_MEMBERS = (
    *("messages", "role", "content", "type", "text", "tools", "function", "name", "description", "parameters", "id"),
    *("tool_calls", "tool_call_id", "arguments", "reasoning_content", "properties", "required", "prompt", "completion"),
    *("conversations", "from", "value", "system", "input", "output", "function_call", "reasoning", "thinking"),
)
"""Names of members that most records have."""
_VALUES = {
    "role": ("system", "user", "assistant", "tool", "developer", "function"),
    "type": ("function", "text", "object", "string", "thinking", "array", "number", "integer", "boolean"),
    "from": ("human", "gpt", "function_call", "observation"),
}
_SAID = (b"arguments", b"custom")
"""Members that are said as JSON where they are no text."""


class Needle:
    """A text that is looked for; one without capital letters is found with them, too.

    That is as it stands, with capital first letters, and in capitals: bytes are looked through for each of these at the
    speed of memory, which nothing that knows all cases reaches.
    """

    def __init__(self, text: str) -> None:
        self.text = text[:LONGEST]

    def __bool__(self) -> bool:
        return bool(self.text.strip())

    @cached_property
    def spellings(self) -> list[str]:
        """The texts that are looked for."""
        text = self.text
        if text != text.lower():
            return [text]
        return list(dict.fromkeys((text, text[:1].upper() + text[1:], text.title(), text.upper())))

    @cached_property
    def raw(self) -> list[bytes]:
        """The bytes of which a line of JSON holds some where it holds the text.

        Arguments of calls are JSON in a text, so a text in them is spelled twice, and maybe in ASCII.
        """
        encodings: list[bytes] = []
        for text in self.spellings:
            inner = (text, _spelled(text).decode(), json.dumps(text)[1:-1])
            encodings += map(_spelled, inner)
        return list(dict.fromkeys(encodings))

    @cached_property
    def _structure(self) -> list[tuple[bytes, int]]:
        """Bytes of JSON that no message says, each with how often it holds the text."""
        names = [(f'"{name}":', name) for name in _MEMBERS]
        values = [(f'"{name}":"{value}"', value) for name, values in _VALUES.items() for value in values]
        occurrences = [
            (data.encode(), sum(inner.encode().count(each) for each in self.raw)) for data, inner in names + values
        ]
        return [(data, times) for data, times in occurrences if times]

    def may_be_said(self, line: bytes) -> bool:
        """Whether it stands in a line of JSON elsewhere than in names of members, roles and types.

        A quote in a text is escaped, so that none of these can be one.  Where arguments are no text, their names are
        said, too.
        """
        count = sum(map(line.count, self.raw))
        if not count or not self._structure:
            return count > 0
        if count > sum(times * line.count(data) for data, times in self._structure):
            return True
        return any(line.count(b'"%s":' % name) != line.count(b'"%s":"' % name) for name in _SAID)

    def places(self, text: str) -> Iterator[tuple[int, int]]:
        """Where it stands in a text: begins and ends, in order, none in another.

        Each spelling is looked for once from where it was found last, so that the time is linear in the text.
        """
        ahead = {each: text.find(each) for each in self.spellings}
        while candidates := [(place, -len(each)) for each, place in ahead.items() if place >= 0]:
            begin, length = min(candidates)
            end = begin - length
            yield begin, end
            for each, place in ahead.items():
                if 0 <= place < end:
                    ahead[each] = text.find(each, end)

    def counts(self, messages: list[Message]) -> Iterator[tuple[int, int]]:
        """The messages that say it, by their index, each with how often; the first ones where there are too many."""
        total = said = 0
        for at, message in enumerate(messages):
            if count := sum(1 for _ in islice(self._said(message), COUNTED)):
                yield at, count
                total, said = total + count, said + 1
            if total >= _TOTAL or said >= _MESSAGES:
                return

    def first(self, message: Message) -> tuple[str, int, int] | None:
        """The first text of a message that says it, and where."""
        return next(self._said(message), None)

    def _said(self, message: Message) -> Iterator[tuple[str, int, int]]:
        for part in message_parts(message):
            for begin, end in self.places(part.text):
                yield part.text, begin, end


def _spelled(text: str) -> bytes:
    """A text as it stands in JSON, without quotes."""
    return jsonio.dumps(text)[1:-1]
